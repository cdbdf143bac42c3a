"""Gibbs sampling for unseen compliance where outcomes are numbers, counts or times.

As `takeup.inference.gibbs` for levels. Sums do not tell a mixture, but how often each value came does: where each has a
bin of its own, those with one proposal and one value are alike, so that how many of them implemented each action is one
multinomial draw. Given those counts each action has its sums, and with them its conjugate block. A sweep costs a draw
for each action and each pair of a proposal and a value that came, however many people there are.
"""

from dataclasses import replace

import numpy as np
from scipy.special import gammaln

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Conjugate, GammaRate, NormalGamma
from takeup.conjugates.normal import scale
from takeup.errors import MismatchError
from takeup.evidence import Evidence
from takeup.inference.gibbs import LEAST, SWEEPS, multinomial, partner
from takeup.outcomes import Number, Outcome
from takeup.posterior import Posterior, dirichlet
from takeup.randomness import Random


def draw(prior: Posterior, evidence: Evidence, rng: Random, sweeps: int = SWEEPS) -> Posterior:
    """The blocks given one draw of the unseen actions, after this many sweeps from a cold start.

    One sweep is

        two actions exchanged,    θ[a] ~ its block given n[a] and m[a],    π[z] ~ Dir(β + n[z, a] + m[z, a]),
        m[z, y, ·] ~ Multinomial(n[z, y], φ[z, y]),    φ[z, y, a] in proportion to π[z, a] p(y given θ[a]),

    where n[a] and n[z, a] were seen and n[z, y] are outcomes with unseen compliance. The chain starts from a draw of θ
    given what was seen, with every unseen person at the action under which the outcome is likeliest.
    """
    if prior.compliance is None:
        raise MismatchError("Gibbs sampling needs a prior with a model of compliance")
    seen = prior.plus(evidence.implemented_outcomes, evidence.compliance)
    beta = seen.compliance
    assert beta is not None
    outcome = evidence.space.outcome
    narrow = replace(outcome, bins=2) if isinstance(outcome, Number) else outcome
    block = _of(seen.block, narrow)  # bins, of which there may be 1,000, are not looked at from here on
    cell, sums = outcome.parts_of(np.arange(outcome.size))
    latent = evidence.latent_outcomes[..., cell]
    z, y = np.nonzero(latent.any(axis=tuple(range(latent.ndim - 2))))
    latent, sums = latent[..., z, y], sums[y]
    proposals, actions = beta.shape[-2:]
    adds = np.concatenate([np.ones((z.size, 1), dtype=np.int64), sums, np.eye(proposals, dtype=np.int64)[z]], axis=1)

    def totals(taken: IntArray) -> tuple[IntArray, IntArray]:
        """What the unseen with their actions m[(z, y), a] add to each action's outcomes, and m[z, a]."""
        added = np.swapaxes(taken, -2, -1) @ adds
        statistic = np.zeros((*added.shape[:-1], narrow.width), dtype=np.int64)
        statistic[..., 0] = added[..., 0]
        statistic[..., narrow.cells :] = added[..., 1:-proposals]
        return statistic, np.swapaxes(added[..., -proposals:], -2, -1)

    likeliest = _log_density(block, sums, rng).argmax(axis=-2)
    taken = latent[..., np.newaxis] * np.eye(actions, dtype=np.int64)[likeliest]
    for sweep in range(sweeps):
        statistic, made = swapped(block, beta, *totals(taken), sweep, rng)
        log = np.log(np.maximum(dirichlet(beta + made, rng), LEAST))[..., z, :]
        log = log + np.swapaxes(_log_density(block.plus(statistic), sums, rng), -2, -1)
        taken = multinomial(latent, np.exp(log - log.max(axis=-1, keepdims=True)), rng)
    statistic, made = totals(taken)
    return Posterior(_of(block.plus(statistic), outcome), beta + made)


def swapped(
    block: Conjugate, beta: FloatArray, statistic: IntArray, made: IntArray, sweep: int, rng: Random
) -> tuple[IntArray, IntArray]:
    """The unseen of two actions exchanged, by a Metropolis step: one draw at a time would take long to rename actions.

    What is accepted follows from p(outcomes, actions) with θ and π integrated out, before and after.
    """
    actions = beta.shape[-1]
    a, b = sweep % actions, partner(sweep % actions, sweep // actions, actions)
    order = np.arange(actions)
    order[[a, b]] = b, a
    both = [(statistic, made), (statistic[..., order, :], made[..., order])]
    before, after = (block.log_evidence(s).sum(axis=-1) + gammaln(beta + m).sum(axis=(-2, -1)) for s, m in both)
    exchanged = (np.log1p(-rng.random(before.shape)) < after - before)[..., np.newaxis, np.newaxis]
    return np.where(exchanged, both[1][0], statistic), np.where(exchanged, both[1][1], made)


def _log_density(block: Conjugate, sums: IntArray, rng: Random) -> FloatArray:
    """Log p(y given θ[a]) in a draw of θ, up to what does not depend on a; shape (.., Ka, pairs)."""
    if isinstance(block, NormalGamma):
        mean, deviation = (each[..., np.newaxis] for each in block.draw(rng))
        low, step = scale(block.outcome, logarithmic=block.logarithmic)
        apart = (low + step * sums[:, 2 if block.logarithmic else 0] - mean) / deviation
        return np.asarray(-(apart**2) / 2 - np.log(deviation))
    assert isinstance(block, GammaRate)
    rate = np.maximum(block.draw(rng), LEAST)[..., np.newaxis]
    return np.asarray(sums[:, -2] * np.log(rate) - rate * sums[:, -1] * block.outcome.step)


def _of(block: Conjugate, outcome: Outcome) -> Conjugate:
    """The block, of numbers with other bins."""
    return replace(block, outcome=outcome) if isinstance(block, NormalGamma | GammaRate) else block  # type: ignore[arg-type]
