"""A Prior is what was known before the first decision: here, what a pilot taught."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Required, TypedDict, Unpack

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.evidence import Evidence
from takeup.frames.columns import Frame
from takeup.outcomes import Better
from takeup.space import Space


class Columns(TypedDict, total=False):
    """What `takeup.Evidence.from_frame` takes beside the table."""

    assigned: Required[str]
    outcome: Required[str]
    taken: str | None
    context: str | Sequence[str] | None
    exposure: str | None
    count: str | None
    space: Space | None
    levels: Sequence[str] | None
    better: Better | None


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A pilot, each of whose decisions counts for `discount` of one's own: the power prior of Ibrahim & Chen (2000).

    Any Thompson policy takes it: `policy.informed(prior)` is the policy with the pilot's counts, discounted, added to
    its prior. Decisions of the pilot whose compliance is unseen inform the prior of TS alone.

    Attributes:
        evidence: the pilot's table.
        discount: from 0, which forgets the pilot, to 1, which takes its decisions for one's own.
    """

    evidence: Evidence
    discount: float

    def __post_init__(self) -> None:
        if self.evidence.counts.ndim != 4:
            shape = self.evidence.counts.shape
            raise InputError("evidence", f"shape {shape}", "a single table, not many side by side")
        given = checks.real("discount", self.discount)
        if given.ndim or not 0 <= given <= 1:
            raise InputError("discount", repr(self.discount), "a number from 0 to 1")

    @classmethod
    def from_evidence(cls, evidence: Evidence, discount: float = 1.0) -> "Prior":
        """What a pilot taught, where each of its decisions counts for `discount` of one's own."""
        return cls(evidence, discount)

    @classmethod
    def from_frame(cls, frame: Frame, *, discount: float = 1.0, **columns: Unpack[Columns]) -> "Prior":
        """What a past trial taught, from a table of it, a row a decision.

        Give the `space` of the next trial, whose labels have to be those of the past one.

        Args:
            frame: a polars or pandas frame, a mapping from the names of columns to lists, or the path of a file.
            discount: for how many of one's own decisions each one counts.
            columns: as `takeup.Evidence.from_frame` takes them.
        """
        return cls(Evidence.from_frame(frame, **columns), discount)

    @property
    def space(self) -> Space:
        """The finite sets that the pilot's table stands for."""
        return self.evidence.space

    @property
    def proposed_outcomes(self) -> FloatArray:
        """Pseudo-counts [x, z, y] of outcomes by proposal, whether or not compliance was seen."""
        return np.asarray(self.discount * self.evidence.proposed_outcomes)

    @property
    def complied_outcomes(self) -> FloatArray:
        """Pseudo-counts [x, z, y] of outcomes of those who did what was proposed."""
        return np.asarray(self.discount * self.evidence.complied_outcomes)

    @property
    def implemented_outcomes(self) -> FloatArray:
        """Pseudo-counts [x, a, y] of outcomes by implemented action."""
        return np.asarray(self.discount * self.evidence.implemented_outcomes)

    @property
    def seen_compliance(self) -> FloatArray:
        """Pseudo-counts [x, z, a, y] of decisions with compliance seen; the last slot of y is for outcomes unseen."""
        return np.asarray(self.discount * self.evidence.without_covariates().counts[..., :-1, :])

    @property
    def compliance(self) -> FloatArray:
        """Pseudo-counts [x, z, a] of implemented actions by proposal."""
        return np.asarray(self.discount * self.evidence.compliance)
