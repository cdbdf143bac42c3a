"""What rules read, against published figures, draws and sums by hand."""

from contextlib import nullcontext
from typing import Any, Literal

import numpy as np
import pytest
from scipy.special import ndtr

from takeup import TS, Evidence, Number, Space, TSCheck, TSObs, TSRobust, Uniform, stream
from takeup.checks import IntArray
from takeup.errors import UnsuitableError
from takeup.policies.bounded_reading import BoundedReading
from takeup.policies.compliers import Moments
from takeup.policies.readings import SENTENCES, Draws, Reading, comparison, sentence
from takeup.specfile import SpecError
from takeup.trial.design import Design

TWO = Space(["usual", "new"])


def _evidence(cells: Any, space: Space = TWO) -> Evidence:
    """From n[z, a, y], all seen."""
    counts = np.zeros(space.table, dtype=np.int64)
    counts[0, :, :-1, : space.outcome.width] = cells
    return Evidence(space, counts)


def _any_cells(rng: np.random.Generator, arms: int) -> IntArray:
    """Proposals with 100 to 400 units each: some do as with the first, and some of the first take the second."""
    take_up, always, rates = rng.uniform(0.3, 1), rng.choice([0, 0.1]), rng.uniform(0.1, 0.9, arms)
    cells = np.zeros((arms, arms, 2), dtype=np.int64)
    for z in range(arms):
        share = (1 - take_up) * np.eye(arms)[0] + take_up * np.eye(arms)[z]
        if z == 0:
            share = (1 - always) * np.eye(arms)[0] + always * np.eye(arms)[1]
        took = rng.multinomial(rng.integers(100, 400), share)
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
    np.testing.assert_allclose([read.exceeds(0, k, -0.05) for k in (1, 2)], [0.5020024, 0.9348027], atol=5e-8)


def test_draws_count_what_quadrature_integrates() -> None:
    """Nine probabilities from 200,000 draws within four errors: a false alarm in 1,800 seeds."""
    cells = np.array([[[12, 9], [0, 0], [0, 0]], [[8, 14], [0, 0], [0, 0]], [[9, 12], [0, 0], [0, 0]]])
    evidence = _evidence(cells, Space(3))
    read = comparison("intention to treat", evidence, TS(), stream(0))
    drawn = Draws(TS().beliefs(evidence, 0, stream(0)).values(stream(1, "draws"), 200_000))
    pairs = [*zip(drawn.largest((0, 1, 2)), read.largest((0, 1, 2)), strict=True)]
    pairs += [(drawn.exceeds(1, 0, m), read.exceeds(1, 0, m)) for m in (0.0, 0.1)]
    pairs += [
        (drawn.exceeds(0, 1, -0.1), read.exceeds(0, 1, -0.1)),
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
    assert drawn.exceeds(0, 1) == drawn.exceeds(1, 0) == pytest.approx(1 / 3)
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


@pytest.mark.parametrize(
    ("kind", "arms", "draws", "rules", "told"),
    [
        ("TSRobust", 2, 1_000, {"superiority": 0.9995}, r"superiority: .*0\.9995.*draws = 1000; raise draws to 20000"),
        ("TSObs", 3, 100, {"superiority": 0.9, "inferiority": 0.01}, "inferiority: .*at least 0.1"),
        ("TSObs", 2, 100, {"equivalence": {"probability": 0.95, "margin": 0.1}}, r"equivalence\.probability"),
        ("TSRobust", 2, 1_000, {"superiority": 0.99, "inferiority": 0.01}, None),
        ("TSObs", 2, 100, {"superiority": 0.9995}, None),
        ("TSCheck", 3, 100, {"superiority": 0.9995}, None),
    ],
)
def test_thresholds_that_draws_cannot_tell_are_refused(
    kind: str, arms: int, draws: int, rules: dict[str, Any], told: str | None
) -> None:
    """Fewer than ten draws beyond a threshold; what has a closed form may have any."""
    more = {"looks": {"at": [40]}, "stopping": {"reading": "policy", **rules}}
    spec = {
        "name": "Any",
        "space": {"proposals": arms},
        "policy": {"kind": kind},
        "draws": draws,
        "looks": {"at": [40]},
    }
    with nullcontext() if told is None else pytest.raises(SpecError, match=told):
        Design.of({**spec, **more})
    Design.of({**spec, **more}, new=False)


@pytest.mark.parametrize("arms", [2, 3])
def test_the_effect_among_compliers_against_draws(arms: int) -> None:
    """Eight tables and five margins, from 100,000 draws of Dirichlet cells with 1 / Ka of a unit in each before.

    Normal is off by at most .006 beyond .1 or .9 and .02 between; four errors of the draws are added.
    """
    rng = stream(4, "compliers", arms)
    for _ in range(8):
        cells = _any_cells(rng, arms)
        read = comparison("compliers", _evidence(cells, Space(arms)), TS(), rng)
        whole = np.stack([rng.dirichlet((each + 1 / arms).ravel(), 100_000) for each in cells], axis=1)
        whole = whole.reshape(-1, arms, arms, 2)
        share, v = whole.sum(axis=-1), whole[..., 1].sum(axis=-1)
        one = arms - 1
        moved = (share[:, one, one] - share[:, 0, one] + share[:, 0, 0] - share[:, one, 0]) / 2
        for margin in (-0.1, 0.0, 0.05, 0.2, 0.8):
            right = float((v[:, one] - v[:, 0] > margin * moved).mean())
            allowed = 4 * np.sqrt(right * (1 - right) / 100_000) + (0.02 if 0.1 < right < 0.9 else 0.006)
            assert abs(read.exceeds(one, 0, margin) - right) < allowed
            assert read.exceeds(0, one, -margin) == pytest.approx(1 - read.exceeds(one, 0, margin))
        assert read.within((one, 0), 0.2) == pytest.approx(read.exceeds(one, 0, -0.2) - read.exceeds(one, 0, 0.2))


def test_the_moments_of_cells_by_hand() -> None:
    """Cells (3, 1, 2, 4) with half a unit more in each: sums of parts of a Dirichlet distribution with 12 units.

    Successes are Beta(6, 6), those who take the second action Beta(7, 5); a cell that is in both has 4.5 units, so that
    their covariance is (4.5 / 12 - 6 / 12 * 7 / 12) / 13.
    """
    cells = Moments.of(_evidence(np.array([[[3, 1], [2, 4]]] * 2)), TS(), stream(0), 0)
    second = np.array([[0.0, 1.0]] * 2)
    np.testing.assert_allclose(cells.value, 6 / 12)
    np.testing.assert_allclose(cells.value_variance, 6 * 6 / (12**2 * 13))
    np.testing.assert_allclose(cells.spread(second, second), 7 * 5 / (12**2 * 13))
    np.testing.assert_allclose(cells.spread(cells.mean, second), (4.5 / 12 - 6 / 12 * 7 / 12) / 13)


def test_an_effect_among_compliers_by_hand() -> None:
    """A sum Σ w p of Dirichlet parts has variance (E w² - (E w)²) / (units + 1); here w = y - m (a = 1) up to m / 2."""
    cells, margin = np.array([[[30, 10], [0, 0]], [[12, 6], [6, 24]]]), 0.5
    read = comparison("compliers", _evidence(cells), TS(), stream(0))
    w = np.array([[0.0, 1.0], [-margin, 1 - margin]])
    units = (cells + 0.5).sum(axis=(1, 2))
    mean, square = (((cells + 0.5) * each).sum(axis=(1, 2)) / units for each in (w, w**2))
    deviation = np.sqrt(((square - mean**2) / (units + 1)).sum())
    assert read.exceeds(1, 0, margin) == pytest.approx(float(ndtr((mean[1] - mean[0]) / deviation)))


def test_a_bounded_reading_with_nothing_moved_is_intention_to_treat() -> None:
    """By the normal approximation: 100 of 400 against 130 of 400."""
    cells = np.array([[[300, 100], [0, 0]], [[120, 40], [150, 90]]])
    read = comparison(BoundedReading(np.full(2, 0.1), 0, np.zeros((2, 2, 2, 2))), _evidence(cells), TS(), stream(0))
    treated = comparison("intention to treat", _evidence(cells), TS(), stream(0))
    for margin in (-0.05, 0.0, 0.05, 0.1):
        assert read.exceeds(1, 0, margin) == pytest.approx(treated.exceeds(1, 0, margin), abs=0.005)


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
    nothing_moved = BoundedReading(np.zeros(2), 0, np.zeros((2, 2, 2, 2)))
    bounded = comparison(nothing_moved, evidence, TS(), rng, 4_000)
    for margin in (2.5, 3.0, 3.5):
        assert bounded.exceeds(1, 0, margin) == pytest.approx(treated.exceeds(1, 0, margin), abs=0.05)


@pytest.mark.parametrize("better", ["higher", "lower"])
def test_bounded_numbers_are_plain_means_whatever_the_range(better: Literal["higher", "lower"]) -> None:
    """Numbers around 20 or 80 in 0 to 100 are not drawn to its middle, and nothing moved is the two-sample z.

    The variance of a cell is that of its numbers, with one more unit that is the prior's.
    """
    outcome = Number(0, 100, 1, better=better)
    space, rng, sign = Space(2, outcomes=outcome), stream(8, "means"), 1 if better == "higher" else -1
    nothing_moved = BoundedReading(np.zeros(2), 0, np.zeros((2, 2, 2, 2)))
    prior = float(TS().prior(space).block.square[0, 0])  # type: ignore[attr-defined]
    for centre in (20, 80):
        counts, estimate, variance = np.zeros(space.table, dtype=np.int64), 0.0, 0.0
        for z in (0, 1):
            took = (np.arange(50) < 30).astype(int) * z
            y = np.rint(centre + 7 * took + 5 * rng.standard_normal(50)).astype(np.int64)
            np.add.at(counts[0, z], took, outcome.amounts(y))
            estimate += (2 * z - 1) * sign * y.mean()
            for cell in (y[took == a] for a in (0, 1) if (took == a).any()):
                spread = (cell.size * cell.var() + prior) / cell.size
                variance += (cell.size / 50) ** 2 * spread / cell.size + cell.size / 50**2 * (
                    cell.mean() - y.mean()
                ) ** 2
        found = comparison(nothing_moved, Evidence(space, counts), TS(), rng)
        assert found.exceeds(1, 0) == pytest.approx(ndtr(estimate / np.sqrt(variance)), abs=1e-9)


def test_every_reading_says_what_it_assumes() -> None:
    assert {sentence(name) for name in SENTENCES} == set(SENTENCES.values())
    assert sentence("bounded", 0.05).endswith("the bound, 0.05.")
    space = Space(2, contexts=2)
    with pytest.raises(UnsuitableError, match="more than one context"):
        comparison("policy", Evidence.empty(space), TS(), stream(0))
    with pytest.raises(UnsuitableError, match="control"):
        comparison("compliers", Evidence.empty(TWO), TS(), stream(0)).largest((0, 1))
    with pytest.raises(UnsuitableError, match="another action"):
        comparison("compliers", Evidence.empty(Space(2, intended=[0, 0])), TS(), stream(0))


def test_what_all_outcomes_have_in_common_changes_nothing() -> None:
    """Worth 0 and 1, or a million and a hundredth more: margins in proportion are exceeded as probably.

    Utilities of a million are off by 1e-10, a hundred-millionth of what they differ by.
    """
    cells = np.array([[[30, 10], [0, 0]], [[12, 6], [6, 24]]])
    high = Space(["usual", "new"], utility=[1e6, 1e6 + 0.01])
    bounded = [BoundedReading(np.full(2, each), 0, np.full((2, 2, 2, 2), 0.1)) for each in (0.1, 0.001)]
    pairs: list[tuple[Reading, Reading]] = [("compliers", "compliers"), (bounded[0], bounded[1])]
    for plain, other in pairs:
        one = comparison(plain, _evidence(cells), TS(), stream(0))
        same = comparison(other, _evidence(cells, high), TS(), stream(0))
        for margin in (-0.2, 0.1, 0.3, 0.5):
            assert same.exceeds(1, 0, margin / 100) == pytest.approx(one.exceeds(1, 0, margin), abs=1e-6)
        assert same.within((1, 0), 0.003) == pytest.approx(one.within((1, 0), 0.3), abs=1e-6)


def test_numbers_are_read_from_the_lowest_on() -> None:
    """Numbers from 0 on, and the same a million higher: the same probabilities from the same draws."""
    read = []
    for low in (0, 1_000_000):
        space = Space(2, outcomes=Number(low, low + 1, 0.01))
        counts = np.zeros(space.table, dtype=np.int64)
        for z in (0, 1):
            y = space.outcome.amounts(np.arange(20, 60) + 10 * z)
            np.add.at(counts[0, z], np.arange(40) % 2 * z, y)
        read.append(comparison("compliers", Evidence(space, counts), TS(), stream(8), 400))
    np.testing.assert_allclose(read[1].exceeds(1, 0, 0.15), read[0].exceeds(1, 0, 0.15), atol=1e-5)
