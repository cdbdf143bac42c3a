"""Live trials whose outcomes are numbers, counts and times: reported, corrected, audited and exported as levels are."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import asgi
from page_visitor import Visitor
from takeup.errors import ConflictError, InputError, StoreError
from takeup.evidence import Evidence, event
from takeup.live import Trial
from takeup.live.findings import findings_of
from takeup.live.rehearsal import Rehearsal
from takeup.live.scenarios import assumed, assumed_of
from takeup.outcomes import Time
from takeup.service.callers import SCOPES
from takeup.service.pages.outcome_charts import _survival
from takeup.service.pages.trial_charts import page_charts
from takeup.space import Space
from takeup.store import reading
from takeup.trial import Design

NUMBER: dict[str, Any] = {"kind": "number", "low": 60, "high": 220, "step": 0.5, "unit": "mmHg", "better": "lower"}
COUNT: dict[str, Any] = {"kind": "count", "most": 20, "exposure": "days", "longest": 90}
TIME: dict[str, Any] = {"kind": "time", "longest": 90, "unit": "days"}
SKEWED: dict[str, Any] = {"kind": "number", "low": 1, "high": 1_000, "step": 1, "unit": "EUR", "scale": "log"}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], list[Any]]] = {
    "number": (NUMBER, {"kind": "TSObs"}, [120, 131.5, 99.7, "140.0"]),
    "count": (COUNT, {"kind": "TSObs"}, [{"events": 3, "exposure": 90}, {"events": 0, "exposure": 30}, "2/45"]),
    "time": (TIME, {"kind": "TSObs"}, [12, "90+", {"time": 40, "censored": True}, {"time": 60}]),
    "money": (SKEWED, {"kind": "TS", "likelihood": {"kind": "lognormal"}}, [3, 250, 19, 40]),
}
ARMS = ["rest", "pill"]


def spec(case: str, **more: Any) -> dict[str, Any]:
    """A trial of this kind of outcome."""
    outcome, policy, _ = CASES[case]
    return {"name": case, "space": {"proposals": ARMS, "outcomes": outcome}, "policy": policy, **more}


def run(trial: Trial, values: list[Any], many: int = 12) -> list[tuple[str, str, Any]]:
    """Decide and report; what was proposed, done and came of it."""
    told = []
    for i in range(many):
        decision = trial.decide(f"u{i}")
        done, came = (decision.proposal if i % 3 else ARMS[1]), values[i % len(values)]
        trial.report(decision, implemented=done)
        trial.report(decision, outcome=came)
        told.append((decision.proposal, done, came))
    return told


def twin(space: Space, told: list[tuple[str, str, Any]]) -> Evidence:
    """The evidence of what was told, from scratch."""
    return Evidence.of(space, [event(space, *each) for each in told])


@pytest.mark.parametrize("case", CASES)
def test_a_trial_counts_corrects_and_is_derived_again(emptied: str, case: str) -> None:
    values = CASES[case][2]
    with Trial.create(emptied, spec(case)) as trial:
        trial.start()
        told = run(trial, values)
        space = trial.design.space
        assert trial.evidence() == twin(space, told)
        with pytest.raises(ConflictError, match="a correction needs a reason"):
            trial.report(1, outcome=values[1])
        trial.report(1, outcome=values[0])  # the same again
        trial.report(2, outcome=values[2], reason="typing error")
        trial.report(3, missing=["outcome"], reason="another patient's")
        told[1] = (*told[1][:2], values[2])
        told[2] = (*told[2][:2], None)
        assert trial.evidence() == twin(space, told)
        assert trial.audit().passed


def test_outcomes_that_cannot_be_are_refused_with_their_value(tmp_path: Path) -> None:
    wrong: dict[str, list[tuple[Any, str]]] = {
        "number": [
            (59.7, "got 59.7 mmHg, expected a number from 60 to 220"),
            ("high", "got 'high'"),
            (True, "got True"),
        ],
        "count": [
            (3, "events and exposure"),
            ({"events": 21, "exposure": 9}, "from 0 to 20"),
            ("1/0", "more than 0.5"),
        ],
        "time": [(91, "from 0 to 90 days"), ({"time": 4, "censored": 1}, "true or false"), ("+", "got ''")],
    }
    for case, all_ in wrong.items():
        with Trial.create(tmp_path / f"{case}.db", spec(case)) as trial:
            trial.start()
            trial.decide("u")
            for value, words in all_:
                with pytest.raises(InputError, match=words.replace("(", r"\(")):
                    trial.report(1, outcome=value)
            assert len(trial.events()) == 3


def test_an_outcome_enters_the_evidence_when_its_window_closes(tmp_path: Path) -> None:
    now = 1_000_000
    with Trial.create(tmp_path / "t.db", spec("number", window="1 day"), clock=lambda: now) as trial:
        trial.start()
        trial.decide("u")
        trial.report(1, implemented="pill", outcome=120)
        assert int(trial.evidence().seen_outcomes.sum()) == 0
        now += 86_400 * 1_000_000
        trial.tick()
        seen = trial.evidence()
        assert int(seen.seen_outcomes.sum()) == 1
        assert trial.design.space.outcome.earned(seen.implemented_outcomes)[0].tolist() == [0.0, -120.0]
        assert trial.audit().passed


@pytest.mark.parametrize("change", ["amount + 1", "amount - 1", "-1"])
def test_a_sum_that_no_log_leads_to_is_found(tmp_path: Path, change: str) -> None:
    path = tmp_path / "t.db"
    with Trial.create(path, spec("number"), trial="t") as trial:
        trial.start()
        run(trial, CASES["number"][2])
        slot = trial.design.space.outcome.cells
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = 1")
        changed = connection.execute(f"UPDATE evidence SET amount = {change} WHERE outcome = {slot}")
        assert changed.rowcount >= 1
    with Trial.open(path, "t") as trial:
        found = trial.audit()
        assert not found.passed
        assert "evidence" in str(found)
        if change == "-1":
            with pytest.raises(StoreError, match="audit"):
                trial.decide("new")


@pytest.mark.parametrize(("case", "outcomes"), [("number", ["120", "131.5", "99.5"]), ("time", ["12", "90+", "40+"])])
def test_exports_have_what_was_reported(tmp_path: Path, case: str, outcomes: list[str]) -> None:
    with Trial.create(tmp_path / "t.db", spec(case)) as trial:
        trial.start()
        run(trial, CASES[case][2], many=3)
        for ending in ("csv", "parquet", "jsonl"):
            trial.export(tmp_path / f"t.{ending}")
    rows = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == outcomes
    assert [row["reward"] for row in rows] == ([-120, -131.5, -99.5] if case == "number" else [None] * 3)
    assert polars.read_parquet(tmp_path / "t.parquet")["outcome"].to_list() == outcomes


def test_logged_probabilities_are_those_of_the_policy(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "t.db", spec("number")) as trial:
        trial.start()
        run(trial, CASES["number"][2])
        wanted = trial.design.policy.allocation(trial.evidence(), 0, np.random.default_rng(0))
        assert wanted.exact
        trial.decide("next")
        logged = json.loads(trial.events()[-1].body)["probability"]
        np.testing.assert_allclose(logged, wanted.probability, atol=1e-9)


def test_the_service_takes_numbers_counts_and_times(api: asgi.Api) -> None:
    key = api.key(*SCOPES)
    for case, (_, _, values) in CASES.items():
        assert api.request("POST", "/trials", spec(case), key).status == 201
        assert api.request("PUT", f"/trials/{case}/state", {"state": "running"}, key).status == 200
        for i, value in enumerate(values):
            decided = api.request("POST", f"/trials/{case}/decisions", {"unit": f"u{i}"}, key).json
            body = {"decision": decided["number"], "implemented": "pill", "outcome": value}
            assert api.request("POST", f"/trials/{case}/reports", body, key).status == 200
        refused = api.request("POST", f"/trials/{case}/reports", {"decision": 1, "outcome": "much"}, key)
        assert (refused.status, refused.json["argument"]) == (422, "outcome")
        assert Trial(api.store, case).audit().passed


def test_a_page_takes_what_is_written(api: asgi.Api) -> None:
    boss = Visitor(api, *SCOPES)
    made = boss.post("/app/new", {"by": "paste", "text": json.dumps(spec("time")), "trial": "days", "do": "save"})
    assert made.status == 303
    trial = Trial(api.store, "days")
    trial.start()
    trial.decide("u1")
    page = boss.get("/app/trials/days/report").body.decode()
    assert "the time to an event, watched for 90 days; late is better" in page
    told = boss.post("/app/trials/days/report", {"unit": "u1", "outcome_value": "40+", "implemented": "1"})
    assert "Outcome: 40+ days." in told.body.decode()
    wrong = boss.post("/app/trials/days/report", {"unit": "u1", "outcome_value": "400"})
    assert wrong.status == 422
    assert "a number from 0 to 90 days" in wrong.body.decode()
    assert 'id="outcome_value-wrong"' in wrong.body.decode()
    never = boss.post("/app/trials/days/report", {"unit": "u1", "outcome": "missing", "reason": "withdrew"})
    assert "The outcome will never be known." in never.body.decode()
    assert boss.get("/app/trials/days/edit").status in (200, 409)


def test_survival_tables_have_every_digit_of_a_time() -> None:
    """Bins end at 50,000 hours, 100,000 and so on; the last at 2,000,000, which is not 2e+06."""
    time = Time(2_000_000, "hours", step=2)
    cells = np.ones(time.width, dtype=np.int64)
    chart = _survival(time, "proposed", "what was proposed", "", ["a"], cells[np.newaxis])
    assert [row[1] for row in chart.rows] == [f"{each} hours" for each in range(50_000, 2_000_001, 50_000)]
    assert "after 2000000 hours" in chart.svg


@pytest.mark.parametrize("case", CASES)
def test_a_rehearsal_knows_what_proposals_are_worth(case: str) -> None:
    design = Design.of(spec(case))
    rates = assumed(design.space)
    assert len(rates[0]) == len(assumed_of(design.space.outcome))
    found = Rehearsal(spec=spec(case), rates=rates, people=40, seconds=0.0, runs=1).run(lambda _: None)
    worse, better = found["scenarios"][0]["value"]
    assert better > worse
    assert 0 < found["scenarios"][0]["regret"] < 40 * (better - worse)


def test_a_page_asks_for_means_and_rehearses_them(api: asgi.Api) -> None:
    boss = Visitor(api, *SCOPES)
    form = {"by": "paste", "text": json.dumps(spec("number"))}
    looked = boss.post("/app/new", {**form, "do": "look"})
    assert looked.status == 303
    page = boss.get(looked.headers["location"]).body.decode()
    assert "standard deviation, mmHg" in page
    assert 'name="rate-1-2"' in page
    wrong = boss.post("/app/new", {**form, "do": "look", **{f"rate-{a}-{j}": "-1" for a in (0, 1) for j in (1, 2)}})
    assert wrong.status == 422
    assert 'id="rate-0-2-wrong"' in wrong.body.decode()
    assert 'id="rate-0-1-wrong"' not in wrong.body.decode()


@pytest.mark.parametrize(
    ("case", "title"),
    [
        ("number", "Outcomes by what was done"),
        ("count", "Outcomes by"),
        ("time", "Time to the event by what was proposed"),
    ],
)
def test_a_trial_shows_how_its_outcomes_are_spread(tmp_path: Path, case: str, title: str) -> None:
    with Trial.create(tmp_path / "t.db", spec(case)) as trial:
        trial.start()
        run(trial, CASES[case][2], many=30)
        book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id, time_series=True))
        found = findings_of(book, late=0)
    charts = page_charts(found)
    assert [chart.name for chart in charts if chart.name.startswith("outcomes")] == [
        "outcomes-proposed",
        "outcomes-done",
    ]
    assert any(title in chart.title for chart in charts)
    assert all("<svg" in chart.svg for chart in charts)
    (values,) = (chart for chart in charts if chart.name == "values")
    assert "the distribution that the policy assumes" in values.note
    assert found.summary.overall.decisions == 30
    assert sum(each.decisions for each in found.summary.overall.proposals) == 30
    assert found.summary.progress.outcomes_counted == 30


def test_random_numbers_are_counted_by_what_a_draw_takes() -> None:
    """With 1,000 bins and 10,000 draws of two arms: 20 million for the bootstrap, few for a normal mean."""
    outcomes = {**NUMBER, "high": 560, "bins": 1_000}
    given: dict[str, Any] = {**spec("number"), "space": {"proposals": 2, "outcomes": outcomes}, "draws": 10_000}
    assert Design.of(given).drawn == 2
    given["policy"] = {"kind": "TSObs", "likelihood": {"kind": "bootstrap"}}
    with pytest.raises(InputError, match=r"^spec: draws: got 10000, which take 20040000, .* fewer draws, .* or bins$"):
        Design.of(given)
    assert Design.of({**given, "draws": 9_900}).drawn == 1_000
    given["policy"] = {"kind": "TSLat", "inference": "gibbs"}  # draws who of each bin took which action
    given["space"]["outcomes"] = {**outcomes, "high": 559.5}
    with pytest.raises(InputError, match=r"^spec: draws: got 10000, which take 20040000"):
        Design.of(given)
    given["space"]["outcomes"], given["policy"] = {**TIME, "step": 0.1}, {"kind": "TS"}
    assert Design.of(given).drawn == 2
    assert Design.of({**given, "space": {"proposals": 2, "outcomes": 5, "utility": [0, 1, 2, 3, 4]}}).drawn == 5
