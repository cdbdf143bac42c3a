"""Outcomes of two values are the same whether they are called levels, a number or a count; or come to the same."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from takeup import TS, Bootstrap, Event, Evidence, Normal, Number, Space, TSCheck, TSObs, stream

LEVELS = Space(2, 2, contexts=2)
NUMBER = Space(2, 2, contexts=2, outcomes=Number(0, 1, 1))
cells = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(-1, 1), st.integers(-1, 1))


@given(st.lists(cells, max_size=30), st.sampled_from([TS, TSCheck, TSObs]))
def test_the_bootstrap_of_two_values_is_the_beta_of_levels_bit_for_bit(
    log: list[tuple[int, int, int, int]], kind: Any
) -> None:
    """With the prior Dir(1, 1) in both: every parameter, every draw and every probability."""
    events = [Event(*each) for each in log]
    levels, number = kind(), kind(likelihood=Bootstrap(alpha=1.0))
    one, other = Evidence.of(LEVELS, events), Evidence.of(NUMBER, events)
    np.testing.assert_array_equal(
        levels.posterior(one, stream(0)).outcome, number.posterior(other, stream(0)).block.alpha
    )
    for context in (0, 1):
        np.testing.assert_array_equal(
            levels.beliefs(one, context, stream(0)).values(stream(1), 5),
            number.beliefs(other, context, stream(0)).values(stream(1), 5),
        )
        np.testing.assert_array_equal(
            levels.allocation(one, context, stream(0)).probability,
            number.allocation(other, context, stream(0)).probability,
        )


@pytest.mark.parametrize("kind", [TS, TSObs])
def test_the_normal_model_of_two_values_comes_to_levels_as_outcomes_come_in(kind: Any) -> None:
    """The mean of n ones and zeros is p, with variance p (1 - p) / n under both models, to the first order.

    Of n outcomes each, 0.3 n and (0.3 + 0.5 / sqrt(n)) n are ones: the doubt which is better stays. The two
    probabilities then differ by what is left of skewness and prior, which falls in proportion to 1 / sqrt(n).
    """
    distance = []
    for n in (100, 10_000, 1_000_000):
        ones = 0.3 * n, 0.3 * n + 0.5 * np.sqrt(n)
        tables = []
        for space in (LEVELS, NUMBER):
            counts = np.zeros_like(Evidence.empty(space).counts)
            for a, many in enumerate(round(each) for each in ones):
                counts[:, a, a] = (n - many) * space.outcome.amounts(0) + many * space.outcome.amounts(1)
            tables.append(Evidence(space, counts))
        normal = kind(likelihood=Normal(mean=0.5, sd=0.5, weight=2, freedom=2))
        by_levels = kind().allocation(tables[0], 0, stream(0))
        by_normal = normal.allocation(tables[1], 0, stream(0))
        assert by_levels.exact
        assert by_normal.exact
        assert 0.05 < by_levels.probability[0] < 0.4
        distance.append(float(abs(by_levels.probability - by_normal.probability).max()))
    assert distance[0] < 0.02
    assert distance[1] < distance[0] / 5
    assert distance[2] < distance[1] / 5
