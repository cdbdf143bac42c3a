"""Log: who was offered what with which probability, in order; what may be concluded after adaptive allocation needs it.

Evidence adds and forgets the order. A log keeps it, and with it the probabilities that every proposal had when it was
drawn, which are all that a valid analysis has to know of the policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import NOTHING, InputError
from takeup.log.arrays import TOLERANCE, alike, check_known, whole_numbers, worst
from takeup.outcomes import Better
from takeup.randomness import stream
from takeup.space import UNSEEN, Space

SOURCES = ("policy", "burn-in", "fallback", "past", "lease")
"""Who drew a proposal: the policy, the first decisions of a trial before it, a client that could not reach it, or
whoever ran the trial before it was taken over."""

Codes: TypeAlias = "ArrayLike | None"

if TYPE_CHECKING:
    from takeup.frames.columns import Frame
    from takeup.frames.covariates import Asked
    from takeup.log.shares import Probability


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """A trial's decisions in the order in which they were made.

    Leading axes, where there are any, are trials side by side. Something is known *by* number j where decision j,
    counted from 0, and all after it could use it: j is more than the decision's own number, and the number of
    decisions where it came after the last.

    Attributes:
        space: what the indices stand for.
        context: x of each decision, (.., n).
        proposal: z.
        probability: p[z'] of every proposal when z was drawn, (.., n, Kz); a row sums to one.
        implemented: a; UNSEEN where it was never reported.
        outcome: y, as its code; UNSEEN likewise.
        implemented_by: by which decision a was known.
        outcome_by: by which decision y was known.
        source: who drew it, an index of SOURCES.
        unit: whom it was for, (n,); None where nobody says.
        estimated: whether the probabilities are shares of what was proposed, as nobody wrote them down.
        inferred: what was taken to be so where nobody said, a sentence each.
        corrected: whether something else was known of a decision before, which others may have used, (n,); None where
            nobody says. What it was is not in a log.
        pending: whether an outcome that is not known may still come, (n,); None where nobody says, and none may.
        running: whether more decisions may come.
        features: of the covariates that were known before each decision, whole thousandths, (.., n, d); None where the
            space has none.
        by_covariates: whether proposals may have been drawn by covariates, though the log has none of them.
    """

    space: Space
    context: IntArray
    proposal: IntArray
    probability: FloatArray
    implemented: IntArray
    outcome: IntArray
    implemented_by: IntArray
    outcome_by: IntArray
    source: IntArray
    unit: NDArray[np.str_] | None = None
    estimated: bool = False
    inferred: tuple[str, ...] = ()
    corrected: NDArray[np.bool_] | None = None
    pending: NDArray[np.bool_] | None = None
    running: bool = False
    features: NDArray[np.int16] | None = None
    by_covariates: bool = False

    @classmethod
    def of(
        cls,
        space: Space,
        proposal: ArrayLike,
        probability: ArrayLike,
        *,
        outcome: Codes = None,
        implemented: Codes = None,
        context: Codes = None,
        implemented_by: Codes = None,
        outcome_by: Codes = None,
        source: Codes = None,
        unit: "NDArray[np.str_] | None" = None,
        estimated: bool = False,
        inferred: Sequence[str] = (),
        features: "ArrayLike | None" = None,
    ) -> "Log":
        """A log of indices.

        What is left out is UNSEEN, or the first context, or drawn by the policy, or known by the next decision. A
        `probability` of one row, (Kz,), is that of every decision: fixed randomisation.
        """
        z = whole_numbers("proposal", proposal)
        n = z.shape[-1]
        unseen, at_once = np.full(z.shape, UNSEEN), np.broadcast_to(np.arange(1, n + 1), z.shape)
        rows = np.broadcast_to(checks.real("probability", probability), (*z.shape, len(space.proposals)))

        def whole(name: str, given: Codes, else_: ArrayLike) -> IntArray:
            found = whole_numbers(name, else_ if given is None else given)
            try:
                return np.broadcast_to(found, z.shape)
            except ValueError:
                raise InputError(name, f"shape {found.shape}", f"shape {z.shape}, one a decision") from None

        return cls(
            space,
            whole("context", context, 0),
            z,
            rows,
            whole("implemented", implemented, unseen),
            whole("outcome", outcome, unseen),
            whole("implemented_by", implemented_by, at_once),
            whole("outcome_by", outcome_by, at_once),
            whole("source", source, 0),
            unit,
            estimated,
            tuple(inferred),
            features=None if features is None else np.asarray(features),
        )

    @classmethod
    def from_counts(cls, space: Space, counts: ArrayLike, probability: ArrayLike, *, seed: int = 0) -> "Log":
        """The log of a table of counts, as trials with fixed randomisation are published.

        Args:
            space: what the axes of the table stand for.
            counts: n[x, z, a, y], or n[z, a, y] where there is one context; both of the last axes may have one more
                slot, of those whose action or outcome was never seen.
            probability: of each proposal, (Kz,).
            seed: of the order of the decisions, which a table does not tell: they are shuffled.
        """
        table = checks.counts("counts", counts)
        contexts, proposals, actions, outcomes = space.shape
        table = table[np.newaxis] if table.ndim == 3 and contexts == 1 else table
        unseen = table.shape[-2:] == (actions + 1, outcomes + 1)
        shape = (contexts, proposals, actions + unseen, outcomes + unseen)
        if table.shape != shape:
            raise InputError("counts", f"shape {table.shape}", f"shape {shape}, the axes being x, z, a and y")
        rows = np.repeat(np.arange(table.size), table.ravel())
        x, z, a, y = np.unravel_index(stream(seed, "log from counts").permutation(rows), shape)
        a, y = (np.where(codes == most, UNSEEN, codes) for codes, most in ((a, actions), (y, outcomes)))
        return cls.of(space, z, probability, context=x, implemented=a, outcome=y)

    def __post_init__(self) -> None:
        shape = self.proposal.shape
        contexts, proposals, actions, outcomes = self.space.shape
        for name, least, most in (
            ("context", 0, contexts),
            ("proposal", 0, proposals),
            ("implemented", UNSEEN, actions),
            ("outcome", UNSEEN, outcomes),
            ("source", 0, len(SOURCES)),
        ):
            codes = getattr(self, name)
            checks.shaped(name, codes, shape, "one a decision")
            if codes.size and not (least <= codes.min() and codes.max() < most):
                raise InputError(name, f"{codes.min()} to {codes.max()}", f"indices from {least} to {most - 1}")
        checks.shaped("probability", self.probability, (*shape, proposals), "decision, proposal")
        total = self.probability.sum(axis=-1)
        if np.any(self.probability < 0) or not np.all(np.abs(total - 1) <= TOLERANCE):
            raise InputError("probability", worst(self.probability), "rows of probabilities that sum to one")
        own = self.probability_of_proposal
        if np.any(own <= 0):
            i = int(np.argmin(own.reshape(-1)))
            allowed = "a positive probability of what was proposed"
            raise InputError("probability", f"0 of the proposal of decision {i + 1}", allowed)
        for name in ("implemented_by", "outcome_by"):
            check_known(name, getattr(self, name), shape)
        if self.unit is not None:
            checks.shaped("unit", self.unit, shape[-1:], "one a decision")
        self._check_features(shape)
        if self.pending is not None and np.any(self.pending & (self.outcome != UNSEEN)):
            raise InputError("pending", "a decision whose outcome is known", "those of which it is not known")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                seen = value.view()
                seen.setflags(write=False)
                object.__setattr__(self, each.name, seen)

    def _check_features(self, shape: tuple[int, ...]) -> None:
        covariates = self.space.covariates
        if covariates is None:
            if self.features is not None:
                raise InputError("features", f"shape {self.features.shape}", "nothing: the space has no covariates")
            return
        if self.features is None:
            hint = "with space.without_covariates() none are needed"
            raise InputError("features", NOTHING, f"those of {', '.join(covariates.names)}", hint)
        checks.shaped("features", self.features, (*shape, covariates.size), "decision, feature")
        if self.features.dtype != np.int16:
            object.__setattr__(self, "features", covariates.check(self.features).astype(np.int16))

    def without_covariates(self) -> "Log":
        """The same decisions, of which nothing but the context was known; itself where there are no covariates."""
        if self.space.covariates is None:
            return self
        return replace(self, space=self.space.without_covariates(), features=None, by_covariates=True)

    @classmethod
    def from_frame(
        cls,
        frame: "Frame",
        *,
        assigned: str,
        outcome: str,
        taken: str | None = None,
        context: str | Sequence[str] | None = None,
        probability: "Probability" = None,
        unit: str | None = None,
        exposure: str | None = None,
        space: Space | None = None,
        levels: Sequence[str] | None = None,
        better: Better | None = None,
        covariates: "Asked" = None,
    ) -> "Log":
        """The log of somebody else's trial: a polars or pandas frame, a row a decision, in their order.

        See `takeup.log.frames.log_of`, which says what each column is for and what is inferred.
        """
        from takeup.log.frames import log_of

        return log_of(
            frame,
            assigned=assigned,
            outcome=outcome,
            taken=taken,
            context=context,
            probability=probability,
            unit=unit,
            exposure=exposure,
            space=space,
            levels=levels,
            better=better,
            covariates=covariates,
        )

    def __len__(self) -> int:
        return int(self.proposal.shape[-1])

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the leading axes."""
        return self.proposal.shape[:-1]

    @property
    def finished(self) -> bool:
        """Whether nothing more is to come, no decision and no outcome."""
        return not self.running and (self.pending is None or not self.pending.any())

    @property
    def probability_of_proposal(self) -> FloatArray:
        """The probability of what was proposed, (.., n)."""
        return np.take_along_axis(self.probability, self.proposal[..., np.newaxis], axis=-1)[..., 0]

    @property
    def fixed(self) -> bool:
        """Whether all decisions of a context had the same probabilities: no adaptation."""
        return all(alike(self.probability, self.context == x) for x in range(len(self.space.contexts)))

    @property
    def constant(self) -> bool:
        """Whether all decisions had the same probabilities, whatever their context."""
        return alike(self.probability, np.ones(self.context.shape, dtype=np.bool_))

    def only(self, rows: NDArray[np.bool_] | IntArray | slice) -> "Log":
        """Some of the decisions of a single trial, in their order."""
        if self.batch:
            raise InputError("log", f"{len(self.batch)} leading axes", "a single trial")
        kept = np.arange(len(self))[rows]
        if (np.diff(kept) <= 0).any():
            raise InputError("rows", "another order", "rows in the order of the log, each once")
        by = {name: np.searchsorted(kept, getattr(self, name)) for name in ("implemented_by", "outcome_by")}
        taken: dict[str, Any] = {
            each.name: getattr(self, each.name)[kept]
            for each in fields(self)
            if isinstance(getattr(self, each.name), np.ndarray)
        }
        past = SOURCES.index("past")
        known = (self.source == past).any() and not (self.source[kept] == past).any()  # of all others they were logged
        estimated = self.estimated and not known
        return replace(self, **(taken | {name: where[kept] for name, where in by.items()}), estimated=estimated)
