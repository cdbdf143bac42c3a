"""Gibbs sampling for unseen compliance, on the table of counts: draws from the exact posterior, in the limit.

Given a World, the actions of the n[z, y] patients whose compliance was not seen are independent, so that how many of
them implemented each action is one multinomial draw for each cell. Given those counts, the World has the Dirichlet
blocks of TS-Obs. A sweep draws the actions and then the World: O(Kz Y Ka) draws, however many patients there are.

These two steps alone would need more sweeps the more patients there are: Π and μ can move against each other along a
ridge on which Π μ, and so the likelihood of what is unseen, does not change. Each sweep therefore also slides the World
along that ridge (`slide`), after Liu & Sabatti (2000), and a few sweeps are enough at any size.
"""

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.errors import MismatchError
from takeup.evidence import Evidence
from takeup.posterior import Posterior, dirichlet
from takeup.randomness import Random

SWEEPS = 20
"""The budget of a decision: docs/benchmarks.md has what it costs and how far from the exact posterior it ends."""

LEAST = 1e-300
"""Stands for a probability that rounds to zero."""


def draw(prior: Posterior, evidence: Evidence, rng: Random, sweeps: int = SWEEPS) -> Posterior:
    """The blocks given one draw of the unseen actions, after this many sweeps from a cold start.

    One sweep is

        μ[a] ~ Dir(α + n[a, y] + m[a, y]),    π[z] ~ Dir(β + n[z, a] + m[z, a]),    a slide along the ridge,
        m[z, y, ·] ~ Multinomial(n[z, y], φ[z, y]),    φ[z, y, a] in proportion to π[z, a] μ[a, y],

    where n[a, y] and n[z, a] were seen and n[z, y] are outcomes with unseen compliance, in any mixture.
    The chain starts from a draw of μ given what was seen, with every unseen patient at the action under which the
    outcome is likeliest. The values are then those of TS, and sweeps bring in what the model knows beyond them.

    A World that is sampled from the blocks is a draw from the posterior, up to what the chain remembers of its start.
    The mean of the blocks is that of one draw of m, not of the posterior.
    """
    if prior.compliance is None:
        raise MismatchError("Gibbs sampling needs a prior with a model of compliance")
    latent = evidence.latent_outcomes
    seen = prior.plus(evidence.implemented_outcomes, evidence.compliance)
    actions = seen.outcome.shape[-2]
    likeliest = dirichlet(seen.outcome, rng).argmax(axis=-2)
    blocks = _explained(
        seen, latent[..., np.newaxis] * np.eye(actions, dtype=np.int64)[likeliest][..., np.newaxis, :, :]
    )
    for sweep in range(sweeps):
        outcome, compliance = dirichlet(blocks.outcome, rng), dirichlet(_compliance(blocks), rng)
        for a in range(actions):
            slide(seen, outcome, compliance, a, partner(a, sweep, actions), rng)
        weight = np.einsum("...za,...ay->...zya", compliance, outcome)
        blocks = _explained(seen, multinomial(latent, weight, rng))
    return blocks


def partner(action: int, sweep: int, actions: int) -> int:
    """The action that another one slides against in a sweep: each of the others in turn."""
    return (action + 1 + sweep % (actions - 1)) % actions


def slide(seen: Posterior, outcome: FloatArray, compliance: FloatArray, a: int, b: int, rng: Random) -> None:
    """Move a World in place along the ridge on which Π μ stays, by a Metropolis-Hastings step.

    For any u > 0 and two actions,

        π'[z, a] = u π[z, a],    π'[z, b] = π[z, b] + (1 - u) π[z, a],    μ'[a] = μ[b] + (μ[a] - μ[b]) / u

    leave Π μ as it is, and both in their simplices for u between max_y (1 - μ[a, y] / μ[b, y]) and
    min_z (1 + π[z, b] / π[z, a]). The scalings u are a group with Haar measure du / u, and the step from (π, μ) has the
    Jacobian u^(Kz - Y + 1), so that u^(Kz - Y) is the density to draw u from with flat priors and nothing seen. Other
    priors and what was seen enter by their Dirichlet densities, in the probability to accept the step.
    """
    mu_a, mu_b, pi_a, pi_b = outcome[..., a, :], outcome[..., b, :], compliance[..., a], compliance[..., b]
    low = np.max(np.maximum(mu_b - mu_a, LEAST) / np.maximum(mu_b, LEAST), axis=-1)
    high = np.min(1 + pi_b / np.maximum(pi_a, LEAST), axis=-1)
    chance = rng.random((*low.shape, 2))
    u = power_law(low, high, compliance.shape[-2] - outcome.shape[-1] + 1, chance[..., 0])[..., np.newaxis]
    new_mu = np.maximum(mu_b + (mu_a - mu_b) / u, LEAST)
    new_a, new_b = pi_a * u, np.maximum(pi_b + (1 - u) * pi_a, LEAST)
    rise = _log_ratio(seen.outcome[..., a, :], mu_a, new_mu)
    rise += _log_ratio(_compliance(seen)[..., a], pi_a, new_a) + _log_ratio(_compliance(seen)[..., b], pi_b, new_b)
    accepted = (np.log1p(-chance[..., 1]) < rise)[..., np.newaxis]
    outcome[..., a, :] = np.where(accepted, new_mu, mu_a)
    compliance[..., a], compliance[..., b] = np.where(accepted, new_a, pi_a), np.where(accepted, new_b, pi_b)


def power_law(low: FloatArray, high: FloatArray, power: int, chance: FloatArray) -> FloatArray:
    """A number between low and high with density u^(power - 1), by inversion of a uniform one."""
    if power == 0:
        return np.asarray(low * np.exp(chance * np.log(high / low)))
    near, far = (high, low) if power > 0 else (low, high)
    rest = (far / near) ** power
    return np.asarray(near * (rest + chance * (1 - rest)) ** (1 / power))


def multinomial(n: IntArray, weight: FloatArray, rng: Random) -> IntArray:
    """How n fall on the last axis of the weights, which need not sum to one: a chain of binomial draws."""
    rest = np.cumsum(weight[..., ::-1], axis=-1)[..., ::-1]
    share = weight / np.maximum(rest, LEAST)  # of what is left from here on: never above one
    taken = np.zeros(weight.shape, dtype=np.int64)
    left = n
    for a in range(weight.shape[-1] - 1):
        taken[..., a] = rng.binomial(left, share[..., a])
        left = left - taken[..., a]
    taken[..., -1] = left
    return taken


def _explained(seen: Posterior, taken: IntArray) -> Posterior:
    """What was seen, plus the unseen with their actions m[z, y, a]."""
    return seen.plus(np.einsum("...zya->...ay", taken), np.einsum("...zya->...za", taken))


def _log_ratio(parameters: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
    """The logarithm of the ratio of Dirichlet densities along the last axis."""
    ratio: FloatArray = ((parameters - 1) * np.log(np.maximum(new, LEAST) / np.maximum(old, LEAST))).sum(axis=-1)
    return ratio


def _compliance(blocks: Posterior) -> FloatArray:
    assert blocks.compliance is not None
    return blocks.compliance
