"""The conditional exact test: against the sum over all histories, and against figures that others computed."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import xlogy

import naive
from replayed_trials import design_of, lived
from takeup import Log, UnsuitableError
from takeup.analysis.conditional import conditional_exact, conditional_p, p_of, tables_of
from takeup.analysis.tested import Alternative
from takeup.checks import FloatArray, IntArray

RATES = np.array([[0.3, 0.7]])


def size_of(n_0: int, s_0: int, n_1: int, s_1: int) -> float:
    """The difference of rates in units of its error, as the statistic's definition reads."""
    r_0, r_1 = (s_0 + 0.5) / (n_0 + 1), (s_1 + 0.5) / (n_1 + 1)
    return float((r_1 - r_0) / np.sqrt(r_0 * (1 - r_0) / (n_0 + 1) + r_1 * (1 - r_1) / (n_1 + 1)))


@pytest.mark.parametrize("at", [[2, 4, 6], [2, 4], [3]])
@pytest.mark.parametrize("update", ["patient", "look"])
def test_p_is_the_sum_over_all_histories_with_as_many_successes(update: str, at: list[int]) -> None:
    """Six decisions: all proposals and all outcomes with the same total, P(best) as a fraction of whole numbers.

    Those who come after the last look are offered what was offered before it.
    """
    design = design_of(limits={"floor": 0.1}, burn_in=2, looks={"at": at, "update": update})
    for seed in (1, 3):
        log = lived(design, 6, seed, RATES)
        successes, weight, size = int(log.outcome.sum()), [], []
        for z in product((0, 1), repeat=6):
            for y in product((0, 1), repeat=6):
                if sum(y) != successes:
                    continue
                chance, table, share = 1.0, np.zeros((2, 2), dtype=int), 0.5
                for t in range(6):
                    if (update == "patient" and 2 <= t <= at[-1]) or (update == "look" and t in at[:-1]):
                        pairs = [(int(good) + 1, int(bad) + 1) for good, bad in table]
                        share = float(np.clip(float(naive.largest_exactly(pairs)[0]), 0.1, 0.9))
                    chance *= 1 - share if z[t] else share
                    table[z[t], 1 - y[t]] += 1
                weight.append(chance)
                size.append(size_of(table[0].sum(), table[0, 0], table[1].sum(), table[1, 0]))
        own = [log.outcome[log.proposal == k] for k in (0, 1)]
        least = size_of(own[0].size, own[0].sum(), own[1].size, own[1].sum())
        sides: dict[Alternative, Any] = {"two-sided": np.abs, "larger": np.positive, "smaller": np.negative}
        for side, of in sides.items():
            right = np.sum(weight, where=of(size) >= of(least) - 1e-9) / np.sum(weight)
            assert conditional_exact(log, design, "new", "usual", alternative=side).p == pytest.approx(right, rel=1e-10)
        turned = conditional_exact(log, design, "usual", "new", alternative="smaller")
        assert turned.p == conditional_exact(log, design, "new", "usual", alternative="larger").p
        assert not turned.two_sided


def rejecting(design: Any, units: int, most: int, rates: list[tuple[float, float]]) -> list[float]:
    """How often p is at most .05 with these rates: the tables at one half, with their other probabilities."""
    tables = tables_of(design, units, most)
    found = np.zeros(len(rates))
    for successes in range(most + 1):
        n_0, s_0 = np.nonzero(p_of(tables, successes) <= 0.05)
        s_1 = successes - s_0
        with np.errstate(divide="ignore"):
            log = np.log(tables[n_0, s_0, s_1]) + units * np.log(2.0)
        for k, (zero, one) in enumerate(rates):
            found[k] += np.exp(log + _log(s_0, n_0, zero) + _log(s_1, units - n_0, one)).sum()
    return found.tolist()


def _log(s: IntArray, n: IntArray, rate: float) -> FloatArray:
    return np.asarray(xlogy(s, rate) + xlogy(n - s, 1 - rate))


@pytest.mark.requirement("R-7.5")
def test_error_is_at_most_the_level_at_every_rate() -> None:
    """Thirty decisions of TS, evenly at first: exact, over a grid of rates."""
    rates = [(rate, rate) for rate in np.linspace(0.02, 0.98, 25)]
    found = rejecting(design_of(burn_in=4), 30, 30, rates)
    assert max(found) <= 0.05
    assert max(found) > 0.03


SOFTENED: dict[str, Any] = {"limits": {"soften": "i/2n"}, "looks": {"at": [200], "update": "patient"}}


@pytest.mark.long
@pytest.mark.parametrize(
    ("tables", "later", "figures"),
    [
        ({}, 0, (0.0487, 0.1150, 0.3004)),
        ({"limits": {"floor": 0.1}}, 0, (0.0491, 0.1918, 0.5611)),
        ({"limits": {"floor": 0.1}, "burn_in": 50}, 0, (0.0490, 0.2351, 0.6776)),
        (SOFTENED, 1, (0.0495, 0.2959, 0.7939)),
        (SOFTENED, 0, (0.0495, 0.2965, 0.7950)),
        ({"policy": "Uniform"}, 0, (0.0494, 0.3356, 0.8462)),
    ],
)
def test_200_decisions_have_the_figures_of_others(
    tables: dict[str, Any], later: int, figures: tuple[float, ...]
) -> None:
    """To the printed digits; trials with more than 140 successes are less probable than 1e-9.

    Their i of i/2n is the number of the unit, ours that of outcomes that are known: one less.
    """
    design = design_of(**tables)
    if design.soften is not None:
        design = replace(design, soften=design.soften + later / 400)
    found = rejecting(design, 200, 140, [(0.25, 0.25), (0.25, 0.35), (0.25, 0.45)])
    np.testing.assert_allclose(found, figures, atol=5.1e-5)


def test_where_it_does_not_apply_it_says_why() -> None:
    three = design_of(space={"proposals": 3})
    assert "two proposals" in conditional_exact(lived(three, 6, 1, np.full((1, 3), 0.5)), three, 0, 1).refused
    design = design_of()
    late = lived(design, 12, 1, RATES, delay=2)
    assert "re-randomisation takes them as they came" in conditional_exact(late, design, 0, 1).refused
    log = lived(design, 12, 1, RATES)
    assert "not the design" in conditional_exact(log, design_of(burn_in=5), 0, 1).refused
    top = design_of(policy="TopTwo")
    assert "TS and Uniform" in conditional_exact(lived(top, 6, 1, RATES), top, 0, 1).refused
    missing = Log.of(design.space, [0, 1], [0.5, 0.5], outcome=[0, -1])
    with pytest.raises(UnsuitableError, match="1 outcomes are missing"):
        conditional_p(missing, design)
    many = Log.of(design.space, np.zeros(900, int), [0.5, 0.5], outcome=np.ones(900, int))
    with pytest.raises(UnsuitableError, match="900 decisions with 900 successes"):
        conditional_p(many, design, check=False)


def test_trials_side_by_side_are_tested_one_by_one() -> None:
    design = design_of()
    both = [lived(design, 15, seed, RATES) for seed in (1, 4)]
    log = Log.of(
        design.space,
        np.stack([each.proposal for each in both]),
        np.stack([each.probability for each in both]),
        outcome=np.stack([each.outcome for each in both]),
    )
    np.testing.assert_array_equal(
        conditional_p(log, design), [conditional_exact(each, design, 0, 1).p for each in both]
    )
