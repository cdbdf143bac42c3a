"""Two arms without simulation: the recursion against enumeration and published figures, and kernels against it."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

import naive
from plans import two
from takeup.conjugates.quadrature import betas
from takeup.design.exact import exact
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.policies.judging import EQUIVALENT, MAXIMUM
from takeup.randomness import stream
from takeup.simulation.kernels import comparing


@pytest.mark.requirement("R-6.1")
@pytest.mark.parametrize("update", ["patient", "look"])
def test_the_recursion_is_the_sum_over_all_histories(update: str) -> None:
    """Four units: every sequence of proposals and outcomes, with P(best) as a fraction of whole numbers."""
    plan = two(looks={"at": [2, 4], "update": update}, limits={"floor": 0.1})
    rates, expected = (0.3, 0.6), np.zeros((5, 5, 5))
    for proposals in product((0, 1), repeat=4):
        for outcomes in product((0, 1), repeat=4):
            chance, table, share = 1.0, np.zeros((2, 2), dtype=int), 0.5
            for step, (z, y) in enumerate(zip(proposals, outcomes, strict=True)):
                if update == "patient" or step in (0, 2):
                    pairs = [(int(good) + 1, int(bad) + 1) for good, bad in table]
                    share = float(np.clip(float(naive.largest_exactly(pairs)[0]), 0.1, 0.9))
                chance *= (share if z == 0 else 1 - share) * (rates[z] if y else 1 - rates[z])
                table[z, 1 - y] += 1
            expected[table[0].sum(), table[0, 0], table[1, 0]] += chance
    found = exact(plan, rates)
    (end,) = found.ends
    np.testing.assert_allclose(end.probability, expected, atol=1e-14)
    assert found.size == pytest.approx(4)


def test_equal_arms_are_alike_and_every_end_has_its_probability() -> None:
    """Equal arms at 40 units: half on each, and half of what both rates say; every end has its probability."""
    plan = two(looks={"at": [10, 20, 40]}, stopping={"superiority": 0.95, "inferiority": 0.05})
    found = exact(plan, (0.25, 0.25))
    assert found.probability("superior", 0) == pytest.approx(found.probability("superior", 1), abs=1e-12)
    assert found.probability("superior") + found.probability("maximum") == pytest.approx(1, abs=1e-12)
    assert found.share == pytest.approx(0.5, abs=1e-12)
    assert found.successes == pytest.approx(0.25 * found.size, abs=1e-10)


@pytest.mark.long
def test_thompson_sampling_of_200_units_has_the_published_characteristics() -> None:
    """Pawel & Held's study, whose simulations the exact values explain; to the printed digits."""
    for tables, rate, successes, share, reject, coverage in (
        ({}, 0.25, 50.0, 0.5, 0.08332, 0.83335),
        ({}, 0.35, 64.80491, 0.74025, 0.35489, 0.84463),
        ({}, 0.45, 84.65471, 0.86637, 0.69595, 0.84907),
        ({"limits": {"soften": 0.5}}, 0.45, 81.74152, 0.79354, 0.79727, 0.89651),
    ):
        found = exact(two(looks={"at": [200], "update": "patient"}, **tables), (0.25, rate))
        figures = (found.successes, found.share, *found.wald())
        np.testing.assert_allclose(figures, (successes, share, reject, coverage), atol=5.1e-6)
    for burn_in, successes in ((0, 83.0124), (50, 81.0997)):
        plan = two(looks={"at": [200], "update": "patient"}, limits={"floor": 0.1}, burn_in=burn_in)
        assert exact(plan, (0.25, 0.45)).successes == pytest.approx(successes, abs=5.1e-5)


def _random_plan(rng: np.random.Generator) -> tuple[Plan, list[float]]:
    first, every, looks = rng.integers(4, 12), rng.integers(3, 10), rng.integers(1, 5)
    above = float(rng.uniform(0.85, 0.99))
    success = rng.uniform(0.1, 0.9, 2).round(3).tolist()
    stopping: dict[str, Any] = {"superiority": above}
    if rng.random() < 0.5:
        stopping["inferiority"] = float(rng.uniform(0.001, 0.1))
    if rng.random() < 0.3:
        stopping["equivalence"] = {"probability": 0.8, "margin": 0.15}
    limits = {
        "floor": float(rng.choice([0.0, 0.1, 0.3])),
        "soften": float(rng.choice([1.0, 0.5])),
        "rule": str(rng.choice(["shift", "proportional"])),
    }
    at = [units for units in np.cumsum([first, *[every] * looks]).tolist() if units <= 40]
    kind = "TS" if rng.random() < 0.8 else "Uniform"
    tables = {"looks": {"at": at}, "stopping": stopping, "limits": limits, "policy": {"kind": kind}}
    return two(**tables, scenarios={"any": {"success": success}}), success


def _agree(plans: int, trials: int, seed: int, errors: float) -> None:
    rng = stream(seed, "plans")
    for _ in range(plans):
        plan, success = _random_plan(rng)
        right, found = exact(plan, success), operate(plan, replications=trials, seed=int(rng.integers(1_000)))["any"]
        pairs = [(right.probability("superior", k), found.superior(k).mean) for k in (0, 1)]
        pairs += [(right.probability("equivalent"), found.probability(EQUIVALENT).mean)]
        pairs += [(right.probability("maximum"), found.probability(MAXIMUM).mean)]
        for expected, seen in pairs:
            chance = stats.binomtest(round(seen * trials), trials, min(max(expected, 0.0), 1.0)).pvalue
            assert chance > 2 * stats.norm.sf(errors), plan.content
        assert abs(found.size.mean() - right.size) <= errors * right.spread / np.sqrt(trials) + 0.05


@pytest.mark.requirement("R-6.2")
def test_kernels_agree_with_the_recursion() -> None:
    """Five random plans of 10,000 trials, five figures each: beyond 5 errors by chance in 2 of 100,000 runs."""
    _agree(5, 10_000, 1, 5.0)


@pytest.mark.long
def test_kernels_agree_with_the_recursion_over_200_plans() -> None:
    """1,000 figures, of which 0.06 are beyond 4 errors by chance; the seed is fixed."""
    _agree(200, 100_000, 2, 4.0)


def test_probabilities_of_a_look_are_those_of_quadrature() -> None:
    """2e-6, for arms with and without data, alike and far apart; in the plain form of the kernel."""
    rng = stream(3, "looks")
    grids, densities = comparing.grids(0.05), comparing.room(3)
    for _ in range(12):
        units = rng.integers(0, 900, 3)
        successes = rng.binomial(units, np.clip(rng.uniform(0.1, 0.9) + rng.normal(0, 0.05, 3), 0.01, 0.99))
        table = np.stack([successes + 1.0, units - successes + 1.0], axis=1)
        level = comparing.level_for(np.sqrt((1 / table).sum(axis=1)).min(), comparing.FINEST)
        for k, (a, b) in enumerate(table):
            comparing.lay_out(densities, k, a, b, level, grids)
        offered, found, right = np.ones(3, dtype=np.int64), np.zeros(3), betas(table)
        comparing.largest(densities, offered, found)
        np.testing.assert_allclose(found, right.largest(), atol=2e-6)
        assert comparing.exceeds(densities, 0, 1) == pytest.approx(right.exceeds(0, 1), abs=2e-6)
        less = comparing.exceeds_less(densities, 0, 1, level, grids)
        assert less == pytest.approx(1 - right.exceeds(0, 1, 0.05), abs=2e-6)
        close = comparing.within(densities, offered, level, grids)
        assert close == pytest.approx(right.within([0, 1, 2], 0.05), abs=2e-6)
