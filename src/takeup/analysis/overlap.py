"""How much a log says about what another policy would have done, and when that is too little.

Decision t counts w_t = π_t(z_t) / p_t(z_t): how much more often the other policy, π, would have proposed what was. Two
numbers say how many decisions that is worth. Kish's (1965), (Σ w)² / Σ w², is from the proposals that were drawn. The
other is known from the probabilities alone, n² / Σ_t Σ_z π_t(z)² / p_t(z), and does not look well where a proposal was
so rare that it happened never to be drawn. The smaller one counts.

Whether an interval is shown must not depend on how the trial went: a policy spares the proposal that does badly by
chance, so that the trials in which both kept many people are those in which the difference happened to look small. The
rule is therefore about the largest weight that any decision could have had, max π / p, which a floor bounds from the
start: where one decision could count for more than a tenth of all, there is no interval.
"""

from dataclasses import dataclass

import numpy as np

from takeup.analysis.figure import effective_size
from takeup.checks import FloatArray
from takeup.log import Log

HOPELESS_SHARE = 0.1
"""Where one decision could count for a larger share of all, there is no interval."""
HOPELESS_SHARE_OF_TIMES = 0.05
"""Likewise of a difference of mean times between what would have been and what was: see docs/readings.md."""
POOR_SHARE = 0.1
"""With a smaller share of all decisions there is a warning."""


@dataclass(frozen=True, slots=True, eq=False)
class Overlap:
    """How many decisions of a log speak for a policy; leading axes are trials side by side.

    Attributes:
        weight: w of each decision, (.., n); zero for those that are left out.
        n: how many are not left out, (..).
        seen: Kish's effective size of the weights, (..).
        expected: what it is expected to be from the probabilities alone, (..).
        largest: the largest weight that a decision could have had, (..).
        impossible: the share of the policy's proposals that could not have been drawn, (..).
    """

    weight: FloatArray
    n: FloatArray
    seen: FloatArray
    expected: FloatArray
    largest: FloatArray
    impossible: FloatArray

    @classmethod
    def of(cls, log: Log, probability: FloatArray, known: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> "Overlap":
        """Of the decisions that are known, for a policy's probabilities of every decision, (.., n, Kz)."""
        own = np.take_along_axis(probability, log.proposal[..., np.newaxis], axis=-1)[..., 0]
        weight = np.where(known, own / log.probability_of_proposal, 0.0)
        n = known.sum(axis=-1).astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            could = np.where(probability > 0, probability / log.probability, 0.0)
            spread = np.where(known, (could * probability).sum(axis=-1), 0.0)
            expected = n**2 / spread.sum(axis=-1)
            largest = np.where(known, could.max(axis=-1), 0.0).max(axis=-1, initial=0.0)
            never = np.where(log.probability > 0, 0.0, probability).sum(axis=-1)
            impossible = np.where(known, never, 0.0).sum(axis=-1) / n
        return cls(weight, n, effective_size(weight), expected, largest, impossible)

    @property
    def size(self) -> FloatArray:
        """How many decisions it is worth: the smaller of what was seen and what was expected."""
        return np.asarray(np.fmin(self.seen, self.expected))

    def withheld(self, who: str, most: float = HOPELESS_SHARE) -> str:
        """Why there is nothing to be relied upon, of a single trial; empty where there is.

        Args:
            who: what the policy is called.
            most: how large a share of all one decision may be.
        """
        if self.n == 0:
            return "no outcome is known"
        if self.impossible > 0:
            return f"{self.impossible:.1%} of what {who} would have proposed had no chance of being proposed"
        if self.largest > most * self.n * (1 + 1e-9):
            return (
                f"{who} was so improbable at times that one of the {self.n:.0f} decisions could count for "
                f"{min(self.largest / self.n, 1.0):.0%} of all; an interval needs {most:.0%} at most"
            )
        return ""

    def warning(self, who: str) -> str:
        """What to beware of, of a single trial; empty where there is nothing."""
        if self.size >= POOR_SHARE * self.n:
            return ""
        most = self.weight.max() / self.weight.sum() if self.weight.any() else 0.0
        return (
            f"Poor overlap: the {self.n:.0f} decisions are worth {self.size:.3g} of {who}, "
            f"and one of them counts for {most:.0%}."
        )
