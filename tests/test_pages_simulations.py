"""Rehearsals and sandboxes: what they compute, and that they stay within their bounds."""

import asyncio
import math
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection

import asgi
from page_visitor import TRY, Visitor, choose, harmless
from takeup.design import preview
from takeup.design.plan import Plan
from takeup.design.preview import Preview
from takeup.errors import InputError
from takeup.live import Trial, rehearsal, sandbox
from takeup.live.export import rows_of
from takeup.live.rehearsal import Rehearsal
from takeup.live.sandbox import MOST_PEOPLE, Play, Truth
from takeup.live.scenarios import assumed, scenarios
from takeup.live.scenes import SCENES
from takeup.live.simulated_units import meet
from takeup.outcomes import Count
from takeup.service import background
from takeup.service.background import Background, BackgroundJob
from takeup.service.callers import SCOPES
from takeup.service.lru import LruCache
from takeup.service.pages.templates import render
from takeup.service.problem import ProblemError
from takeup.service.sessions import digest
from takeup.space import Space
from takeup.store import Store

RATES = [[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]]
THREE: dict[str, Any] = {"name": "three", "space": {"proposals": ["a", "b", "c"]}, "policy": {"kind": "Uniform"}}


def silent(_: float) -> None:
    """Nobody listens."""


def test_the_three_scenarios_by_hand() -> None:
    """With 95 % complying, proposing c is worth 0.95 * 0.9 + 0.025 * (0.2 + 0.5) = 0.8725.

    With half complying and a third of the others faring worst, it is worth half of 0.9, and for the other half two
    thirds of the mean of the three rates, 1.6 / 3.
    """
    found = scenarios(Space(3), RATES)
    assert found[0].environment.value()[0, 2] == pytest.approx(0.8725)
    assert found[1].environment.value()[0, 0] == pytest.approx(0.7 * 0.2 + 0.15 * (0.5 + 0.9))
    assert found[2].environment.value()[0, 2] == pytest.approx(0.5 * 0.9 + 0.5 * (2 / 3) * (1.6 / 3))
    for each in found:
        assert each.environment.response.sum(axis=(2, 3)) == pytest.approx(1)


def test_scenarios_of_actions_that_are_not_the_proposals() -> None:
    space = Space(["offer", "nothing"], ["drug", "none", "other"], outcomes=["bad", "fair", "good"], utility=[0, 1, 3])
    assert space.intended is None
    for each in scenarios(space, assumed(space)):
        assert each.environment.space == space


def test_the_worst_of_counts_is_watched_for_long() -> None:
    """Half comply; the others get 12 falls in 30 days, 0.4 a day, in a third of cases: not 12 in a single day."""
    space = Space(2, outcomes=Count(12, exposure="days", longest=30))
    value = scenarios(space, [[0.1], [0.05]])[2].environment.value()[0]
    others = (0.1 + 0.05) / 2 * 2 / 3 + 0.4 / 3
    assert value == pytest.approx([-(0.1 + others) / 2, -(0.05 + others) / 2], abs=1e-3)


@pytest.mark.parametrize("levels", [2, 3, 7])
def test_assumed_rates_are_distributions_and_better_from_action_to_action(levels: int) -> None:
    space = Space(4, outcomes=levels, utility=list(range(levels)))
    rates = np.array(assumed(space))
    assert rates.sum(axis=1) == pytest.approx(1, abs=2e-3)
    assert (np.diff(rates @ space.reward) > 0).all()


def test_a_rehearsal_of_even_allocation_costs_what_arithmetic_says() -> None:
    """Regret of even allocation is known; the mean of the runs lies within 5 standard errors (false alarm 2e-6)."""
    found = Rehearsal(spec=THREE, rates=RATES, people=40, seconds=math.inf, runs=8, seed=3).run(silent)
    for each in found["scenarios"]:
        assert abs(each["regret"] - each["even"]) < 5 * each["error"]
        assert sum(each["share"]) == pytest.approx(1)
        assert np.sum(each["course"], axis=1) == pytest.approx(1)


def test_a_rehearsal_keeps_to_the_spec() -> None:
    """A burn-in that is longer than the run, and a ceiling: both show in the allocation."""
    spec = {**THREE, "policy": {"kind": "TSObs"}, "burn_in": 1_000, "limits": {"floor": {"a": 0.5}}}
    found = Rehearsal(spec=spec, rates=RATES, people=200, seconds=0.0).run(silent)
    assert found["runs"] == 1
    for each in found["scenarios"]:
        assert each["share"] == pytest.approx([0.5, 0.25, 0.25], abs=0.15)  # four standard errors of 200 people
    learning = {**THREE, "policy": {"kind": "TSObs"}}
    quick = Rehearsal(spec=learning, rates=RATES, people=200, seconds=0.0).run(silent)["scenarios"][0]
    waiting = {**learning, "window": "90 days"}
    late = Rehearsal(spec=waiting, rates=RATES, people=200, per_day=10, seconds=0.0).run(silent)["scenarios"][0]
    assert quick["late"][2] > 0.6
    assert late["late"][2] < 0.6  # nobody's outcome is in the evidence before the last has come


def test_a_rehearsal_says_how_far_it_is_and_refuses_what_is_too_much() -> None:
    said: list[float] = []
    Rehearsal(spec=THREE, rates=RATES, people=20, seconds=0.3).run(said.append)
    assert said == sorted(said)
    for wrong in ({"people": 10**6}, {"people": 1}, {"per_day": 0.0}):
        with pytest.raises(InputError):
            Rehearsal(spec=THREE, rates=RATES, **wrong)
    with pytest.raises(InputError):
        Rehearsal(spec=THREE, rates=[[0.5, 0.6]] * 3).run(silent)


def test_the_truth_of_a_sandbox_by_hand() -> None:
    """Offered the drug, 60 % take it; 0.6 * 0.6 + 0.4 * 0.4 = 0.52 get well."""
    environment = Truth(follow_usual=90, follow_new=60, fare_usual=40, fare_new=60).environment()
    assert environment.response[0].sum(axis=2) == pytest.approx(np.array([[0.9, 0.1], [0.4, 0.6]]))
    assert environment.value()[0] == pytest.approx([0.9 * 0.4 + 0.1 * 0.6, 0.52])
    apart = Truth(follow_usual=100, follow_new=50, fare_usual=40, fare_new=60, unlike=100).environment()
    assert apart.value()[0] == pytest.approx([0.5 * 0.4, 0.5 * 0.6])
    with pytest.raises(InputError):
        Truth(unlike=101)


FARED = {"pressure": (135, 125, 20), "relapses": (4, 2, 3), "days": (40, 80, 30)}


@pytest.mark.parametrize("measured", FARED)
def test_the_truth_of_a_sandbox_with_other_outcomes(measured: str) -> None:
    """All keep to usual care, half take the drug: half fare as with it, half as under usual care and worse by so much.

    Times are worth what passes of 90 days: a mean of m gives m (1 - exp(-90 / m)), to a tenth of a day on the grid.
    """
    usual, new, unlike = FARED[measured]
    fares = {"fare_usual": usual, "fare_new": new}
    environment = Truth(measured=measured, follow_usual=100, follow_new=50, unlike=unlike, **fares).environment()

    def worth(mean: float) -> float:
        return mean * -math.expm1(-90 / mean) if measured == "days" else -mean

    worse = -unlike if measured == "days" else unlike
    value = [(worth(usual) + worth(usual + worse)) / 2, (worth(new) + worth(usual + worse)) / 2]
    assert environment.value()[0] == pytest.approx(value, abs=0.1)


@pytest.mark.parametrize("measured", SCENES)
def test_a_sandbox_believes_in_the_units_of_what_is_measured(tmp_path: Path, measured: str) -> None:
    """Truth beside belief: 150 people, within six standard errors by the widths of the intervals; fixed seed."""
    truth: dict[str, Any] = {"measured": measured, **{name: s.start for name, s in SCENES[measured].sliders.items()}}
    found = play(tmp_path / "s.db", truth=truth, people=150).run(silent)
    environment = Truth(**truth).environment()
    sign = -1 if measured in ("pressure", "relapses") else 1
    assert found["value"] == pytest.approx(sign * environment.value()[0])
    assert found["best"] == "new drug"
    for true, believed in zip(found["value"] + found["treated"], found["believed"] + found["as_treated"], strict=True):
        assert believed["low"] < believed["mean"] < believed["high"]
        assert abs(believed["mean"] - true) < 6 * (believed["high"] - believed["low"]) / 3.92


def form_of(visitor: Visitor, measured: str) -> dict[str, str]:
    """The form of a sandbox in which this is measured, as the page has it at first."""
    page = harmless(visitor.get(f"/app/try?measured={measured}"))
    filled = {name: page.value(name) or "" for name in (*TRY, "measured")}
    return {**filled, "policy": "TS-Obs", "compliance": "always", "do": "100"}


def test_a_sandbox_of_another_outcome_from_the_page(api: asgi.Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first never ends by itself, the other is run here: test_a_sandbox_from_the_page has one in a process."""
    visitor, bench = Visitor(api, "decide"), api.app.state.service.drafts
    cancelled: list[BackgroundJob] = []

    class Running(BackgroundJob):
        def cancel(self) -> None:
            cancelled.append(self)

    def start(module: str, content: dict[str, Any]) -> BackgroundJob:
        assert module == sandbox.__name__
        assert content["truth"]["measured"] == ("pressure" if cancelled else "well")
        return BackgroundJob("done", 1.0, Play(**content).run(silent)) if cancelled else Running("running")

    monkeypatch.setattr(bench.background, "start", start)
    form = {**form_of(visitor, "pressure"), "follow_usual": "100", "follow_new": "0"}
    assert (form["measured"], form["fare_usual"]) == ("pressure", "145")
    assert visitor.post("/app/try", form_of(visitor, "well")).status == 303
    assert visitor.post("/app/try", form).status == 303  # while the first is running: it makes room
    wait(bench.sandboxes.get(digest(visitor.cookie)).job)
    shown = harmless(visitor.get("/app/try")).text
    assert "After 100 people TS-Obs" in shown
    assert "mmHg in all so far" in shown
    assert re.search(r"mean, when offered new drug\s*145\.\d\s*1[345]\d\.\d", shown)
    assert re.search(r"mean, among those who got new drug\s*nobody", shown)
    assert "Nobody has come yet" in harmless(visitor.get("/app/try?measured=well")).text
    assert "After 100 people" in harmless(visitor.get("/app/try?measured=pressure")).text


@pytest.mark.parametrize("measured", SCENES)
def test_the_sliders_of_a_sandbox_have_ends(api: asgi.Api, measured: str) -> None:
    visitor = Visitor(api, "decide")
    form = form_of(visitor, measured)
    for field, slider in SCENES[measured].sliders.items():
        assert form[field] == str(slider.start)
        wrong = visitor.post("/app/try", {**form, field: str(slider.high + 1)})
        assert wrong.status == 422
        assert f"{field}-wrong" in harmless(wrong).ids
    known = harmless(visitor.get(f"/app/try?measured={measured}")).attributes
    assert ("UCB1" in known) == (measured != "days")  # a censored time has no reward


def test_people_are_the_same_whatever_is_proposed(tmp_path: Path) -> None:
    environment = Truth().environment()
    space = SCENES["well"].space
    spec = {"name": "x", "space": {"proposals": list(space.proposals), "outcomes": list(space.outcomes)}}
    with Store(f"sqlite:///{tmp_path}/a.db", synchronous="OFF") as store:
        trials = [Trial.create(store, {**spec, "policy": {"kind": k}}, trial=k.lower()) for k in ("TS", "Uniform")]
        for trial in trials:
            trial.start()
            meet(trial, environment, range(25), seed=7)
            meet(trial, environment, range(25, 60), seed=7)
            assert trial.audit().passed
        rows = [store.read(partial(_rows, trial=trial.id)) for trial in trials]
    assert [len(each) for each in rows] == [60, 60]
    shared = [(one, other) for one, other in zip(*rows, strict=True) if one[1] == other[1]]
    assert len(shared) > 5
    assert all(one == other for one, other in shared)


def _rows(connection: Connection, trial: str) -> list[tuple[str | None, ...]]:
    return [tuple(row[name] for name in ("unit", "ARM", "ACTARM", "outcome")) for row in rows_of(connection, trial, 0)]


def play(database: Path, **changes: Any) -> Play:
    whole = {"truth": {}, "policy": {"kind": "TSObs"}, "compliance": "always", "people": 40, "seed": 5}
    return Play(database=str(database), **{**whole, **changes})


def test_a_sandbox_goes_on_where_it_was_and_adds_up(tmp_path: Path) -> None:
    file = tmp_path / "sandbox.db"
    first = play(file).run(silent)
    second = play(file).run(silent)
    assert (first["people"], second["people"]) == (40, 80)
    environment = Truth().environment()
    with Store(str(file)) as store:
        for name, shown in (("yours", "TS-Obs"), ("plain", "TS, plain")):
            trial = Trial(store, name)
            assert trial.audit().passed
            counts = [sum(point.proposed[z] for point in trial.course().overall) for z in range(2)]
            assert second["regret"][shown] == pytest.approx(float(np.dot(environment.regret()[0], counts)))
    assert {"allocation", "regret"} == set(second["charts"])
    for drawn in second["charts"].values():
        assert " style=" not in drawn
        assert "aria-label" in drawn


def test_a_sandbox_shows_what_cannot_be_known_as_unknown(tmp_path: Path) -> None:
    found = play(tmp_path / "s.db", compliance="never", policy={"kind": "TS"}).run(silent)
    assert found["complied"] is None
    assert "compliance" in found["withheld"]


def test_a_sandbox_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "MOST_PEOPLE", 30)
    assert play(tmp_path / "s.db").run(silent)["people"] == 30
    assert MOST_PEOPLE == 10_000


def wait(job: BackgroundJob) -> BackgroundJob:
    until = time.monotonic() + 300
    while not job.over:
        assert time.monotonic() < until
        time.sleep(0.05)
    return job


def test_a_rehearsal_from_the_form_in_another_process(api: asgi.Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at, rehearsed in the background, shown, saved once however often."""
    boss, bench = Visitor(api, *SCOPES), api.app.state.service.drafts
    begun: list[tuple[str, Any]] = []
    start: Callable[[str, dict[str, Any]], BackgroundJob] = bench.background.start

    def quickly(module: str, content: dict[str, Any]) -> BackgroundJob:
        begun.append((module, content))
        fewest = {"fewest": 50} if module == preview.__name__ else {}
        return start(module, {**content, "seconds": 0.2, **fewest})

    monkeypatch.setattr(bench.background, "start", quickly)
    form = choose(name="Rehearsed <i>", people="40", policy="TS", probability_best="95")
    reply = boss.post("/app/new", {**form, "do": "look", "rate-0-1": "30", "rate-1-1": "45.5"})
    assert reply.status == 303
    where = reply.headers["location"]
    assert [module for module, _ in begun] == [preview.__name__, rehearsal.__name__]
    assert begun[0][1]["rates"] == [[0.7, 0.3], [pytest.approx(0.545), 0.455]]
    assert "seed" not in begun[0][1]["spec"]
    waiting = boss.get(where)
    assert b'http-equiv="refresh"' in waiting.body  # without scripts the page loads itself again
    assert b'data-poll="rehearsal"' in waiting.body
    name = where.rpartition("/")[2]
    sketch = bench.sketches.get(name)
    for job in (sketch.rules, sketch.job):
        wait(job)
    found = boss.get(where)
    page = harmless(found)
    assert b"data-poll" not in found.body
    assert b"refresh" not in found.body
    assert "nearly all comply" in page.text
    assert "seven in ten comply" in page.text
    assert "half comply, confounded" in page.text
    assert "<svg" in found.body.decode()
    assert page.value("rate-1-1") == "45.5"
    assert page.value("sketch") == name
    assert "With equal arms this rule still calls one better in" in page.text
    saved = [boss.post("/app/new", {**form, "do": "save", "sketch": name}) for _ in range(2)]
    assert [each.headers.get("location") for each in saved] == ["/app/trials/rehearsed-i"] * 2
    assert Visitor(api, "design").get(where).status == 404  # a sketch is its owner's
    wrong = boss.post("/app/new", {**form, "do": "look", "rate-0-1": "130", "rate-1-1": "x"})
    assert wrong.status == 422
    assert {"rate-0-1-wrong", "rate-1-1-wrong"} <= set(harmless(wrong).ids)


def test_calibrate_is_a_button(api: asgi.Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """It looks for the threshold alone and keeps what else was simulated; what it finds can be used."""
    boss, bench = Visitor(api, *SCOPES), api.app.state.service.drafts
    begun: list[tuple[str, Any]] = []

    def at_once(module: str, content: dict[str, Any]) -> BackgroundJob:
        begun.append((module, content))
        if module == rehearsal.__name__:
            return BackgroundJob("failed", problem="not simulated here")
        made = Preview(**{**content, "seconds": 0.0, "fewest": 50, "searched": 500})
        return BackgroundJob("done", 1.0, made.run(silent))

    monkeypatch.setattr(bench.background, "start", at_once)
    form = choose(name="Calibrated", people="60", policy="TS", probability_best="95")
    where = boss.post("/app/new", {**form, "do": "look"}).headers["location"]
    assert "With equal arms this rule still calls one better in" in harmless(boss.get(where)).text
    again = boss.post("/app/new", {**form, "do": "calibrate", "sketch": where.rpartition("/")[2]})
    assert again.headers["location"] == where
    assert [module for module, _ in begun] == [preview.__name__, rehearsal.__name__, preview.__name__]
    assert begun[2][1]["target"] == 0.05
    tuned = harmless(boss.get(where)).text
    assert re.search(r"With a threshold of 9\d\.\d+ % instead, one is called better by mistake in", tuned)
    used = boss.post("/app/new", {**form, "do": "use", "sketch": where.rpartition("/")[2]}).headers["location"]
    shown = harmless(boss.get(used))
    assert 97 < float(shown.value("probability_best") or 0) < 100
    assert begun[3][1]["spec"]["stopping"]["probability_best"] > 0.97
    assert "still calls one better" not in shown.text
    other = boss.post("/app/new", {**form, "burn_in": "5", "do": "calibrate", "sketch": used.rpartition("/")[2]})
    assert other.headers["location"] not in (where, used)  # another spec is another sketch
    assert begun[5][1]["target"] == 0.05


def test_the_page_says_when_probabilities_change_and_what_a_threshold_is_for() -> None:
    """Advice at any time is given more often than was tried; of a plan with looks nothing of the sort is said."""
    figure = {"mean": 0.2, "error": 0.01}
    line = {
        "name": "equal",
        "null": True,
        "words": "",
        "claimed": figure,
        "right": None,
        "size": figure,
        "on_worse": None,
    }
    found = {"threshold": 0.95, "large": True, "error": figure, "any_time": True, "calibration": None, "lag": 0}
    found |= {"scenarios": [line], "trials": 50, "looks": {"first": 20, "last": 700, "many": 27}, "draws": None}
    tuned = {"target": 0.05, "threshold": 0.99, "inferiority": None, "trials": 500, "error": figure}

    def shown(looks: dict[str, Any], policy: str = "TS", **other: Any) -> str:
        tables = {"policy": {"kind": policy}, "looks": looks, "scenarios": {"a": {"success": [0.1, 0.2, 0.3]}}}
        result = {**found, "changes": Plan.of({**THREE, **tables}).changes, **other}
        return render("rules", sketch=SimpleNamespace(rules=BackgroundJob("done", 1.0, result)), fields={})

    assert "Probabilities change at looks alone here" in shown({"at": [20]})
    assert "Probabilities change after every outcome here" in shown({"at": [20], "update": "patient"})
    assert "Probabilities stay as they are" in shown({"at": [20]}, "Uniform")
    for page in (shown({"at": [20]}), shown({"at": [20]}, calibration=tuned)):
        assert (
            page.count("Such a threshold is one for 27 looks, up to 700 people. The advice of this trial is given at")
            == 1
        )
    assert "Such a threshold" not in shown({"at": [20]}, any_time=False)
    nothing = BackgroundJob("done", 1.0, {"threshold": None, "scenarios": [], "calibration": None})
    assert "there is no error to show" in render("rules", sketch=SimpleNamespace(rules=nothing), fields={})


def test_a_sandbox_from_the_page(api: asgi.Api) -> None:
    visitor, bench = Visitor(api, "decide"), api.app.state.service.drafts
    form = {**TRY, "policy": "TS-Obs", "compliance": "always", "do": "100"}
    assert "Nobody has come yet" in harmless(visitor.get("/app/try")).text
    assert visitor.post("/app/try", form).status == 303
    assert b'http-equiv="refresh"' in visitor.get("/app/try").body
    assert visitor.post("/app/try", form).status == 303  # a double click adds nobody
    box = bench.sandboxes.get(digest(visitor.cookie))
    wait(box.job)
    page = harmless(visitor.get("/app/try"))
    assert "After 100 people TS-Obs" in page.text
    assert "plain Thompson sampling" in page.text
    assert Path(box.database).exists()
    assert "After" not in harmless(Visitor(api, "decide").get("/app/try")).text  # everybody has their own
    changed = visitor.post("/app/try", {**form, "fare_new": "10", "do": "over"})
    assert changed.status == 303
    assert not Path(box.database).exists()
    assert "After" not in harmless(visitor.get("/app/try")).text
    assert len(api.request("GET", "/trials", key=api.key("admin")).json["trials"]) <= 1  # no real trial came of it
    wrongs = [
        ("fare_new", "101"),
        ("fare_new", "-1"),
        ("fare_new", "0" * 5_000),
        ("policy", "none"),
        ("compliance", ""),
        ("measured", "luck"),
    ]
    for field, wrong in wrongs:
        assert visitor.post("/app/try", {**form, field: wrong}).status == 422
    blind = visitor.post("/app/try", {**form, "compliance": "never"})
    assert "compliance-wrong" in harmless(blind).ids


def test_what_runs_too_long_fails_or_is_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        bench = Background()
        bad = bench.start("takeup.live.rehearsal", {"spec": {}, "rates": []})
        odd = bench.start("takeup.no_such_module", {})
        for job in (bad, odd):
            assert job.task is not None
            await job.task
        assert bad.state == odd.state == "failed"
        assert "name" in (bad.problem or "")
        assert odd.problem
        monkeypatch.setattr(background, "SECONDS", 0.3)
        long = bench.start("takeup.live.rehearsal", {"spec": THREE, "rates": RATES, "seconds": 60.0})
        assert long.task is not None
        await long.task
        assert "was ended" in (long.problem or "")
        monkeypatch.setattr(background, "SECONDS", 60.0)
        many = [bench.start("takeup.live.rehearsal", {"spec": {}, "rates": []}) for _ in range(background.MOST_WAITING)]
        with pytest.raises(ProblemError, match="too many"):
            bench.start("takeup.live.rehearsal", {})
        await bench.close()
        assert all(job.state == "failed" for job in many)

    asyncio.run(story())


def test_shelves_are_bounded_and_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    gone: list[int] = []
    cache: LruCache[int] = LruCache(2, 10.0, gone.append)
    at = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: at)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert gone == [2]
    assert list(cache) == [1, 3]
    at = 5.0
    assert cache.get("c") == 3
    at = 12.0
    assert cache.get("a") is None
    assert gone == [2, 1]
    cache.put("c", 4)
    cache.clear()
    assert gone == [2, 1, 3, 4]
    assert len(cache) == 0


def test_nothing_is_left_behind() -> None:
    with asgi.api() as api:
        visitor = Visitor(api, "decide")
        assert visitor.post("/app/try", {**TRY, "policy": "TS", "compliance": "always", "do": "1000"}).status == 303
        folder = next(iter(api.app.state.service.drafts.sandboxes)).folder.name
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
