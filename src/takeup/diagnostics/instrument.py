"""Is the instrument weak? How far the compliance matrix is from one that cannot be inverted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup import checks
from takeup.checks import FloatArray
from takeup.evidence import Evidence
from takeup.posterior import dirichlet
from takeup.randomness import Random

DRAWS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Instrument:
    """The smallest singular value of the compliance matrix π[z, a], in every context and replication; shape (.., X).

    Attributes:
        smallest: that of the posterior mean of the matrix.
        lower: its lower limit; 0 where the matrix may be one that cannot be inverted.
        upper: its upper limit.
        level: the posterior probability between the limits.
        draws: how many draws they rest on.
        contexts: the labels of the contexts.
    """

    smallest: FloatArray
    lower: FloatArray
    upper: FloatArray
    level: float
    draws: int
    contexts: tuple[str, ...]

    @property
    def invertible(self) -> NDArray[np.bool_]:
        """Where the matrix can be inverted with confidence: the lower limit is above zero."""
        return np.asarray(self.lower > 0)

    def summary(self) -> str:
        """What it means, in plain language."""
        lines = []
        for place in np.ndindex(self.smallest.shape):
            *replication, x = place
            where = [f"replication {', '.join(map(str, replication))}"] if replication else []
            where += [f"context {self.contexts[x]}"] if len(self.contexts) > 1 else []
            told = "can" if self.invertible[place] else "cannot"
            lines.append(
                f"{', '.join(where)}{': ' if where else ''}smallest singular value {self.smallest[place]:.3f}"
                f" ({100 * self.level:g} % limits {self.lower[place]:.3f} to {self.upper[place]:.3f}):"
                f" the matrix {told} be inverted with confidence."
            )
        return "\n".join(lines)


def weak_instrument(
    evidence: Evidence, rng: Random, level: float = 0.95, *, draws: int = DRAWS, beta: ArrayLike = 0.5
) -> Instrument:
    """The smallest singular value of the compliance matrix, with limits from posterior draws.

    With the singular vectors u and v of the posterior mean, the signed value u'Π v is followed through the draws of Π.
    A singular value of a draw cannot be negative, so that its quantiles would never reach zero; the signed one can,
    and where its quantile is at most zero, the lower limit is zero.

    Args:
        evidence: the table; decisions with compliance seen are used, whether or not the outcome is pending.
        rng: the stream of the draws.
        level: the posterior probability between the limits.
        draws: how many.
        beta: the prior of each row of Π.
    """
    level = checks.share("level", level)
    draws = checks.whole("draws", draws, least=2)
    parameters = evidence.compliance + checks.positive("beta", beta)
    mean = parameters / parameters.sum(axis=-1, keepdims=True)
    left, values, right = np.linalg.svd(mean, full_matrices=False)
    u, v = left[..., :, -1], right[..., -1, :]
    wanted = (*parameters.shape[:-3], draws, *parameters.shape[-3:])
    drawn = dirichlet(np.broadcast_to(parameters[..., np.newaxis, :, :, :], wanted), rng)
    signed = np.einsum("...z,...dza,...a->...d", u, np.moveaxis(drawn, -4, -3), v)
    lower, upper = (np.quantile(signed, q, axis=-1) for q in ((1 - level) / 2, (1 + level) / 2))
    return Instrument(values[..., -1], np.maximum(lower, 0.0), upper, level, draws, evidence.space.contexts)
