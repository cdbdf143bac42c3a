"""Unseen actions filled in, where proposals may share the outcomes of an action: a Gibbs chain on the table of counts.

Given what is done after each proposal, π[z, a], and the outcomes of those who were told z and did a, μ[z, a, y], the
actions of the n[z, y] patients whose compliance was not seen are one multinomial draw for each cell. Given completed
counts the models of `takeup.inference.pooling` are in closed form. So a sweep is

    a model for each action, μ and π given n[z, a, y] + m[z, a, y],
    m[z, ·, y] ~ Multinomial(n[z, y], φ[z, y]),    φ[z, y, a] in proportion to π[z, a] μ[z, a, y].

The chain starts from what was seen: φ[z, y] ~ Dir(β[z, a] α[a, y] / Σ α[a] + n[z, a, y]), which is nearly the posterior
where nothing is shared. Whatever the actions, the outcomes of each proposal stay as they are, and with them the values
of TS: they need no sweeps. Sweeps bring in what sharing knows beyond them.
"""

from collections.abc import Callable

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.inference.gibbs import LEAST, multinomial
from takeup.inference.pooling import Pooled
from takeup.posterior import Posterior
from takeup.randomness import Random

SWEEPS = 6
"""Of a decision: docs/robust.md has what more of them gain."""

Believe = Callable[[FloatArray | IntArray, FloatArray | IntArray], Pooled]
"""The models given n[x, z, a, y] and n[x, z, a]."""


def complete(
    prior: Posterior,
    seen: FloatArray | IntArray,
    made: FloatArray | IntArray,
    unseen: FloatArray | IntArray,
    believe: Believe,
    rng: Random,
    sweeps: int,
) -> Pooled:
    """The models given the counts that one chain has completed, in each replication.

    Args:
        prior: α and β.
        seen: n[x, z, a, y], outcomes whose action was seen.
        made: n[x, z, a], actions that were seen, with those whose outcome is pending.
        unseen: n[x, z, y], outcomes whose action was not.
        believe: the models given completed counts.
        rng: where the chain starts from and goes.
        sweeps: how many.
    """
    assert prior.compliance is not None
    alpha = prior.outcome / prior.outcome.sum(axis=-1, keepdims=True)
    cells = prior.compliance[..., np.newaxis] * alpha[..., np.newaxis, :, :] + seen
    weight = np.maximum(rng.standard_gamma(cells, size=cells.shape), LEAST)
    for _ in range(sweeps):
        believed = _believed(seen, made, _taken(unseen, weight, rng), believe)
        drawn = believed.sample(rng)
        weight = drawn.compliance[..., np.newaxis] * drawn.outcome
    return _believed(seen, made, _taken(unseen, weight, rng), believe)


def _believed(seen: FloatArray | IntArray, made: FloatArray | IntArray, taken: FloatArray, believe: Believe) -> Pooled:
    return believe(seen + taken, made + taken.sum(axis=-1))


def _taken(unseen: FloatArray | IntArray, weight: FloatArray, rng: Random) -> FloatArray:
    """m[x, z, a, y]: whole decisions by a multinomial draw; what counts less than one is spread by the weights."""
    each = np.moveaxis(weight, -2, -1)  # (.., z, y, a)
    whole = np.floor(unseen).astype(np.int64)
    taken = multinomial(whole, each, rng).astype(np.float64)
    taken += (unseen - whole)[..., np.newaxis] * each / np.maximum(each.sum(axis=-1, keepdims=True), LEAST)
    return np.moveaxis(taken, -1, -2)
