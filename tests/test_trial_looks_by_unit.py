"""Planned looks at live trials whose policy proposes by covariates, or forgets: rules read all outcomes alike."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import Event, Profile, stream
from takeup.conjugates.quadrature import betas
from takeup.live import Trial
from takeup.live.rehearsal import Rehearsal
from takeup.live.trial_run import tried
from takeup.policies.judging import GOING_ON, MAXIMUM, Standing, judge
from takeup.policies.limits import shared
from takeup.specfile import SpecError
from takeup.trial import Book, Decide, Move, Report, perform
from takeup.trial.commands import Ask
from takeup.trial.design import Design
from takeup.trial.events import Decided, Looked
from takeup.trial.secret import Secret
from takeup.trial.steering import created_event

STATUSES = ("going on", "superior", "equivalent", "futile", "maximum")
COVARIATES: dict[str, Any] = {
    "age": {"kind": "measure", "low": 20, "high": 100, "unit": "years"},
    "state": {"kind": "category", "levels": ["alert", "drowsy"]},
}
SPEC: dict[str, Any] = {
    "name": "Clinic",
    "rehearsal": True,
    "seed": 5,
    "space": {"proposals": ["A", "B", "C"], "outcomes": ["died", "lived"], "covariates": COVARIATES},
    "policy": {"kind": "LinTS"},
    "limits": {"floor": 0.1, "soften": "i/2n"},
    "burn_in": 6,
    "looks": {"first": 15, "every": 15, "last": 60, "update": "patient"},
    "stopping": {"superiority": 0.97, "inferiority": 0.06},
}
FORGETS = {"kind": "Forgetting", "base": {"kind": "TS"}, "half_life": 20, "epoch": 5}
RATES = np.array([0.3, 0.45, 0.75])


def begun(content: dict[str, Any], seed: int) -> Book:
    design, secret = Design.of(content), Secret(f"{seed:064x}", "0" * 32)
    book = Book.begin(created_event("t", design, secret, 0, None), secret)
    perform(Move(state="running"), book, 0)
    return book


def somebody(rng: np.random.Generator) -> dict[str, Any]:
    return {"age": int(rng.integers(20, 101)), "state": ["alert", "drowsy"][rng.integers(2)]}


def lived(content: dict[str, Any], seed: int) -> list[Looked]:
    """A trial beside its twin: betas of all outcomes at looks, and what the policy says of everything that is known."""
    book = begun(content, seed)
    design, looks, rng = book.design, book.design.looks, stream(seed, "units")
    assert looks is not None
    assert design.soften is not None
    policy, by_unit = design.policy, design.shown.covariates is not None
    state: Any = policy.start(design.shown)
    table, standing, before, look, ended = np.ones((3, 2)), Standing.of(3, design.rules), None, 0, False
    share = np.array(design.even)
    for number in range(1, int(looks.at[-1]) + 6):
        met = somebody(rng)
        unit = design.space.profile(met)
        perform(Decide(ask=Ask(unit=f"u{number}", covariates=met)), book, number)
        record = book.records[book.decisions]
        (decided,) = [entry.event for entry in book.changes.entries if isinstance(entry.event, Decided)][-1:]
        if looks.update == "patient" and (by_unit or not ended):
            even = number <= design.spec.burn_in
            wish = np.array(design.even) if even else wished(design, state, unit, standing)
            power = 1.0 if even else float(design.soften[min(number - 1, design.soften.size - 1)])
            share = shared(wish, standing.offered, design.limits, power)
        np.testing.assert_allclose(decided.probability, share, atol=5e-9)
        y = int(rng.random() < RATES[record.proposal])
        perform(Report(decision=book.decisions, outcome=y, implemented=record.proposal), book, number)
        state = learnt(policy, state, number - 1, unit if by_unit else None, record.proposal, y)
        table[record.proposal, 1 - y] += 1
        if number not in looks.at:
            assert book.look is before
            continue
        assert book.look is not None
        before = book.look
        if not ended:
            verdict = judge(betas(table), design.rules, look, standing)
            status = MAXIMUM if verdict.status == GOING_ON and look == looks.at.size - 1 else verdict.status
            assert (before.look, before.status, before.outcomes) == (look + 1, STATUSES[status], number)
            assert before.offered == tuple("ABC"[k] for k in verdict.standing.offered)
            told = [each["probability"] for each in before.compared]
            np.testing.assert_allclose(told, [p for _, _, p, _ in verdict.probabilities], atol=1e-8)
            ended = status != GOING_ON
            if ended:
                assert (before.still is None) is not by_unit
                assert before.still is None or before.still["offered"] == ["ABC"[k] for k in standing.offered]
                if looks.update == "patient":  # what the next would have had stays
                    power = float(design.soften[min(number, design.soften.size - 1)])
                    share = shared(wished(design, state, unit, standing), standing.offered, design.limits, power)
            elif looks.update == "look":
                standing = verdict.standing
                wish = wished(design, state, unit, standing)
                share = shared(wish, standing.offered, design.limits, float(design.soften[look]))
            else:
                standing = verdict.standing
                assert before.probability is None
        look += 1
    return [entry.event for entry in book.changes.entries if isinstance(entry.event, Looked)]


def wished(design: Design, state: Any, unit: Profile, standing: Standing) -> np.ndarray:
    """What the policy would like to propose to a unit among those that are offered; exact."""
    beliefs = design.policy.beliefs(state, unit if design.shown.covariates is not None else 0, stream(0))
    wish, variables = np.zeros(3), beliefs.variables()
    assert variables is not None
    wish[list(standing.offered)] = variables.largest(standing.offered)
    return wish


def learnt(policy: Any, state: Any, number: int, unit: Profile | None, z: int, y: int) -> Any:
    features = None if unit is None else unit.features
    return policy.learn(state, Event(0, z, z, y, number=number, features=features), stream(0))


AT_LOOKS = {"looks": {"first": 15, "every": 15, "last": 60}, "limits": {"floor": 0.1, "soften": 0.7}}
CASES = {
    "covariates": {},
    "covariates, without limits": {"limits": {}, "burn_in": 0},
    "covariates, forgetting": {"policy": {**FORGETS, "base": {"kind": "LinTS"}}},
    "forgetting": {"policy": FORGETS},
    "forgetting, at looks": {"policy": FORGETS, **AT_LOOKS},
}


@pytest.mark.parametrize("seeds", [2, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_rules_read_all_outcomes_and_proposals_follow_what_the_policy_believes(
    changes: dict[str, Any], seeds: int
) -> None:
    """It would mean little if nothing were dropped, or nothing ended before the last look."""
    held = [look for seed in range(seeds) for look in lived({**SPEC, **changes}, seed)]
    assert {each.status for each in held} >= {"going on", "superior"}
    assert any(each.dropped and each.status == "going on" for each in held)


@pytest.mark.parametrize("changes", [{}, {"policy": FORGETS}, {"policy": FORGETS, **AT_LOOKS}])
def test_a_stored_trial_holds_its_looks_and_the_audit_derives_them_again(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    """Decisions go on after the look that advised an end, as before it."""
    tried({**SPEC, **changes})
    rng = stream(8, "units")
    with Trial.create(tmp_path / "t.db", {**SPEC, **changes}, trial="looks") as trial:
        trial.start()
        for number in range(66):
            made = trial.decide(f"u{number}", covariates=somebody(rng))
            z = "ABC".index(made.proposal)
            trial.report(made, implemented=made.proposal, outcome=int(rng.random() < [0.2, 0.5, 0.9][z]))
        advice, found = trial.summary().advice, trial.audit()
        looks = [json.loads(each.body) for each in trial.events(kind="looked")]
        after = json.loads(trial.events(kind="decided")[-1].body)
    assert advice.looks is not None
    assert (advice.stop, advice.looks.last.proposal) == (True, "C")  # type: ignore[union-attr]
    assert (found.passed, found.looks) == (True, 4), found
    last = looks[-1]
    offered = last["still"]["offered"] if "still" in last else None
    assert (offered is None) is bool(changes)
    if offered is not None:
        assert {label for label, p in zip("ABC", after["probability"], strict=True) if p > 0} == set(offered)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"looks": {"last": 60}}, "looks.update: got 'look', expected 'patient'; LinTS proposes to each unit"),
        (
            {"stopping": {"superiority": 0.9, "reading": "policy"}},
            "stopping.reading: got 'policy', expected 'intention to treat'; LinTS believes something of each unit",
        ),
        (
            {"policy": FORGETS, "stopping": {"superiority": 0.9, "reading": "policy"}},
            "expected 'intention to treat'; looks read all outcomes, and a policy that forgets",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(SpecError, match=told):
        Design.of({**SPEC, **changes})


@pytest.mark.parametrize("changes", [{}, {"policy": FORGETS}])
def test_a_rehearsal_runs_with_looks(changes: dict[str, Any]) -> None:
    rates = [[0.6, 0.4], [0.6, 0.4], [0.2, 0.8]]
    found = Rehearsal(spec={**SPEC, **changes}, people=70, runs=1, rates=rates).run(lambda part: None)
    assert found["runs"] == 1
