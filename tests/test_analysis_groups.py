"""Sums over the decisions of each context against a loop over contexts."""

import numpy as np
import pytest

from takeup.analysis.groups import Groups
from takeup.analysis.scores import guesses
from takeup.randomness import stream


@pytest.mark.parametrize("contexts", [1, 2, 5])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_sums_are_those_of_a_loop(batch: tuple[int, ...], contexts: int) -> None:
    rng = stream(11, "groups")
    context = rng.integers(0, contexts, (*batch, 40))
    used = rng.random((*batch, 40)) < 0.7
    each = rng.random((*batch, 40, 2))
    groups = Groups.of(used, context, contexts)
    wrong = np.where(used[..., np.newaxis], each, np.nan)  # what does not count may be anything
    expected = np.stack(
        [np.where((used & (context == x))[..., np.newaxis], each, 0.0).sum(axis=-2) for x in range(contexts)], axis=-2
    )
    np.testing.assert_allclose(groups.sums(wrong), expected, rtol=1e-13)
    spread = groups.spread(expected[..., 0])
    for place in np.ndindex(spread.shape):
        assert spread[place] == (expected[(*place[:-1], context[place], 0)] if used[place] else 0.0)


def test_weights_add_up_to_the_share_of_their_context() -> None:
    context, used = np.array([0, 0, 1, 1, 1, 2]), np.array([True, True, True, True, False, True])
    weight = np.array([1.0, 3.0, 2.0, 2.0, 0.0, 0.0])
    found = Groups.of(used, context, 3).to_shares(weight)
    # The last context has no weight and is left out: two of four decisions in each of the others.
    np.testing.assert_allclose(found, [0.125, 0.375, 0.25, 0.25, 0.0, 0.0])


@pytest.mark.parametrize("batch", [(), (3,)])
def test_guesses_are_means_of_earlier_decisions_of_the_same_context_and_proposal(batch: tuple[int, ...]) -> None:
    rng = stream(12, "guesses")
    shape = (*batch, 30)
    context, proposal = rng.integers(0, 4, shape), rng.integers(0, 3, shape)
    value = np.where(rng.random(shape) < 0.2, np.nan, rng.random(shape))
    found = guesses(context, proposal, value, 4, 3, 0.5)
    for place in np.ndindex(shape):
        *trial, t = place
        x, z, v = (each[tuple(trial)][:t] for each in (context, proposal, value))
        seen = ~np.isnan(v)
        overall = (v[seen].sum() + 0.5) / (seen.sum() + 1)
        for k in range(3):
            own = seen & (x == context[place]) & (z == k)
            expected = (v[own].sum() + overall) / (own.sum() + 1)
            assert found[(*place, k)] == pytest.approx(expected, abs=1e-13)
