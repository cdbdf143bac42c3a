"""The reference for plans: against exact figures, against the kernels, and with every policy and reading."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from plans import two
from takeup.checks import FloatArray
from takeup.design import reference
from takeup.design.bounded import bounded
from takeup.design.cells import Cells
from takeup.design.exact import exact
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.statistics import statistic_of
from takeup.design.thresholds import highest
from takeup.evidence import Evidence
from takeup.policies.description import describe
from takeup.policies.judging import SUPERIOR
from takeup.policies.meeting import uses_covariates
from takeup.policies.registry import registered
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.specfile import SpecError

ENDS = {"superiority": 0.9, "inferiority": 0.1}
ARMS: dict[str, Any] = {
    "name": "Three arms",
    "space": {"proposals": ["A", "B", "C"]},
    "policy": {"kind": "TS"},
    "looks": {"at": [20, 40, 60], "lag": 10},
    "limits": {"floor": 0.1, "rule": "proportional", "soften": 0.5},
    "scenarios": {"any": {"success": [0.3, 0.45, 0.6], "take_up": 0.8}},
}
"""A small plan, with everything that the kernel has too."""


def _run(plan: Plan, trials: range, seed: int = 1) -> LookOutput:
    """Of the first scenario."""
    return LookOutput(*(part[0] for part in reference.run(plan, plan.scenarios, trials, seed)))


def _mean(values: FloatArray) -> tuple[float, float]:
    return float(values.mean()), float(values.std() / np.sqrt(len(values)))


@pytest.mark.parametrize(
    ("looks", "trials"),
    [
        ({"at": [10, 20, 30]}, 150),
        ({"at": [6, 12], "update": "patient"}, 60),
        pytest.param({"at": [10, 20, 30]}, 900, marks=pytest.mark.long),
        pytest.param({"at": [6, 12], "update": "patient"}, 400, marks=pytest.mark.long),
    ],
)
def test_against_exact_figures(looks: dict[str, Any], trials: int) -> None:
    """Superior, size and share, within four errors: a false alarm in 5,000 seeds."""
    plan = two(looks=looks, stopping=ENDS, limits={"floor": 0.1, "soften": "i/2n"}, burn_in=4)
    right, found = exact(plan, (0.3, 0.6)), _run(plan, range(trials))
    units = found.statistic[..., 0]
    for ours, theirs in (
        (found.status == SUPERIOR, right.probability("superior")),
        (units.sum(axis=-1), right.size),
        (units[:, 1] / units.sum(axis=-1), right.share),
    ):
        mean, error = _mean(ours)
        assert abs(mean - theirs) < 4 * error


@pytest.mark.parametrize(
    "stopping",
    [
        {**ENDS, "equivalence": {"probability": 0.5, "margin": 0.2}},
        {**ENDS, "control": "A", "futility": {"probability": 0.8, "margin": 0.1}},
    ],
)
def test_against_the_kernel(stopping: dict[str, Any]) -> None:
    """120 trials against 20,000: ends, sizes, dropped arms and their units, within four errors; one in 1,000 seeds."""
    plan = Plan.of({**ARMS, "stopping": stopping})
    ours, theirs = _run(plan, range(120)), operate(plan, replications=20_000, seed=3)["any"].kept

    def parts(found: LookOutput) -> list[FloatArray]:
        units = found.statistic[..., 0]
        ends = [found.status == status for status in range(1, 5)]
        return [*ends, found.look, *units.T, *(found.dropped > 0).T, *found.statistic[..., 1].T]

    for one, other in zip(parts(ours), parts(theirs), strict=True):
        (mean, error), (right, little) = _mean(one), _mean(other)
        error = max(error, np.sqrt(right * (1 - right) / len(one)) if right < 1 else 0.0)
        assert abs(mean - right) <= 4 * np.hypot(error, little)


def test_a_trial_depends_on_its_number_alone() -> None:
    plan = Plan.of({**ARMS, "stopping": ENDS | {"inferiority": 0.05}})
    whole, part = _run(plan, range(6)), _run(plan, range(2, 6))
    for one, other in zip(whole, part, strict=True):
        np.testing.assert_array_equal(one[2:], other)
    assert (_run(plan, range(2, 6), 2).statistic != part.statistic).any()


class Watched(reference.Trial):
    """A trial that tells what it asks for: the moments of its probabilities, and how many outcomes are read."""

    def __init__(self, plan: Plan) -> None:
        self.moments: list[int | None] = []
        self.read: list[int] = []
        super().__init__(plan, "intention to treat", plan.scenarios["any"].environment, 1, 0)

    def shares(self, moment: int | None) -> FloatArray:
        self.moments.append(moment)
        return reference.Trial.shares(self, moment)

    def evidence(self, known: int) -> Evidence:
        self.read.append(known)
        return reference.Trial.evidence(self, known)


def test_what_is_known_when_a_unit_comes() -> None:
    """After a burn-in of two, unit i is allocated by the first i - 3 outcomes, where three wait for theirs.

    Looks read four and eight; where probabilities change at looks, so do those after the first.
    """
    trial = Watched(two(looks={"at": [4, 8], "lag": 3, "update": "patient"}, burn_in=2))
    trial.run()
    assert trial.moments == [None, None, 0, 0, 1, 2, 3, 4]
    assert trial.read == [0, 0, 1, 2, 3, 4, 4, 8]
    trial = Watched(two(looks={"at": [4, 8], "lag": 3}, burn_in=2))
    trial.run()
    assert trial.moments == [None, None, 0]
    assert trial.read == [4, 4, 8]


def test_a_trial_leaves_a_log() -> None:
    """Its evidence, its outcomes when they were known, and the probabilities that every unit was drawn with."""
    trial = Watched(two(looks={"at": [4, 8], "lag": 3}, burn_in=2))
    trial.run()
    log = trial.log()
    assert Evidence.from_log(log) == trial.evidence(8)
    np.testing.assert_array_equal(log.outcome_by, [4, 5, 6, 7, 8, 8, 8, 8])
    np.testing.assert_array_equal(log.source, [1, 1, 0, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(log.probability[:7], np.full((7, 2), 0.5))
    np.testing.assert_array_equal(log.probability[7], trial.shares(0))


@pytest.mark.parametrize(
    "policy", [each for each in registered() if each.live and not uses_covariates(each)], ids=lambda each: each.name
)
def test_every_live_policy(policy: Any) -> None:
    """Two trials of two looks; what is kept adds up, and arms that are dropped stay at what they had."""
    content = {
        **ARMS,
        "policy": describe(policy),
        "draws": 100,
        "looks": {"at": [12, 24], "lag": 4},
        "stopping": {**ENDS, "inferiority": 0.2, "control": "A", "control_share": "sqrt"},
    }
    try:
        plan = Plan.of(content)
    except SpecError:
        pytest.skip("needs another space")
    found = _run(plan, range(2))
    units = statistic_of(plan).units(found.statistic).sum(axis=-1)
    np.testing.assert_array_equal(units, plan.looks.randomised[found.look])


def test_plans_without_a_kernel_are_run_all_the_same() -> None:
    """UCB1 has none: figures come from the reference, and say so; one run answers every threshold."""
    plan = Plan.of({**ARMS, "policy": {"kind": "UCB1"}, "stopping": {"superiority": 0.9}})
    found = operate(plan, replications=4, seed=1)["any"]
    assert found.engine == "reference"
    assert found.metrics()["size"]["mean"] == found.size.mean()
    tops = highest(plan, ["any"], 4, 1)[0]
    np.testing.assert_array_equal(tops > 0.9, found.kept.status == SUPERIOR)
    with pytest.raises(SpecError, match=r"policy\.kind: got UCB1"):
        operate(plan, replications=4, engine="cpu")


def test_three_levels() -> None:
    """Worth 0, 1 and 4, with a third each: 30 units are worth 50 on average, and every unit is in one of nine cells."""
    plan = two(
        space={"proposals": 2, "outcomes": 3, "utility": [0, 1, 4]},
        looks={"at": [30]},
        scenarios={"any": {"compliance": np.eye(2).tolist(), "outcome": [[1 / 3] * 3] * 2}},
    )
    found = operate(plan, replications=40, engine="reference")["any"]
    assert (found.size == 30).all()
    assert abs(found.rewards.sum(axis=1).mean() - 50) < 4 * np.sqrt(30 * 26 / 9 / 40)


def test_means_half_a_deviation_apart() -> None:
    """128 in all have 80 % power at .05 on two sides, and next to none on the wrong one: of 300 trials, 4 errors."""
    plan = two(
        space={"proposals": 2, "outcomes": {"kind": "number", "low": -6, "high": 6, "step": 0.01}},
        policy={"kind": "TS", "likelihood": {"kind": "normal", "mean": 0.25, "sd": 1, "weight": 1e-6, "freedom": 1}},
        looks={"at": [128]},
        stopping={"superiority": 0.975},
        scenarios={"any": {"mean": [0.0, 0.5], "sd": 1.0}},
    )
    found = operate(plan, replications=300, engine="reference")["any"]
    assert abs(found.superior(1).mean - 0.8) < 4 * np.sqrt(0.16 / 300)
    assert abs(found.rewards[:, 1].sum() / found.units[:, 1].sum() - 0.5) < 4 / np.sqrt(300 * 64)


def test_what_changes_over_the_trial() -> None:
    """Nobody succeeds before the eighth unit, and everybody from then on."""
    plan = two(policy={"kind": "Uniform"}, looks={"at": [10, 20]}, scenarios={"any": {"success": [0.0, 0.0]}})
    first, later = plan.scenarios["any"], two(scenarios={"any": {"success": [1.0, 1.0]}}).scenarios["any"]
    changed = replace(first, environment=first.environment.switch(7, later.environment))
    trial = reference.Trial(plan, "intention to treat", changed.environment, 1, 0)
    trial.run()
    assert trial.units[:, 2].tolist() == [0] * 7 + [1] * 13


@pytest.mark.parametrize("share", ["sqrt", 0.5])
def test_the_share_of_the_control_and_a_long_burn_in(share: Any) -> None:
    """Two others: sqrt(2) / (2 + sqrt(2)) of 2,000 units, or half; within four errors."""
    plan = Plan.of({**ARMS, "stopping": {"control": "A", "control_share": share}, "burn_in": 50, "limits": {}})
    units = _run(plan, range(34)).statistic[..., 0].sum(axis=0)
    expected = np.sqrt(2) / (2 + np.sqrt(2)) if share == "sqrt" else 0.5
    assert abs(units[0] / units.sum() - expected) < 4 * 0.5 / np.sqrt(units.sum())


def test_a_bounded_plan_has_its_power() -> None:
    """.25 against .35, 60 % take-up and a promise of .05: 80 % at the size that is told, of 300 trials; 4 errors."""
    units = round(bounded(Cells.rates(0.25, 0.35, 0.6), 0.05).size.units)
    plan = two(
        policy={"kind": "Uniform"},
        looks={"at": [units]},
        stopping={"superiority": 0.975, "control": "0", "reading": {"bounded": 0.05}, "replace": False},
        scenarios={"any": {"success": [0.25, 0.35], "take_up": 0.6}},
    )
    claimed = _run(plan, range(300)).status == SUPERIOR
    assert abs(claimed.mean() - 0.8) < 4 * np.sqrt(0.16 / 300)


def test_an_effect_among_compliers_is_futile_by_its_own_margin() -> None:
    """An effect of .3 on 40 % is .12 on all: beyond a margin of .2 among compliers, below it by intention to treat."""
    futile = {"futility": {"probability": 0.9, "margin": 0.2}, "control": "0"}
    dropped = []
    for reading in ("compliers", "intention to treat"):
        plan = two(
            policy={"kind": "Uniform"},
            looks={"at": [2_000]},
            stopping={**futile, "reading": reading},
            scenarios={"any": {"success": [0.3, 0.6], "take_up": 0.4}},
        )
        dropped.append((_run(plan, range(20)).dropped[:, 1] > 0).mean())
    assert dropped == [0.0, 1.0]


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"policy": {"kind": "TSObs"}, "compliance": "sometimes"}, "plan: compliance: got sometimes"),
        ({"stopping": {"reading": "compliers", "control": "0"}, "compliance": "never"}, "plan: compliance: got never"),
    ],
)
def test_what_not_even_the_reference_runs(tables: dict[str, Any], key: str) -> None:
    plan = two(**tables)
    with pytest.raises(SpecError, match=key):
        reference.run(plan, plan.scenarios, range(1), 0)
