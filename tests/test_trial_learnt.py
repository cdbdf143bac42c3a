"""What a policy has learnt about whom: against closed forms, and against counting one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from naive_regression import ridge
from takeup.live import Learnt, Trial, Withheld
from takeup.live.learning import MOST_DRAWS, POINTS
from takeup.live.nearby import FEW_NEAR, NEAR
from takeup.live.tally import Tally
from takeup.randomness import stream
from takeup.service.pages.render.tallies import Tallies
from takeup.store import reading

SPACE: dict[str, Any] = {
    "proposals": ["usual", "new", "other"],
    "outcomes": {"kind": "number", "low": 0, "high": 200, "better": "lower", "unit": "mmHg"},
    "covariates": {
        "age": {"kind": "measure", "low": 20, "high": 100, "unit": "years", "missing": "kept"},
        "state": {"kind": "category", "levels": ["alert", "drowsy", "asleep"]},
    },
}
SPEC: dict[str, Any] = {
    "name": "Pressure",
    "space": SPACE,
    "policy": {"kind": "LinTS", "noise": 0.05},
    "seed": 6,
    "rehearsal": True,
}
Unit = dict[str, Any]


def filled(trial: Trial, many: int, contexts: int = 1) -> list[tuple[int, int, Unit, int]]:
    """Decisions with their outcomes: context, proposal, covariates, outcome."""
    trial.start()
    rng = stream(3, "units")
    made = []
    for i in range(many):
        age = None if rng.random() < 0.1 else int(np.clip(round(60 + 10 * rng.standard_normal()), 20, 100))
        unit = {"age": age, "state": ["alert", "drowsy", "asleep"][int(rng.choice(3, p=[0.2, 0.75, 0.05]))]}
        context = int(rng.integers(contexts))
        decision = trial.decide(f"u{i}", context, covariates=unit)
        z = ["usual", "new", "other"].index(decision.proposal)
        outcome = round(120 + 4 * z + (age or 60) * (0.2 - 0.1 * z) + 8 * rng.standard_normal())
        trial.report(decision, implemented=decision.proposal, outcome=outcome)
        made.append((context, z, unit, outcome))
    return made


@pytest.fixture(scope="module")
def pressure(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trial, list[tuple[int, int, Unit, int]]]:
    trial = Trial.create(tmp_path_factory.mktemp("learnt") / "t.db", SPEC)
    return trial, filled(trial, 120)


def found(trial: Trial) -> Learnt:
    learnt = trial.learnt()
    assert isinstance(learnt, Learnt)
    return learnt


def test_it_is_the_posterior_of_the_difference(pressure: tuple[Trial, list[tuple[int, int, Unit, int]]]) -> None:
    """With known noise v'(θ[z] - θ[0]) is normal; mean and ends within 5 standard errors of 4,000 draws.

    There are 25 values, 2 differences and 5 numbers of each: one run in 7,000 would fail by chance, and the seed is
    fixed. Lower is better here, and the difference is in mmHg all the same.
    """
    trial, made = pressure
    learnt, space = found(trial), trial.design.space
    assert space.covariates is not None
    features = np.array([space.covariates.features(unit) for _, _, unit, _ in made]) / 1_000
    z, gain = np.array([z for _, z, _, _ in made]), 1 - np.array([y for *_, y in made]) / 200
    d = features.shape[1]
    spread = [np.linalg.inv(features[z == k].T @ features[z == k] + np.eye(d)) for k in range(3)]
    theta = [ridge(features[z == k], gain[z == k] - 0.5, np.eye(d), np.zeros(d)) for k in range(3)]
    (here,) = learnt.contexts
    for covariate in here.covariates:
        for point in covariate.points:
            v = np.array(space.covariates.features({**here.typical, covariate.name: point.value})) / 1_000
            for k, each in enumerate(point.differences, start=1):
                centre = -200 * v @ (theta[k] - theta[0])
                sd = 200 * 0.05 * np.sqrt(v @ (spread[k] + spread[0]) @ v)
                error = sd / np.sqrt(MOST_DRAWS)
                assert each.mean == pytest.approx(centre, abs=5 * error)
                for end, quantile, times in (
                    (each.low, -1.959964, 2.67),
                    (each.high, 1.959964, 2.67),
                    (each.inner_low, -1.281552, 1.71),
                    (each.inner_high, 1.281552, 1.71),
                ):
                    assert end == pytest.approx(centre + quantile * sd, abs=5 * times * error)


def test_who_was_near_is_counted(pressure: tuple[Trial, list[tuple[int, int, Unit, int]]]) -> None:
    trial, made = pressure
    learnt = found(trial)
    (here,) = learnt.contexts
    ages, states = [unit["age"] for _, _, unit, _ in made], [unit["state"] for _, _, unit, _ in made]
    known = [age for age in ages if age is not None]
    assert here.typical["age"] == pytest.approx(np.mean(known), abs=0.6)
    assert here.typical["state"] == "drowsy" == max(set(states), key=states.count)
    age, state = here.covariates
    assert len(age.points) == POINTS + 1
    assert [point.value for point in state.points] == ["alert", "drowsy", "asleep"]
    for name, covariate in (("age", age), ("state", state)):
        assert sum(point.decisions for point in covariate.points) == 120 == learnt.counted
        for point in covariate.points:
            for k, each in enumerate(point.differences, start=1):
                inside = [z for _, z, unit, _ in made if near(unit[name], point.value)]
                assert each.decisions == (inside.count(0), inside.count(k))
                assert each.sparse == (min(each.decisions) < FEW_NEAR)
    for stretch in age.sparse:
        if stretch.first is None:
            continue
        k = ["usual", "new", "other"].index(stretch.proposal)
        inside = [
            z for _, z, unit, _ in made if unit["age"] is not None and stretch.first <= unit["age"] <= stretch.last
        ]
        assert stretch.decisions == (inside.count(0), inside.count(k))
    last = [each for each in age.sparse if each.to_high]
    assert [each.last for each in last] == [100, 100]
    assert {each.first for each in state.sparse} >= {"asleep"}


def near(value: Any, other: Any) -> bool:
    """Of a scale of 80 years, 4 on either side."""
    if isinstance(value, int) and isinstance(other, int):
        return abs(value - other) <= NEAR * 80
    return bool(value == other)


def test_a_correction_moves_who_was_met(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        filled(trial, 5)
        before = {point.value: point.decisions for point in found(trial).contexts[0].covariates[1].points}
        trial.report(1, covariates={"state": "asleep"}, reason="he was")
        after = {point.value: point.decisions for point in found(trial).contexts[0].covariates[1].points}
        assert after["asleep"] == before["asleep"] + 1
        assert sum(after.values()) == sum(before.values()) == 5


def test_contexts_and_interactions_and_forgetting(tmp_path: Path) -> None:
    """Those with the most decisions come first; what forgets believes from what is left."""
    space = {**SPACE, "contexts": ["north", "south", "nobody"], "interactions": [["age", "state"]]}
    policy = {"kind": "Forgetting", "base": {"kind": "LinTS"}, "half_life": 50, "epoch": 10}
    with Trial.create(tmp_path / "t.db", {**SPEC, "space": space, "policy": policy}) as trial:
        made = filled(trial, 60, contexts=2)
        learnt = found(trial)
        many = [sum(x == place for x, *_ in made) for place in (0, 1)]
        names = sorted(["north", "south"], key=lambda each: -many[["north", "south"].index(each)])
        assert [each.context for each in learnt.contexts] == names
        assert [each.decisions for each in learnt.contexts] == sorted(many, reverse=True)
        assert [each.interacts for each in learnt.contexts[0].covariates] == [("state",), ("age",)]


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("LinUCB", "LinUCB has no model of what a proposal is worth"), ("TS", "TS learns nothing from covariates")],
)
def test_where_there_is_nothing_it_says_why(tmp_path: Path, kind: str, reason: str) -> None:
    with Trial.create(tmp_path / "t.db", {**SPEC, "policy": {"kind": kind}}) as trial:
        assert trial.learnt() == Withheld(reason)


def test_before_the_first_decision_there_is_nobody(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "t.db", SPEC) as trial:
        assert found(trial).contexts == ()
    space = {name: each for name, each in SPACE.items() if name != "covariates"}
    with Trial.create(tmp_path / "u.db", {**SPEC, "space": space, "policy": {"kind": "TS"}}) as trial:
        assert trial.learnt() == Withheld("the trial has no covariates")


def test_pages_count_a_long_trial_seldom(pressure: tuple[Trial, list[tuple[int, int, Unit, int]]]) -> None:
    """A short trial is counted at every event; one of 10,000 decisions when it has grown by a fiftieth."""
    trial, _ = pressure
    book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id))
    asked: list[int] = []
    for decisions, events in ((120, [0, 1, 1]), (10_000, [0, 1, 200])):
        tallies, first = Tallies(), book.sequence
        many: list[int] = []

        def count(decisions: int = decisions, many: list[int] = many) -> Tally:
            many.append(1)
            return Tally(decisions, {})

        for event in events:
            book.sequence += event
            found_ = tallies.of("here", book, count)
            assert found_ is not None
        asked.append(len(many))
        book.sequence = first
    assert asked == [3, 2]
