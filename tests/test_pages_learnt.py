"""What a policy has learnt about whom, on a trial's page: one number for one fact, and nothing that was not found."""

import html
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import expect

import asgi
import browser
from page_visitor import Visitor
from takeup.live import Trial
from takeup.live.findings import findings_of
from takeup.live.tally import tally_of
from takeup.randomness import stream
from takeup.service.pages.render.child import dashboard
from takeup.store import reading

SPEC: dict[str, Any] = {
    "name": "Stroke unit",
    "space": {
        "proposals": ["usual care", "new drug"],
        "outcomes": ["died", "lived"],
        "covariates": {
            "age": {"kind": "measure", "low": 18, "high": 100, "unit": "years"},
            "state": {"kind": "category", "levels": ["alert", "drowsy", "unconscious"], "missing": "kept"},
        },
    },
    "policy": {"kind": "LinTS"},
    "limits": {"floor": 0.1},
    "words": {"unit": "patient", "units": "patients"},
    "rehearsal": True,
    "seed": 4,
}
STATES = ("alert", "drowsy", "unconscious", None)


def filled(trial: Trial, many: int) -> Trial:
    """It helps the young, and harms the old; hardly anybody is under 45 or over 90."""
    trial.start()
    rng = stream(8, "patients")
    for i in range(many):
        age = min(100, max(18, round(68 + 10 * rng.standard_normal())))
        state = STATES[int(rng.choice(4, p=[0.72, 0.2, 0.05, 0.03]))]
        made = trial.decide(f"patient {i}", covariates={"age": age, "state": state})
        took = made.proposal == "new drug" and rng.random() < 0.85
        well = 0.75 - 0.4 * (age - 50) / 50 - 0.2 * (state == "unconscious") + took * (0.35 - 0.9 * (age - 50) / 50)
        action, outcome = "new drug" if took else "usual care", "lived" if rng.random() < well else "died"
        trial.report(made, implemented=action, outcome=outcome)
    return trial


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where t.db is, with a trial of 200 patients; whoever writes to it makes a copy."""
    made: Path = tmp_path_factory.mktemp("learnt")
    with Trial.create(made / "t.db", SPEC, trial="stroke-unit") as trial:
        filled(trial, 200)
    return made


@pytest.fixture(scope="module")
def api(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[asgi.Api]:
    own = shutil.copytree(folder, tmp_path_factory.mktemp("service"), dirs_exist_ok=True)
    with asgi.api(str(own / "t.db")) as made:
        yield made


@pytest.fixture(scope="module")
def trial(api: asgi.Api) -> Trial:
    return Trial(api.store, "stroke-unit")


def shown(trial: Trial) -> str:
    """The dashboard."""

    def look(connection: Any) -> str:
        book = reading.snapshot(connection, trial.id)
        return dashboard(
            findings_of(book, 0, tally_of(connection, trial.id, book.design)), 1, words=book.design.spec.words
        )

    return trial.store.read(look)


def said(page: str) -> str:
    """The page as somebody reads it."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", page, flags=re.S))))


def signed(number: float) -> str:
    return f"{100 * number:+.1f}".replace("-", "\u2212")


def test_charts_tables_and_the_service_say_the_same(api: asgi.Api, trial: Trial) -> None:
    page = shown(trial)
    learnt = api.request("GET", "/trials/stroke-unit/learnt", key=api.key("read-unblinded")).json
    (here,) = learnt["contexts"]
    for number, covariate in enumerate(here["covariates"], start=1):
        inside = re.search(rf'id="figure-learnt-{number}".*?</section>', page, re.S)
        assert inside is not None
        rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in inside[0].split("<tr>")[2:]]
        marks = html.unescape(" | ".join(re.findall(r'aria-label="([^"]*)"', inside[0])))
        for point, row in zip(covariate["points"], rows, strict=True):
            (each,) = point["differences"]
            outer = f"{signed(each['low'])} to {signed(each['high'])}"
            label = "not known" if point["value"] is None else f"{point['value']} {covariate['unit']}".strip()
            few = ", few" if each["sparse"] else ""
            assert [html.unescape(cell) for cell in row] == [
                label,
                str(point["decisions"]),
                f"{signed(each['mean'])} points",
                f"{signed(each['inner_low'])} to {signed(each['inner_high'])}",
                outer,
                f"{each['decisions'][0]}, {each['decisions'][1]}{few}",
            ]
            assert f"new drug at {label}: {signed(each['mean'])} points (95 % believed {outer})" in marks
    assert sum(point["decisions"] for point in here["covariates"][0]["points"]) == trial.progress().decisions


def test_it_is_believed_and_says_where_it_is_assumed(trial: Trial) -> None:
    text = said(shown(trial))
    assert "no effect that was shown" in text
    ages = [(event["proposal"], event["covariates"]["age"]) for event in decided(trial)]
    found = re.search(r"or (\d+) years or more \(usual care (\d+), new drug (\d+)\)", text)
    assert found is not None, text
    old = [proposal for proposal, age in ages if age >= int(found[1])]
    counts = [old.count("usual care"), old.count("new drug")]
    assert [int(each) for each in found.groups()[1:]] == counts
    assert "What is drawn there, dashed, rests on what the model assumes." in text
    assert "while LinTS decides by what it believes of each patient by itself" in text
    assert "the best is what is best on average, the same for all" in text
    assert "what is believed now stands above" not in text


def decided(trial: Trial) -> list[dict[str, Any]]:
    return [json.loads(each.body) for each in trial.events(kind="decided", limit=1_000)]


def test_a_policy_without_a_model_says_so(api: asgi.Api) -> None:
    other = filled(Trial.create(api.store, {**SPEC, "policy": {"kind": "LinUCB"}}, trial="bound"), 25)
    page = shown(other)
    assert "Withheld: LinUCB has no model of what a proposal is worth." in said(page)
    assert "figure-learnt-1" not in page


def test_blinded_readers_see_none_of_it(api: asgi.Api, trial: Trial) -> None:
    blinded = Visitor(api, "read-blinded")
    for path in ("", "/dashboard"):
        body = blinded.get(f"/app/trials/{trial.id}{path}").body.decode()
        assert "figure-learnt" not in body
        assert "Believed difference" not in body
    assert api.request("GET", f"/trials/{trial.id}/learnt", key=api.key("read-blinded")).status == 403


def test_it_is_seen_in_a_browser(folder: Path, tmp_path: Path) -> None:
    """Light, dark and on a phone; nothing is wider than the window, and everybody can use it."""
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    images = Path(os.environ.get("TAKEUP_IMAGES", tmp_path))
    with browser.served_here(tmp_path / "t.db") as served, browser.browser() as started:
        key = served.key("read-unblinded")
        for name, options in (
            ("learnt", {"viewport": {"width": 1200, "height": 900}}),
            ("phone", {"viewport": {"width": 360, "height": 740}, "color_scheme": "dark"}),
        ):
            page = started.new_context(**options).new_page()
            page.set_default_timeout(240_000)
            browser.sign_in(page, served.url, key)
            page.goto(f"{served.url}/app/trials/stroke-unit")
            expect(page.locator("#figure-learnt-2 svg")).to_be_visible(timeout=240_000)
            assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), name
            if name == "phone":
                page.locator("#table-learnt-1 summary").click()
                found = Axe().run(page)
                assert found.violations_count == 0, found.generate_report()
            else:
                first, second = (page.locator(f"#figure-learnt-{i}").bounding_box() for i in (1, 2))
                assert first is not None
                assert second is not None
                height = max(each["y"] + each["height"] for each in (first, second)) - min(first["y"], second["y"])
                clip = {"x": 0.0, "y": first["y"] - 12, "width": 820.0, "height": height + 24}
                page.screenshot(path=images / "learnt.png", full_page=True, clip=clip)  # type: ignore[arg-type]  # it is Playwright's FloatRect
