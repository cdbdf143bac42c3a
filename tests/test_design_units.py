"""Trials whose probabilities change after every outcome: against exact recursion, published figures and a twin."""

from typing import Any

import numpy as np
import pytest

from look_twin import replay
from plans import two
from takeup.design.exact import exact
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.policies.judging import MAXIMUM, SUPERIOR
from takeup.randomness import stream


def _any_plan(rng: np.random.Generator, most: int, **tables: Any) -> Plan:
    looks = sorted(set(rng.integers(4, most, int(rng.integers(1, 4))).tolist()))
    limits: dict[str, Any] = {"floor": float(rng.choice([0.0, 0.15])), "soften": 1.0}
    if rng.random() < 0.6:
        limits["soften"] = float(rng.uniform(0, 1)) if rng.random() < 0.5 else "i/2n"
    above = float(rng.uniform(0.85, 0.97))
    plain = {
        "looks": {"at": looks, "update": "patient"},
        "limits": limits,
        "burn_in": int(rng.integers(0, most)) if rng.random() < 0.5 else 0,
        "stopping": {"superiority": above, "inferiority": 1 - above},
        "policy": {"kind": "TS", "alpha": float(rng.choice([1.0, 0.5]))},
        "scenarios": {"any": {"success": rng.uniform(0.1, 0.9, 2).tolist()}},
    }
    return two(**{**plain, **tables})


@pytest.mark.parametrize(
    ("plans", "trials", "most"), [(6, 4_000, 40), pytest.param(200, 20_000, 60, marks=pytest.mark.long)]
)
def test_trials_are_those_of_the_exact_recursion(plans: int, trials: int, most: int) -> None:
    """Within four errors, six figures a plan: of 16,000 figures one is beyond by chance."""
    rng = stream(11, "units")
    for _ in range(plans):
        plan = _any_plan(rng, most)
        found = operate(plan, replications=trials, seed=int(rng.integers(1_000)))["any"]
        right = exact(plan, plan.scenarios["any"].values.tolist())
        superior = found.kept.status == SUPERIOR
        share = found.units[:, 1] / found.size
        for ours, theirs in (
            (superior & (found.kept.chosen == 0), right.probability("superior", 0)),
            (superior & (found.kept.chosen == 1), right.probability("superior", 1)),
            (found.kept.status == MAXIMUM, right.probability("maximum")),
            (found.size, right.size),
            (share, right.share),
            (found.rewards.sum(axis=1), right.successes),
        ):
            error = max(float(np.std(ours)), 1 / np.sqrt(trials)) / np.sqrt(trials)
            assert abs(float(np.mean(ours)) - theirs) < 4 * error, plan.content


def _wald(found: Outcomes, gain: float) -> tuple[Any, Any]:
    """Whether the 95 % interval of the first treatment less the control is above 0, and whether it covers the gain."""
    units, rate = found.units, (found.rewards / np.maximum(found.units, 1))
    spread = np.sqrt(np.sum((rate * (1 - rate) / np.maximum(units, 1))[:, :2], axis=1))
    apart = rate[:, 1] - rate[:, 0]
    return apart - 1.959964 * spread > 0, np.abs(apart - gain) <= 1.959964 * spread


PUBLISHED: list[tuple[int, int, float, dict[str, Any], tuple[float, float, float, float]]] = [
    (200, 1, 0.25, {}, (50.0, 0.4947, 0.0861, 0.8300)),
    (200, 1, 0.35, {}, (64.84, 0.7415, 0.3563, 0.8411)),
    (200, 1, 0.45, {}, (84.67, 0.8663, 0.6953, 0.8453)),
    (200, 1, 0.45, {"limits": {"soften": 0.5}}, (81.69, 0.7931, 0.7955, 0.9000)),
    (200, 1, 0.45, {"limits": {"floor": 0.1}}, (83.00, 0.8252, 0.6879, 0.9228)),
    (200, 1, 0.45, {"limits": {"floor": 0.1}, "burn_in": 50}, (81.20, 0.7771, 0.7486, 0.9445)),
    (200, 1, 0.45, {"policy": {"kind": "Uniform"}}, (69.90, 0.5003, 0.8568, 0.9482)),
    (654, 1, 0.25, {}, (163.48, 0.4978, 0.0765, 0.8422)),
    (654, 1, 0.35, {}, (219.51, 0.8583, 0.6190, 0.8696)),
    (654, 1, 0.45, {}, (286.93, 0.9447, 0.9410, 0.8597)),
    (200, 2, 0.35, {}, (63.07, 0.4988, 0.2857, 0.8444)),
    (200, 2, 0.35, {"limits": {"floor": 0.1, "rule": "proportional"}}, (62.74, 0.4803, 0.2321, 0.9174)),
    (200, 2, 0.35, {"policy": {"kind": "Uniform"}}, (59.97, 0.3333, 0.2567, 0.9465)),
]


def _as_published(row: int, trials: int) -> None:
    """Successes, share of the first treatment, reject and coverage, within four errors of theirs and ours together."""
    units, treatments, rate, tables, theirs = PUBLISHED[row]
    rates = [0.25, rate, 0.30][: treatments + 1]
    plain = {
        "space": {"proposals": treatments + 1},
        "looks": {"at": [units], "update": "patient"},
        "scenarios": {"any": {"success": rates}},
    }
    found = operate(two(**{**plain, **tables}), replications=trials, seed=5)["any"]
    figures = (found.rewards.sum(axis=1), found.units[:, 1] / units, *_wald(found, rate - 0.25))
    for ours, published in zip(figures, theirs, strict=True):
        error = float(np.std(ours)) * np.hypot(1 / np.sqrt(trials), 1 / np.sqrt(10_000))
        assert abs(float(np.mean(ours)) - published) < 4 * error + 5e-5, (row, np.mean(ours), published)


@pytest.mark.parametrize("row", [1, 3, 5])
def test_figures_of_a_published_study(row: int) -> None:
    """Of Pawel & Held's 10,000 trials a row; twelve figures, one of 1,300 runs has one beyond."""
    _as_published(row, 3_000)


@pytest.mark.long
@pytest.mark.parametrize("row", range(len(PUBLISHED)))
def test_all_figures_of_a_published_study(row: int) -> None:
    _as_published(row, 20_000 if PUBLISHED[row][1] == 2 else 100_000)


@pytest.mark.parametrize("plans", [3, pytest.param(60, marks=pytest.mark.long)])
def test_trials_end_as_in_other_words(plans: int) -> None:
    """Trial by trial from the same draws, with outcomes that are known late."""
    rng = stream(12, "units")
    for _ in range(plans):
        looks = {"at": [8, 20, 30], "lag": int(rng.integers(0, 15)), "update": "patient"}
        plan = _any_plan(rng, 30, looks=looks)
        found = operate(plan, replications=3, seed=2)["any"].kept
        for i in range(3):
            ours = (int(found.status[i]), int(found.look[i]), int(found.chosen[i]), found.dropped[i].tolist())
            assert ours == tuple(replay(plan, 2, i)), (plan.content, i)


@pytest.mark.long
def test_a_draw_a_unit_has_the_law_of_the_vector() -> None:
    """Three arms by draws, and by quadrature, which a ceiling that never binds asks for; 16 figures, 4.5 errors."""
    tables = {
        "space": {"proposals": 3},
        "looks": {"at": [30, 60, 90], "lag": 5, "update": "patient"},
        "stopping": {"superiority": 0.95, "inferiority": 0.02},
        "scenarios": {"any": {"success": [0.3, 0.4, 0.6]}},
    }
    drawn = operate(two(**tables), replications=20_000, seed=1)["any"]
    read = operate(two(**tables, limits={"ceiling": 1 - 1e-12}), replications=20_000, seed=2)["any"]
    for one, other in zip(_means(drawn), _means(read), strict=True):
        error = np.sqrt((np.var(one) + np.var(other)) / 20_000)
        assert abs(np.mean(one) - np.mean(other)) < 4.5 * error


def _means(found: Outcomes) -> list[Any]:
    by_look = [found.kept.look == look for look in range(3)]
    chosen = [(found.kept.status == SUPERIOR) & (found.kept.chosen == k) for k in range(3)]
    dropped = [found.kept.dropped[:, k] > 0 for k in range(3)]
    return [*by_look, *chosen, *dropped, *found.units.T, *found.rewards.T, found.size]
