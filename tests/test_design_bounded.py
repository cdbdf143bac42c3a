"""The bounded reading: its figures, its program against other ways to solve it, and its error in simulated trials."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import ndtr

from takeup.checks import FloatArray
from takeup.design.bounded import Bounded, bounded, moves, reading_of
from takeup.design.cells import Cells
from takeup.design.plan import Plan
from takeup.design.sizes import Goal
from takeup.errors import InputError, UnsuitableError
from takeup.policies.bounded_reading import BoundedComparison, BoundedReading, CellMeans
from takeup.policies.judging import FUTILE, GOING_ON, SUPERIOR, Rules, Standing, judge
from takeup.randomness import stream

GOAL = Goal()
NEED = GOAL.critical + GOAL.margin


def test_the_bounded_reading_lies_between_its_two_ends() -> None:
    """Patients in both arms together for rates .25 and .35, one-sided 2.5 %, 80 % power, by what is promised."""
    promises = (0, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2)
    for take_up, expected in (
        (0.6, (805, 903, 1_012, 1_131, 1_387, 1_661, 1_740, 1_740)),
        (0.8, (692, 738, 785, 831, 914, 983, 998, 998)),
    ):
        found = [bounded(Cells.rates(0.25, 0.35, take_up), promise).size.units for promise in promises]
        np.testing.assert_allclose(found, expected, atol=0.5)


def test_no_promise_is_intention_to_treat_and_a_full_one_reads_compliance_and_outcomes_apart() -> None:
    """λ = 0, and λ = 1 - c / (2 - c)."""
    cells = Cells.rates(0.25, 0.35, 0.6)
    np.testing.assert_array_equal(bounded(cells, 1.0).moved, 0)
    np.testing.assert_allclose(bounded(cells, 0.0).moved, [[0.0, 0.0], [0.6 / 1.4 - 1, 0.0]], atol=1e-12)
    both = bounded(cells, 0.02)
    lam, c = -both.moved[1, 0], 0.6
    np.testing.assert_allclose(both.weights, [[lam - 1, 0], [1 - c - lam, c]], atol=1e-12)
    assert both.bias == pytest.approx(lam * c * 0.02, abs=1e-15)


def _closed(cells: Cells, bound: float) -> float:
    """The size for two proposals and even allocation, from one equation in one unknown.

    The variance of action a is h (λ - best)^2 and a rest, so that λ = max(0, best - k Δ d / h) for one k, which is the
    variance over what the bias leaves of the effect.
    """
    s2, c, d = cells.sd**2, cells.share, cells.apart[1]
    free = (c > 0).all(axis=0)
    safe = np.where(c > 0, c, 1.0)
    h = 2 * (s2 / safe).sum(axis=0)
    best = 2 * s2.sum(axis=0) / h
    fixed = 2 * float((s2 * c).sum(axis=0)[~free].sum())

    def sizes(k: float) -> tuple[float, float]:
        lam = np.where(free, np.maximum(0.0, best - k * bound * d / h), 0.0)
        variance = fixed + float((2 * s2 / safe * (c - lam) ** 2).sum(axis=0)[free].sum())
        return variance, abs(cells.effect()) - bound * float(lam @ d)

    def off(k: float) -> float:
        variance, left = sizes(k)
        return k * left - variance

    highest = float(np.max(np.where(free & (d > 0), best * h / np.maximum(bound * d, 1e-300), 0.0)))
    if bound == 0:
        k = 0.0
    elif off(highest) < 0:  # whatever is promised is worth nothing
        k = highest
    else:
        k = float(brentq(off, 0, highest, xtol=1e-14, rtol=1e-14))
    variance, left = sizes(k)
    return variance * (NEED / left) ** 2


def _any_cells(rng: np.random.Generator, proposals: int, actions: int) -> Cells:
    share = rng.dirichlet(np.ones(actions), proposals)
    share[rng.random(share.shape) < 0.2] = 0
    share[:, 0] += 1 - share.sum(axis=1)
    return Cells.of(share, rng.normal(0, 1, (proposals, actions)), rng.uniform(0.2, 2, (proposals, actions)))


def test_the_program_is_solved_as_one_equation_solves_it() -> None:
    """Two proposals, two to four actions, any compliance; where the bias could hide the effect as well."""
    rng = stream(1, "program")
    for _ in range(200):
        cells = _any_cells(rng, 2, int(rng.integers(2, 5)))
        bound = float(rng.choice([0.0, 0.01, 0.1, 0.5, 3.0])) * abs(cells.effect())
        assert bounded(cells, bound).size.units == pytest.approx(_closed(cells, bound), rel=1e-7)


def test_no_other_weights_of_several_proposals_need_fewer() -> None:
    """Four proposals: from where the program ends neither steps by chance nor another method find a smaller size."""
    rng = stream(2, "program")
    for _ in range(8):
        cells = _any_cells(rng, 4, 3)
        bound = 0.05 * abs(cells.effect(2))
        found = bounded(cells, bound, one=2)

        def size(moved: FloatArray, found: Bounded = found) -> float:
            other = Bounded(found.cells, found.bound, moved, 2, GOAL, found.allocation)
            left = abs(found.cells.effect(2)) - other.bias
            return np.inf if left <= 0 else other.size.units

        least, free = found.size.units, (cells.share > 0) & (cells.share[0] > 0)
        free[0] = False
        for scale in (1e-4, 1e-2, 0.3):
            for _ in range(100):
                assert size(found.moved + scale * rng.normal(size=free.shape) * free) >= least * (1 - 1e-12)

        def other(x: FloatArray, free: Any = free) -> float:
            moved = np.zeros(free.shape)
            moved[free] = x
            return min(size(moved), 1e12)

        for _ in range(2):
            start = rng.normal(0, 0.05, int(free.sum()))
            assert minimize(other, start, method="Powell").fun >= least * (1 - 1e-9)


def test_the_shortest_interval_is_of_the_least_size_for_an_effect_of_its_length() -> None:
    """At as many units as an effect needs, bias + (1.96 + 0.84) errors is that effect, by the same weights."""
    for bound in (0.0, 0.02, 0.05, 0.3):
        one = bounded(Cells.rates(0.25, 0.35, 0.6), bound)
        even = np.array([0.5, 0.5])
        found = moves(one.cells, one.cells.against_control(), one.bound, even, NEED / np.sqrt(one.size.units))
        np.testing.assert_allclose(found.shortest(), one.moved, atol=1e-7)


def test_several_treatments_help_each_other_and_two_sides_need_both_promises() -> None:
    """Who refuses another treatment is one more without any; a promise about one action leaves the other alone."""
    pair = bounded(Cells.rates(0.25, 0.35, 0.6), 0.02)
    three = bounded(Cells.rates(0.25, (0.35, 0.35), 0.6), 0.02)
    assert three.size.units * 2 / 3 < pair.size.units - 20
    cells = Cells.rates(0.25, 0.35, 0.7, two_sided=0.1)
    np.testing.assert_allclose(cells.share, [[0.9, 0.1], [0.3, 0.7]])
    without, also, none = (bounded(cells, each) for each in ((0.01, 9), (0.01, 0.01), (9, 9)))
    assert also.size.units < without.size.units < none.size.units
    np.testing.assert_array_equal(without.moved[:, 1], 0)


def test_other_outcomes_are_read_by_their_means_and_variances() -> None:
    """Means half an sd apart: 2 (2.80 / .5)^2 a group; counts by their rates; times by those within the watch."""
    full = bounded(Cells.means(0.0, 0.5, 1.0, 1.0), 0.0)
    assert full.size.units == pytest.approx(4 * (NEED / 0.5) ** 2)
    events = Cells.counts(1.0, 0.8, 0.7, exposure=2)
    np.testing.assert_allclose(events.sd[0], np.sqrt([0.5, 0.4]))
    rng = stream(3, "times")
    found = np.minimum(rng.exponential(1 / 0.5, 400_000), 3.0)
    times = Cells.times(0.5, 0.3, 0.6, longest=3.0)
    assert times.mean[0, 0] == pytest.approx(found.mean(), abs=4 * found.std() / np.sqrt(400_000))
    assert times.sd[0, 0] == pytest.approx(found.std(), rel=0.01)
    for cells in (Cells.means(0, 0.5, 1, 0.6), events, times):
        sizes = [bounded(cells, share * abs(cells.effect())).size.units for share in (0, 0.2, 0.5, 100)]
        assert sizes == sorted(sizes)
        assert sizes[0] < 0.6 * sizes[-1]


def _naive(units: Any, mean: Any, variance: Any, reading: BoundedReading, i: int, j: int) -> tuple[float, float, float]:
    """The formulas of the reading, one cell after another."""
    proposals, actions = len(units), len(units[0])
    offered = [sum(row) for row in units]
    c = [[units[z][a] / offered[z] for a in range(actions)] for z in range(proposals)]
    weight = [[(z == i) * c[z][a] - (z == j) * c[z][a] for a in range(actions)] for z in range(proposals)]
    bias = 0.0
    for z in range(proposals):
        for a in range(actions):
            if units[z][a] < 2 or units[reading.control][a] < 2:
                continue
            best = (1 / offered[z] + 1 / offered[reading.control]) / (1 / units[z][a] + 1 / units[reading.control][a])
            step = min(max(reading.moved[i, j, z, a], -best), best)
            weight[z][a] += step
            weight[reading.control][a] -= step
            low, high = sorted([c[z][a], c[reading.control][a]])
            bias += reading.bound[a] * abs(step) * (1 - low / high)
    estimate = spread = 0.0
    for z in range(proposals):
        for a in range(actions):
            if units[z][a]:
                estimate += weight[z][a] * mean[z][a]
                spread += weight[z][a] ** 2 * variance[z][a] / units[z][a]
    for z in (i, j):
        centre = sum(c[z][a] * mean[z][a] for a in range(actions))
        spread += sum(c[z][a] * (mean[z][a] - centre) ** 2 for a in range(actions)) / offered[z]
    return estimate, bias, spread**0.5


def test_estimate_bias_and_error_are_those_of_the_formulas() -> None:
    """Three proposals, four trials at once, cells that are empty or have a single unit among them."""
    rng = stream(4, "reading")
    units = rng.integers(0, 12, (4, 3, 3)).astype(float)
    units[..., 0] += 3
    mean, variance = rng.normal(size=units.shape), rng.uniform(0.5, 2, units.shape)
    moved = rng.normal(0, 0.3, (3, 3, 3, 3))
    moved[:, :, 1] = 0
    reading = BoundedReading(np.array([0.1, 0.2, 0.3]), 1, moved)
    found = reading.of(CellMeans(units, mean, variance))
    assert (units < 2).any()
    for trial in range(4):
        for i in range(3):
            for j in range(3):
                if i == j:
                    continue
                right = _naive(units[trial], mean[trial], variance[trial], reading, i, j)
                ours = [each[trial, i, j] for each in (found.estimate, found.bias, found.error)]
                np.testing.assert_allclose(ours, right, atol=1e-12)
                one = reading.of(CellMeans(units[trial], mean[trial], variance[trial]))
                assert one.exceeds(i, j, 0.1) == pytest.approx(ndtr((right[0] - right[1] - 0.1) / right[2]), abs=1e-12)


def test_nothing_moved_is_intention_to_treat() -> None:
    """The difference of two means, and the root of the sum of their variances over their units."""
    counts = np.array([[[60, 20], [5, 15]], [[30, 10], [20, 40]]])
    found = BoundedReading(np.zeros(2), 0, np.zeros((2, 2, 2, 2))).of(CellMeans.of_counts(counts, np.array([0.0, 1.0])))
    low, high = 35 / 100, 50 / 100
    assert found.estimate[1, 0] == pytest.approx(high - low)
    assert found.error[1, 0] == pytest.approx(np.sqrt(low * (1 - low) / 100 + high * (1 - high) / 100), rel=0.01)
    assert found.exceeds(1, 0) + found.exceeds(0, 1) == pytest.approx(1)


def test_every_claim_is_made_against_the_bias() -> None:
    """An estimate of .02 that may be off by .05, with an error of .01: superior, inferior, futile and equivalent.

    P(better) is from Φ(-3) to Φ(7): neither superior nor inferior. It exceeds by less than .08 with Φ(1), by
    less than .05 with Φ(-2) or more; within .08 it is with Φ(1), as where all of the bias is there.
    """
    estimate, bias, error = np.array([[0, -0.02], [0.02, 0]]), np.full((2, 2), 0.05), np.full((2, 2), 0.01)
    compared = BoundedComparison(estimate, bias, error, np.full((2, 2), True))
    assert compared.exceeds(1, 0) == pytest.approx(ndtr(-3))
    assert 1 - compared.exceeds(0, 1) == pytest.approx(ndtr(7))
    assert compared.exceeds(0, 1, -0.08) == pytest.approx(ndtr(1))
    assert compared.within((1, 0), 0.08) == pytest.approx(ndtr(1), abs=1e-12)
    start = Standing.of(2, Rules(control=0))
    every = {"superiority": np.array([0.9]), "inferiority": np.array([0.1]), "control": 0}
    assert judge(compared, Rules(**every), 0, start).status == GOING_ON  # type: ignore[arg-type]  # by their names
    futile = Rules(futility=np.array([0.8]), futility_margin=0.08, control=0)
    assert judge(compared, futile, 0, start).status == FUTILE
    near = Rules(futility=np.array([0.8]), futility_margin=0.05, control=0)
    assert judge(compared, near, 0, start).status == GOING_ON
    sure = BoundedComparison(estimate * 5, bias, error, np.full((2, 2), True))
    assert judge(sure, Rules(**every), 0, start).status == SUPERIOR  # type: ignore[arg-type]  # likewise
    with pytest.raises(UnsuitableError, match="control"):
        compared.largest((0, 1))


def test_nothing_is_claimed_before_two_were_asked() -> None:
    counts = np.zeros((2, 1, 2), dtype=np.int64)
    counts[0, 0] = 0, 50
    counts[1, 0] = 1, 0
    found = BoundedReading(np.zeros(1), 0, np.zeros((2, 2, 2, 1))).of(CellMeans.of_counts(counts, np.array([0.0, 1.0])))
    assert (found.exceeds(0, 1), found.exceeds(1, 0), found.within((0, 1), 0.5)) == (0, 0, 0)


PLAN: dict[str, Any] = {
    "name": "Promised",
    "space": {"proposals": ["usual", "new", "other"]},
    "policy": {"kind": "Uniform"},
    "looks": {"at": [500, 1_518]},
    "stopping": {"superiority": 0.975, "control": "usual", "reading": {"bounded": 0.02}},
    "scenarios": {
        "null": {"role": "null", "success": [0.25, 0.25, 0.25]},
        "better": {"success": [0.25, 0.35, 0.35], "take_up": 0.6},
    },
}


def test_the_weights_of_a_plan_are_those_of_the_promise_at_the_last_look() -> None:
    """1,518 units of three arms are 1,012 of two: what the bounded reading of two arms needs at that promise."""
    reading, right = reading_of(Plan.of(PLAN)), bounded(Cells.rates(0.25, 0.35, 0.6), 0.02)
    for one in (1, 2):
        np.testing.assert_allclose(reading.moved[one, 0, one], [right.moved[1, 0], 0, 0], atol=1e-3)
        np.testing.assert_array_equal(reading.moved[one, 0, [0, 3 - one]], 0)
    np.testing.assert_array_equal(reading.moved, -reading.moved.swapaxes(0, 1))
    with pytest.raises(InputError, match=r"stopping\.reading"):
        reading_of(Plan.of({**PLAN, "stopping": {"control": "usual"}}))
