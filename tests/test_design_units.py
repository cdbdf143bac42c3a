"""Trials whose probabilities change after every outcome: against exact recursion, published figures and a twin."""

from typing import Any

import numpy as np
import pytest

from kernel_runs import uncompiled
from look_twin import replay
from plans import two
from takeup.design.exact import exact
from takeup.design.forms import form_of
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.design.running import memory_of, schedule, truths
from takeup.policies.judging import MAXIMUM, SUPERIOR
from takeup.randomness import stream
from takeup.simulation.kernels import compile_cpu


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
    ("plans", "trials", "most"), [(3, 100, 40), pytest.param(200, 20_000, 60, marks=pytest.mark.long)]
)
def test_trials_are_those_of_the_exact_recursion(
    monkeypatch: pytest.MonkeyPatch, plans: int, trials: int, most: int
) -> None:
    """Within four errors, six figures a plan: of 16,000 figures one is beyond by chance. A hundred are not compiled."""
    if trials < 1_000:
        monkeypatch.setattr(compile_cpu, "build", uncompiled)
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


@pytest.mark.long
@pytest.mark.parametrize(
    ("rate", "tables", "theirs"),
    [
        (0.35, {}, (64.84, 0.7415, 0.3563, 0.8411)),
        (0.45, {"limits": {"soften": 0.5}}, (81.69, 0.7931, 0.7955, 0.9000)),
        (0.45, {"limits": {"floor": 0.1}, "burn_in": 50}, (81.20, 0.7771, 0.7486, 0.9445)),
    ],
)
def test_figures_of_a_published_study(rate: float, tables: dict[str, Any], theirs: tuple[float, ...]) -> None:
    """Successes, share, reject and coverage of Pawel & Held's 10,000 trials, within four errors of both together.

    Twelve figures: one of 1,300 runs has one beyond. `test_design_published` has all rows.
    """
    plan = two(looks={"at": [200], "update": "patient"}, scenarios={"any": {"success": [0.25, rate]}}, **tables)
    found = operate(plan, replications=3_000, seed=5)["any"]
    figures = (found.rewards.sum(axis=1), found.units[:, 1] / 200, *_wald(found, rate - 0.25))
    for ours, published in zip(figures, theirs, strict=True):
        error = float(np.std(ours)) * np.hypot(1 / np.sqrt(3_000), 1 / np.sqrt(10_000))
        assert abs(float(np.mean(ours)) - published) < 4 * error + 5e-5, (np.mean(ours), published)


@pytest.mark.parametrize("plans", [3, pytest.param(60, marks=pytest.mark.long)])
def test_trials_end_as_in_other_words(monkeypatch: pytest.MonkeyPatch, plans: int) -> None:
    """Trial by trial from the same draws, with outcomes that are known late; three plans are not compiled."""
    if plans < 10:
        monkeypatch.setattr(compile_cpu, "build", uncompiled)
    rng = stream(12, "units")
    for _ in range(plans):
        looks = {"at": [8, 20, 30], "lag": int(rng.integers(0, 15)), "update": "patient"}
        plan = _any_plan(rng, 30, looks=looks)
        found = operate(plan, replications=3, seed=2)["any"].kept
        for i in range(3):
            ours = (int(found.status[i]), int(found.look[i]), int(found.chosen[i]), found.dropped[i].tolist())
            assert ours == tuple(replay(plan, 2, i)), (plan.content, i)


def test_a_lag_beyond_the_last_unit_takes_no_more_room() -> None:
    """Of four units none is known to any other, whether a lag is four or as many as the largest trial has."""
    room = []
    for lag in (4, 100_000):
        plan = two(looks={"at": [4], "update": "patient", "lag": lag})
        scenarios = dict(plan.scenarios)
        form = form_of(plan, truths(scenarios))
        pieces = schedule(plan, [each.environment for each in scenarios.values()])
        assert pieces.lag == 4
        room.append(memory_of(plan, form)[0].shape)
    assert room == [(5, 2, 2)] * 2


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
