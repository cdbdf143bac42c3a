"""What rules read, against published figures, draws and sums by hand."""

from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from takeup import TS, Evidence, Number, Space, TSCheck, TSObs, TSRobust, Uniform, stream
from takeup.checks import FloatArray, IntArray
from takeup.design.bounded import Cells, bounded
from takeup.errors import UnsuitableError
from takeup.policies.readings import SENTENCES, Bounded, Draws, comparison, sentence

TWO = Space(["usual", "new"])


def _evidence(cells: Any, space: Space = TWO) -> Evidence:
    """From n[z, a, y], all seen."""
    counts = np.zeros(space.table, dtype=np.int64)
    counts[0, :, :-1, : space.outcome.width] = cells
    return Evidence(space, counts)


def _any_cells(rng: np.random.Generator) -> IntArray:
    """Two proposals with 100 to 400 units each, of whom some do otherwise; rates from .1 to .9."""
    take_up, always, rates = rng.uniform(0.3, 1), rng.choice([0, 0.1]), rng.uniform(0.1, 0.9, 2)
    cells = np.zeros((2, 2, 2), dtype=np.int64)
    for z, taking in enumerate((always, take_up)):
        took = rng.multinomial(rng.integers(100, 400), [1 - taking, taking])
        cells[z, :, 1] = rng.binomial(took, rates)
        cells[z, :, 0] = took - cells[z, :, 1]
    return cells


def test_intention_to_treat_reads_the_published_figures() -> None:
    """Events of 25/100, 24/120 and 24/80, fewer being better, as adaptr reads them; who took what does not matter."""
    space = Space(["A", "B", "C"], outcomes=["none", "event"], utility=[1, 0])
    events, units = np.array([25, 24, 24]), np.array([100, 120, 80])
    cells = np.zeros((3, 3, 2), dtype=np.int64)
    cells[:, 0] = np.stack([units - events - 10, events - 5], axis=1)
    cells[:, 2] = [10, 5]
    read = comparison("intention to treat", _evidence(cells, space), TS(), stream(0))
    np.testing.assert_allclose(read.largest((0, 1, 2)), [0.1774682, 0.7868545, 0.0356773], atol=5e-8)
    np.testing.assert_allclose([read.exceeds(k, 0) for k in (1, 2)], [0.8128285, 0.2260860], atol=5e-8)
    np.testing.assert_allclose([read.within((k, 0), 0.05) for k in (1, 2)], [0.4649643, 0.4364964], atol=5e-8)
    np.testing.assert_allclose([read.less(k, 0, 0.05) for k in (1, 2)], [0.5020024, 0.9348027], atol=5e-8)


def test_draws_count_what_quadrature_integrates() -> None:
    """Nine probabilities from 200,000 draws within four errors: a false alarm in 1,800 seeds."""
    cells = np.array([[[12, 9], [0, 0], [0, 0]], [[8, 14], [0, 0], [0, 0]], [[9, 12], [0, 0], [0, 0]]])
    evidence = _evidence(cells, Space(3))
    read = comparison("intention to treat", evidence, TS(), stream(0))
    drawn = Draws(TS().beliefs(evidence, 0, stream(0)).values(stream(1, "draws"), 200_000))
    pairs = [*zip(drawn.largest((0, 1, 2)), read.largest((0, 1, 2)), strict=True)]
    pairs += [(drawn.exceeds(1, 0, m), read.exceeds(1, 0, m)) for m in (0.0, 0.1)]
    pairs += [
        (drawn.less(1, 0, 0.1), read.less(1, 0, 0.1)),
        (drawn.within((0, 1, 2), 0.2), read.within((0, 1, 2), 0.2)),
    ]
    pairs += [*zip(drawn.largest((0, 2)), read.largest((0, 2)), strict=True)]
    for counted, right in pairs:
        assert abs(counted - right) < 4 * drawn.error(right)


def test_draws_that_tie_count_in_part() -> None:
    """Rows (1, 1, 0), (2, 0, 2), (0, 3, 1): 1/2 + 1/2, 1/2 + 1 and 1/2, by three."""
    drawn = Draws(np.array([[1.0, 1.0, 0.0], [2.0, 0.0, 2.0], [0.0, 3.0, 1.0]]))
    np.testing.assert_allclose(drawn.largest((0, 1, 2)), np.array([1, 1.5, 0.5]) / 3)
    np.testing.assert_allclose(drawn.largest((2, 0)), np.array([1.5, 1.5]) / 3)
    assert drawn.exceeds(0, 1) == drawn.less(0, 1, 0) == pytest.approx(1 / 3)
    assert drawn.within((0, 1), 2.5) == pytest.approx(2 / 3)


def test_the_policys_own_model() -> None:
    """TS-Check reads compliers, TS-Obs the product, TS-Robust its draws; Uniform has nothing to read."""
    cells = np.array([[[30, 20], [0, 0]], [[9, 6], [13, 22]]])
    evidence, rng = _evidence(cells), stream(3, "draws")
    check = comparison("policy", evidence, TSCheck(), rng)
    alone = _evidence(np.array([[[30, 20], [0, 0]], [[0, 0], [13, 22]]]))
    assert check.exceeds(1, 0, 0.1) == comparison("intention to treat", alone, TS(), rng).exceeds(1, 0, 0.1)
    for policy in (TSObs(), TSRobust()):
        read = comparison("policy", evidence, policy, rng, 20_000)
        values = policy.beliefs(evidence, 0, rng).values(rng, 200_000)
        better = float((values[:, 1] > values[:, 0]).mean())
        assert abs(read.exceeds(1, 0) - better) < 4 * 0.5 / np.sqrt(20_000)
        np.testing.assert_allclose(read.largest((1, 0)), [read.exceeds(1, 0), read.exceeds(0, 1)], atol=1e-12)
    exact = comparison("policy", evidence, TSObs(), rng, 10)
    assert exact.exceeds(1, 0) == TSObs().allocation(evidence, 0, rng).probability[1]
    with pytest.raises(UnsuitableError, match="Uniform has no model"):
        comparison("policy", evidence, Uniform(), rng)


def _drawn(cells: IntArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Shares π[z, a] and means μ[z, a] in 100,000 draws of Dirichlet cells with half a unit in each before."""
    whole = np.stack([rng.dirichlet((each + 0.5).ravel(), 100_000).reshape(-1, 2, 2) for each in cells], axis=1)
    share = whole.sum(axis=-1)
    return share, whole[..., 1] / share


def test_the_effect_among_compliers_against_draws() -> None:
    """Twelve tables and four margins. Normal is off by at most .006 beyond .1 or .9 and .02 between; draws by 4 sd."""
    rng = stream(4, "compliers")
    for _ in range(12):
        cells = _any_cells(rng)
        read = comparison("compliers", _evidence(cells), TS(), rng)
        share, mean = _drawn(cells, rng)
        v = (share * mean).sum(axis=-1)
        for margin in (-0.1, 0.0, 0.05, 0.2):
            right = float((v[:, 1] - v[:, 0] > margin * (share[:, 1, 1] - share[:, 0, 1])).mean())
            allowed = 4 * np.sqrt(right * (1 - right) / 100_000) + (0.02 if 0.1 < right < 0.9 else 0.006)
            assert abs(read.exceeds(1, 0, margin) - right) < allowed
            assert read.less(1, 0, margin) == 1 - read.exceeds(1, 0, margin)
        assert read.within((1, 0), 0.2) == pytest.approx(read.exceeds(1, 0, -0.2) - read.exceeds(1, 0, 0.2))


def test_the_moments_of_a_bounded_estimate_against_draws() -> None:
    """Mean and error of (v_1 - v_0) - Σ λ (μ_1 - μ_0) in 100,000 draws: within four errors, and 2 %."""
    rng = stream(5, "bounded")
    for lam in ([0.0, 0.0], [0.5, 0.0], [0.3, 0.2]):
        cells = _any_cells(rng)
        cells[:, :, :] += 20
        read = comparison(Bounded(0.05, lam), _evidence(cells), TS(), rng)
        share, mean = _drawn(cells, rng)
        drawn = ((share - lam) * mean).sum(axis=-1)
        right = drawn[:, 1] - drawn[:, 0]
        estimate, error, bias = read.estimate(1, 0)  # type: ignore[attr-defined]
        assert abs(estimate - right.mean()) < 4 * right.std() / np.sqrt(100_000)
        assert error == pytest.approx(right.std(), rel=0.02)
        c = share.mean(axis=0)
        worst = 0.05 * sum(abs(each) * (1 - c[:, a].min() / c[:, a].max()) for a, each in enumerate(lam))
        assert bias == pytest.approx(worst, abs=1e-4)


def test_a_bounded_reading_by_hand() -> None:
    """Λ = 0 is intention to treat by the normal approximation; else c T + (1 - c - λ) R - (1 - λ) Z, less λ c Δ."""
    units = 100_000  # the prior does not matter then
    share, mean = np.array([[1.0, 0.0], [0.4, 0.6]]), np.array([[0.25, 0.3], [0.2, 0.4]])
    cells = np.stack([units * share * (1 - mean), units * share * mean], axis=-1).round().astype(np.int64)
    evidence, v = _evidence(cells), (share * mean).sum(axis=1)
    none = comparison(Bounded(0.05, 0.0), evidence, TS(), stream(0))
    error = np.sqrt((v * (1 - v)).sum() / units)
    for margin in (0.06, 0.07, 0.08):
        assert none.exceeds(1, 0, margin) == pytest.approx(float(ndtr((v[1] - v[0] - margin) / error)), abs=2e-3)
        assert none.less(1, 0, margin) == pytest.approx(1 - none.exceeds(1, 0, margin))
    lam = 1 - 0.6 / 1.4
    some: Any = comparison(Bounded(0.05, [lam, 0.0]), evidence, TS(), stream(0))
    estimate, _, bias = some.estimate(1, 0)
    assert estimate == pytest.approx(0.6 * 0.4 + (0.4 - lam) * 0.2 - (1 - lam) * 0.25, abs=1e-4)
    assert bias == pytest.approx(lam * 0.6 * 0.05, abs=1e-5)
    assert some.exceeds(1, 0, 0.1) + some.less(1, 0, 0.1) < 1
    assert some.within((0, 1), 0.3) == pytest.approx(some.less(1, 0, 0.3) + some.less(0, 1, 0.3) - 1)


def test_the_size_of_a_bounded_design_has_its_power() -> None:
    """At the size that `bounded` finds, 2,000 trials of two arms: 80 % within four errors (one seed in 15,000)."""
    chosen = bounded(Cells.rates(0.25, 0.35, 0.6), 0.05)
    units, rng, claims = round(chosen.size.units / 2), stream(6, "power"), 0
    shares = np.array([[0.75, 0.25, 0.0, 0.0], [0.4 * 0.75, 0.4 * 0.25, 0.6 * 0.65, 0.6 * 0.35]])
    for _ in range(2_000):
        cells = np.stack([rng.multinomial(units, each) for each in shares]).reshape(2, 2, 2)
        read = comparison(Bounded(0.05, chosen.lam), _evidence(cells), TS(), rng)
        claims += read.exceeds(1, 0) > 0.975
    assert abs(claims / 2_000 - 0.8) < 4 * np.sqrt(0.16 / 2_000)


def test_numbers_are_read_too() -> None:
    """Compliers half a sd better, 60 of 100 taking it: the effect is near 5, what proposing is worth near 3."""
    space, rng = Space(2, outcomes=Number(0, 100, 1)), stream(7, "numbers")
    counts = np.zeros(space.table, dtype=np.int64)
    for z in (0, 1):
        took = (rng.random(2_000) < 0.6).astype(int) * z
        y = np.clip(np.rint(50 + 5 * took + 10 * rng.standard_normal(2_000)), 0, 100).astype(np.int64)
        np.add.at(counts[0, z], took, space.outcome.amounts(y))
    evidence = Evidence(space, counts)
    treated = comparison("intention to treat", evidence, TS(), rng)
    compliers = comparison("compliers", evidence, TS(), rng, 4_000)
    assert treated.exceeds(1, 0, 2.0) > 0.99 > 0.01 > treated.exceeds(1, 0, 4.0)
    assert compliers.exceeds(1, 0, 3.5) > 0.99 > 0.01 > compliers.exceeds(1, 0, 6.5)
    assert compliers.exceeds(1, 0) == treated.exceeds(1, 0)
    none = comparison(Bounded(0.0, 0.0), evidence, TS(), rng, 4_000)
    assert none.exceeds(1, 0, 3.0) == pytest.approx(treated.exceeds(1, 0, 3.0), abs=0.05)


def test_every_reading_says_what_it_assumes() -> None:
    assert {sentence(name) for name in SENTENCES} == set(SENTENCES.values())
    assert sentence(Bounded(0.05, 0.0)).endswith("the bound, 0.05.")
    space = Space(2, contexts=2)
    with pytest.raises(UnsuitableError, match="more than one context"):
        comparison("policy", Evidence.empty(space), TS(), stream(0))
    for reading in ("compliers", Bounded(0.1, 0.0)):
        with pytest.raises(UnsuitableError, match="control"):
            comparison(reading, Evidence.empty(TWO), TS(), stream(0)).largest((0, 1))
