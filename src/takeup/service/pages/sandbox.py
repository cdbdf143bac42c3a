"""Try it: a trial with simulated people who do not always comply, to learn what the policies do."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fastapi import Response

from takeup.live.sandbox import FIRST, MOST_PEOPLE, Truth
from takeup.live.scenes import ARMS, SCENES
from takeup.service.callers import SCOPES
from takeup.service.drafts import Sandbox
from takeup.service.pages.choices import suited
from takeup.service.pages.page import Pages, Visit
from takeup.service.sessions import digest

pages = Pages()
PATH = "/app/try"
RUNS = (100, 1_000)
"""How many people may come at a time."""

REPORTED = {"always": "of everybody", "sometimes": "of half of them", "never": "of nobody"}
POLICY = "TS-Obs"
"""The policy that a new sandbox has."""

Setting = tuple[Truth, str, str]
"""What people are like, the policy's name, and whether what they do is reported."""


@pages.get(PATH, *SCOPES)
async def look(visit: Visit) -> Response:
    """The sandbox of this session; a new one where another thing shall be measured."""
    found = visit.service.drafts.sandboxes.get(digest(visit.cookie))
    measured = visit.request.query_params.get("measured", "")
    if measured in SCENES and (found is None or found.truth.measured != measured):
        return _page(visit, None, _blank(measured))
    return _page(visit, found, _blank(FIRST) if found is None else _fields(found))


@pages.post(PATH, *SCOPES)
async def run(visit: Visit) -> Response:
    """Let more people come; start over where the sliders or the policy have changed."""
    form, bench, name = dict(visit.form), visit.service.drafts, digest(visit.cookie)
    sandbox = bench.sandboxes.get(name)
    asked, wrong = _asked(form)
    if asked is None:
        return _page(visit, sandbox, form, wrong, 422)
    if sandbox is None or form.get("do") == "over" or _setting(sandbox) != asked or _broken(sandbox):
        sandbox = Sandbox(*asked)
        bench.sandboxes.put(name, sandbox)  # what still runs in the one before is of no use any more
    if sandbox.job is not None and not sandbox.job.over:
        return visit.see(PATH)
    wanted = next((each for each in RUNS if form.get("do") == str(each)), 0)
    wanted = min(wanted, MOST_PEOPLE - sandbox.people)
    if wanted:
        sandbox.look()
        play = {
            "database": sandbox.database,
            "truth": asdict(sandbox.truth),
            "policy": suited(sandbox.truth.scene.space)[sandbox.policy].description,
            "compliance": sandbox.compliance,
            "people": wanted,
            "seed": sandbox.seed,
        }
        sandbox.job = bench.background.start("takeup.live.sandbox", play)
        sandbox.people += wanted
    return visit.see(PATH)


def _asked(form: Mapping[str, str]) -> tuple[Setting | None, dict[str, str]]:
    """What a form says about a sandbox, or what is wrong with it."""
    wrong, values = {}, {}
    blank = _start(form)
    if form.get("measured", FIRST) not in SCENES:
        wrong["measured"] = "Choose one of these."
    for name, slider in blank.sliders.items():
        given = form.get(name, "")
        if given.isascii() and given.isdecimal() and len(given) <= 9 and slider.low <= int(given) <= slider.high:
            values[name] = int(given)
        else:
            wrong[name] = f"Expected: a whole number from {slider.low} to {slider.high}."
    choices = suited(blank.scene.space)
    policy, compliance = form.get("policy", ""), form.get("compliance", "")
    if policy not in choices:
        wrong["policy"] = "Choose one of these."
    if compliance not in REPORTED:
        wrong["compliance"] = "Choose one of these."
    elif compliance == "never" and not wrong and choices[policy].compliance == "needed":
        wrong["compliance"] = f"{policy} learns nothing where what people did is never reported."
    return (None if wrong else (Truth(measured=blank.measured, **values), policy, compliance)), wrong


def _setting(sandbox: Sandbox) -> Setting:
    return sandbox.truth, sandbox.policy, sandbox.compliance


def _broken(sandbox: Sandbox) -> bool:
    """Whether a run failed halfway, so that its two trials may have met different people."""
    return sandbox.job is not None and sandbox.job.state == "failed"


def _start(fields: Mapping[str, str]) -> Truth:
    """What the sliders are at first where this is measured, or what usually is where it is nothing known."""
    measured = fields.get("measured", FIRST)
    return Truth.of(measured if measured in SCENES else FIRST)


def _blank(measured: str) -> dict[str, str]:
    return {**_text(Truth.of(measured)), "policy": POLICY, "compliance": "always"}


def _fields(sandbox: Sandbox) -> dict[str, str]:
    return {**_text(sandbox.truth), "policy": sandbox.policy, "compliance": sandbox.compliance}


def _text(truth: Truth) -> dict[str, str]:
    return {name: str(value) for name, value in asdict(truth).items()}


def _page(
    visit: Visit,
    sandbox: Sandbox | None,
    fields: dict[str, str],
    wrong: dict[str, str] | None = None,
    status: int = 200,
) -> Response:
    blank = _start(fields)
    if sandbox is not None and sandbox.truth.measured != blank.measured:
        sandbox = None
    job = None if sandbox is None else sandbox.look()
    result: Mapping[str, Any] | None = None if sandbox is None else sandbox.result
    return visit.page(
        "try",
        status,
        sandbox=sandbox,
        job=job,
        found=result,
        fields=fields,
        wrong=wrong or {},
        measured=blank.measured,
        scene=blank.scene,
        scenes=SCENES,
        sliders=blank.sliders,
        reported=REPORTED,
        choices=list(suited(blank.scene.space).values()),
        runs=RUNS,
        most=MOST_PEOPLE,
        proposals=ARMS,
    )
