"""All readings of a log in one call: what leads, what is said of it, and what cannot be had."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import adaptive_trials
from takeup import Count, Log, Space, Time, stream
from takeup.analysis import analyse
from takeup.analysis.effects import effect
from takeup.analysis.headline import unplanned
from takeup.analysis.planned import planned_of
from takeup.analysis.readings import STILL_RUNS, Readings
from takeup.analysis.results import log_digest
from takeup.errors import InputError
from takeup.trial.design import Design

SPEC: dict[str, Any] = {
    "name": "t",
    "space": {"proposals": ["usual", "new"], "outcomes": ["ill", "well"]},
    "policy": {"kind": "TS"},
}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tipping points and bounds, which take half of an analysis and are no part of what leads."""
    monkeypatch.setattr(Readings, "tipping", lambda self, one: None)
    monkeypatch.setattr(Readings, "bounds", lambda self, one: [])


@pytest.fixture(scope="module")
def log() -> Log:
    """300 patients by TS with a floor; four in ten refuse, and are sicker."""
    many = adaptive_trials.trials(adaptive_trials.refusing(300, (0.3, 0.6), 0.1, 0.6), 1, seed=2, floor=0.2)
    names = ("context", "implemented", "outcome", "implemented_by", "outcome_by", "source")
    parts = {name: getattr(many, name)[0] for name in names}
    return Log.of(many.space, many.proposal[0], many.probability[0], **parts)


@pytest.mark.requirement("R-7.7")
def test_what_was_planned_leads_and_is_what_its_own_function_says(log: Log) -> None:
    plan = Design.of({**SPEC, "analysis": {"contrast": "ratio", "confidence": 0.9, "test": "betting"}})
    found = analyse(log, plan=plan, replays=50)
    (led,) = found.primary
    assert (led.label, led.kind, found.entries[0]) == ("intention to treat, ratio", "planned", led)
    assert led.estimate == effect(log, 1, 0, measure="ratio", level=0.9)
    assert [each.tested.test for each in found.primary_tests] == ["betting"]
    plain = json.loads(json.dumps(found.plain(), allow_nan=False))
    assert plain["primary"]["planned"]
    assert plain["primary"]["control"] == "usual"
    assert [each["kind"] for each in plain["estimates"]].count("planned") == 1


def test_every_reading_may_lead(log: Log) -> None:
    """An interval of one side is one of two sides with twice the doubt."""
    for table, label in (
        ({"reading": "compliers"}, "complier effect"),
        ({"reading": {"bounded": 0.1}}, "bounded reading"),
        ({"reading": "per protocol"}, "per protocol"),
        ({"any_time": True}, "intention to treat, at any time"),
        ({"sided": 1}, "intention to treat"),
    ):
        found = analyse(log, plan=Design.of({**SPEC, "analysis": table}), replays=20)
        assert [(each.label, each.kind) for each in found.primary] == [(label, "planned")]
        assert found.primary[0].estimate.level == pytest.approx(0.9 if "sided" in table else 0.95)
    stored = Design.of({**SPEC, "analysis": {"reading": "policy"}}, new=False)
    found = analyse(log, plan=stored, replays=20)
    assert not found.primary
    assert (
        "a policy's own model has no interval" in {each.what: each.why for each in found.left_out}["what was planned"]
    )


@pytest.mark.requirement("R-7.7")
@pytest.mark.usefixtures("quick")
def test_what_is_given_later_is_not_what_was_planned(log: Log) -> None:
    """All of it is explored then, and says in what it differs."""
    table = {"reading": {"bounded": 0.1}, "test": "betting"}
    plan = Design.of({**SPEC, "analysis": table})
    assert planned_of(log, plan).named
    assert planned_of(log, plan, control="usual", level=0.95, promise=0.1).leads == "planned"
    for given, words in (
        ({"level": 0.9}, "The plan's level is 0.95, and this is of 0.9."),
        ({"promise": 0.2}, "The plan's promise is 0.1, and this is of 0.2."),
        ({"control": "new"}, "The plan compares with usual, and this is compared with new."),
    ):
        changed = planned_of(log, plan, **given)
        assert (changed.leads, changed.changed) == ("explored", (words,))
    assert planned_of(log, None).leads == "by convention"
    with pytest.raises(InputError, match=r"promise: got -1,"):
        planned_of(log, None, promise=-1)
    found = analyse(log, plan=plan, control="new", replays=20)
    assert not found.primary
    assert not found.primary_tests
    assert {each.kind for each in found.entries} == {"explored", "naive"}
    assert found.plain()["primary"]["changed"] == ["The plan compares with usual, and this is compared with new."]
    assert unplanned(found)[1:] == list(found.planned.changed)
    alone = analyse(log, plan=None)
    assert {each.what: each.why for each in alone.left_out} == {}
    assert "by convention" in {each.kind for each in alone.entries}


@pytest.mark.usefixtures("quick")
def test_another_plan_than_the_trials_own_is_held_against_it(log: Log) -> None:
    own = Design.of({**SPEC, "analysis": {"confidence": 0.9}})
    same = Design.of({**SPEC, "policy": {"kind": "Uniform"}, "analysis": {"confidence": 0.9}})
    other = Design.of({**SPEC, "analysis": {"reading": "compliers", "any_time": False}})
    looks = {"looks": {"at": [300]}, "stopping": {"control": "new"}}
    against = Design.of({**SPEC, **looks, "analysis": {"confidence": 0.9}})
    assert planned_of(log, None, own=own).leads == "planned"
    assert planned_of(log, same, own=own).leads == "planned"
    assert planned_of(log, other, own=own).changed == (
        "The trial was planned with reading = intention to treat, and what was given says compliers.",
        "The trial was planned with confidence = 0.9, and what was given says 0.95.",
    )
    weighted = Design.of({**SPEC, "analysis": {"confidence": 0.9, "weights": "stabilised"}})
    assert planned_of(log, weighted, own=own).changed == (
        "The trial was planned with weights = uniform, and what was given says stabilised.",
    )
    assert planned_of(log, own, own=weighted).changed
    assert planned_of(log, against, own=own).changed == (
        "The trial was planned to compare with usual, and what was given compares with new.",
    )
    (words,) = planned_of(log, own, own=Design.of(SPEC)).changed
    assert "began without a plan" in words
    assert not analyse(log, plan=other, own=own, replays=20).primary


@pytest.mark.usefixtures("quick")
def test_what_holds_at_one_look_says_so_while_a_trial_runs(log: Log) -> None:
    """By convention what holds at any time leads then; what was planned for one look leads, and says so."""
    found = analyse(log, finished=False)
    assert [each.label for each in found.primary] == ["intention to treat, at any time"]
    for each in found.entries:
        assert (STILL_RUNS in each.estimate.assumes) == (not each.estimate.any_time)
    tests = {each.tested.test: each.tested.assumes for each in found.tests}
    assert {name for name, assumes in tests.items() if STILL_RUNS not in assumes} == {"betting"}
    planned = analyse(log, plan=Design.of({**SPEC, "analysis": {}}), finished=False, replays=20)
    assert [each.label for each in planned.primary] == ["intention to treat"]
    assert planned.primary[0].estimate.assumes[0] == STILL_RUNS
    assert not any(STILL_RUNS in each.estimate.assumes for each in analyse(log).entries)


def test_a_promise_that_the_data_contradict_is_not_relied_upon(log: Log) -> None:
    """Refusers are well in 10 %, takers without the drug in 30 %."""
    sure = Log.of(
        log.space,
        *(np.concatenate([each] * 8) for each in (log.proposal, log.probability)),
        implemented=np.tile(log.implemented, 8),
        outcome=np.tile(log.outcome, 8),
    )
    found = analyse(sure, promise=0.01)
    (bounded,) = [each for each in found.entries if each.label == "bounded reading"]
    assert found.tippings[1].least_promise > 0.01
    assert bounded.estimate.withheld.startswith("the data contradict the promise of 0.01")
    (kept,) = [each for each in analyse(sure, promise=0.9).entries if each.label == "bounded reading"]
    assert not kept.estimate.withheld


def test_the_same_log_has_the_same_digest_and_another_has_another(log: Log) -> None:
    assert log_digest(log) == log_digest(log.only(slice(None)))
    other = np.array(log.outcome)
    other[7] = 1 - other[7]
    assert log_digest(replace(log, outcome=other)) != log_digest(log)


def test_counts_and_times_have_ratios_of_their_own() -> None:
    rng = stream(3, "kinds")
    z = rng.integers(0, 2, 200)
    counts = Space(["usual", "new"], outcomes=Count(most=20))
    found = analyse(Log.of(counts, z, [0.5, 0.5], outcome=rng.poisson(3 + z)))
    assert "intention to treat, rate ratio" in {each.label for each in found.entries}
    times = Space(["usual", "new"], outcomes=Time(longest=90))
    codes = [times.outcome.code({"time": float(t), "censored": bool(t % 3 == 0)}) for t in rng.integers(1, 90, 200)]
    found = analyse(Log.of(times, z, [0.5, 0.5], outcome=codes))
    labels = {each.label for each in found.entries}
    assert {"intention to treat", "intention to treat, hazard ratio"} <= labels
    assert not found.tippings
