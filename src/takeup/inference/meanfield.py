"""Mean-field inference for unseen compliance, on the table of counts: Stirn & Jebara (2019), algorithm 2.

The paper's responsibilities φ_i(a) depend on the patient i through (z_i, y_i) alone, so there is one φ[x, z, y, a] for
each cell, and a fit costs the same after a hundred patients and after ten million.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from takeup.checks import FloatArray, IntArray
from takeup.errors import MismatchError
from takeup.evidence import Evidence, Scalar
from takeup.inference.ascent import MAX_EVALUATIONS, TOLERANCE, ascend
from takeup.posterior import Posterior, dirichlet
from takeup.randomness import Random


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """How a fit went, in each replication and context.

    Attributes:
        elbo: the evidence lower bound with all its constants: never above log p(a seen, y seen given z).
        iterations: evaluations of the coordinate ascent map, those of rejected steps included.
        products: Hessian-vector products beside them, which need no special functions.
        converged: whether the next step promised a gain below the tolerance before the iterations ran out.
        log_responsibilities: log φ[x, z, y, a], from which a warm start can continue.
    """

    elbo: FloatArray
    iterations: IntArray
    products: IntArray
    converged: NDArray[np.bool_]
    log_responsibilities: FloatArray


def cold(
    prior: Posterior,
    evidence: Evidence,
    rng: Random,
    *,
    restarts: int = 1,
    tolerance: float = TOLERANCE,
    max_evaluations: int = MAX_EVALUATIONS,
) -> tuple[Posterior, Fit]:
    """A fit that is a function of evidence and stream alone; the best of `restarts` by ELBO.

    Each start draws one φ[z, y] ~ Dir(β[z]) for each *cell*. The paper draws one for each patient, which for many
    patients averages out to the symmetric saddle point, where no arm differs from another.
    """
    starts = np.stack([cold_start(prior, evidence.latent_outcomes.shape, rng) for _ in range(restarts)])
    _, fit = warm(prior, evidence, starts, tolerance=tolerance, max_evaluations=max_evaluations)
    best = fit.elbo.argmax(axis=0)[np.newaxis]
    fit = Fit(
        _along_first(fit.elbo, best),
        _along_first(fit.iterations, best),
        _along_first(fit.products, best),
        _along_first(fit.converged, best),
        _along_first(fit.log_responsibilities, best[..., np.newaxis, np.newaxis, np.newaxis]),
    )
    return posterior_of(prior, evidence, fit.log_responsibilities), fit


def warm(
    prior: Posterior,
    evidence: Evidence,
    start: FloatArray,
    *,
    tolerance: float = TOLERANCE,
    max_evaluations: int = MAX_EVALUATIONS,
) -> tuple[Posterior, Fit]:
    """A fit that continues from these log responsibilities, log φ[.., x, z, y, a]."""
    seen = prior.plus(evidence.implemented_outcomes, evidence.compliance)
    batch = start.shape[:-3]

    def each(array: NDArray[Scalar]) -> NDArray[Scalar]:
        """The array once for every start."""
        return np.broadcast_to(array, batch + array.shape[-2:])

    ascent = ascend(
        each(evidence.latent_outcomes), each(seen.outcome), each(_beta(seen)), start, tolerance, max_evaluations
    )
    constant = log_beta(prior.outcome).sum(axis=-1) + log_beta(_beta(prior)).sum(axis=-1)
    fit = Fit(
        ascent.elbo - constant,
        ascent.evaluations,
        ascent.products,
        ascent.converged,
        ascent.log_phi,
    )
    return posterior_of(prior, evidence, fit.log_responsibilities), fit


def posterior_of(prior: Posterior, evidence: Evidence, log_responsibilities: FloatArray) -> Posterior:
    """q(μ) q(π) given φ: the prior, plus what was seen, plus the unseen shared out by φ.

    α'[a, y] = α + n[a, y] + sum_z n[z, y] φ[z, y, a] and β'[z, a] = β + n[z, a] + sum_y n[z, y] φ[z, y, a].
    """
    explained = evidence.latent_outcomes[..., np.newaxis] * np.exp(log_responsibilities)
    return prior.plus(
        evidence.implemented_outcomes + np.einsum("...zya->...ay", explained),
        evidence.compliance + np.einsum("...zya->...za", explained),
    )


def cold_start(prior: Posterior, cells: tuple[int, ...], rng: Random) -> FloatArray:
    """Log φ of a cold start, one draw from the compliance prior for each of these cells (.., x, z, y)."""
    beta = _beta(prior)[..., np.newaxis, :]
    return np.log(np.maximum(dirichlet(np.broadcast_to(beta, (*cells, beta.shape[-1])), rng), 1e-300))


def _along_first(array: NDArray[Scalar], index: IntArray) -> NDArray[Scalar]:
    """The entry along the first axis that `index` names, everywhere else."""
    return np.asarray(np.take_along_axis(array, index, axis=0)[0])


def _beta(prior: Posterior) -> FloatArray:
    """The compliance block, without which there is nothing latent to infer."""
    if prior.compliance is None:
        raise MismatchError("mean-field inference needs a prior with a model of compliance")
    return prior.compliance


def log_beta(parameters: FloatArray) -> FloatArray:
    """Log B along the last axis, the normalising constant of a Dirichlet distribution."""
    constant: FloatArray = gammaln(parameters).sum(axis=-1) - gammaln(parameters.sum(axis=-1))
    return constant
