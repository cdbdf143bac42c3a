"""Evidence: a table of counts, which is everything that a policy may learn from."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import IntArray
from takeup.errors import InputError, LabelError, MismatchError
from takeup.space import UNSEEN, Label, Space

Scalar = TypeVar("Scalar", bound=np.generic)

Index: TypeAlias = "int | IntArray"
"""One index, or an array of them, one for each of many replications that run side by side."""


@dataclass(frozen=True, slots=True)
class Event:
    """One decision as far as it is known, in the order of algorithm 1 of Stirn & Jebara (2019).

    Attributes:
        context: x, the a priori variable, revealed before the decision.
        proposal: z, the control.
        implemented: a, an a posteriori variable; UNSEEN while compliance has not been reported.
        outcome: y, an a posteriori variable; UNSEEN while the outcome is pending.
        number: which decision it is, counted from 0; those who tell old from new need it.
    """

    context: Index
    proposal: Index
    implemented: Index = UNSEEN
    outcome: Index = UNSEEN
    number: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """How often each (x, z, a, y) has been seen: n[x, z, a, y], of shape (.., X, Kz, Ka + 1, Y + 1).

    The last slot of the last two axes is UNSEEN. Every decision occupies exactly one cell; reporting more about it
    moves it to another. Evidence adds, in any order, and its size does not grow with history. Leading axes, where
    there are any, are replications side by side.

    Attributes:
        space: the finite sets that the axes stand for.
        counts: the table.
    """

    space: Space
    counts: IntArray

    def __post_init__(self) -> None:
        table = checks.counts("counts", self.counts)
        x, z, a, y = self.space.shape
        checks.shaped(
            "counts",
            table,
            (x, z, a + 1, y + 1),
            "context, proposal, implemented or UNSEEN, outcome or UNSEEN",
        )
        table.setflags(write=False)
        object.__setattr__(self, "counts", table)

    @classmethod
    def empty(cls, space: Space, batch: tuple[int, ...] = ()) -> "Evidence":
        """Nothing seen yet; `batch` is the shape of the leading axes."""
        x, z, a, y = space.shape
        return cls(space, np.zeros((*batch, x, z, a + 1, y + 1), dtype=np.int64))

    @classmethod
    def of(cls, space: Space, events: Iterable[Event]) -> "Evidence":
        """The table of these events, each a single decision."""
        counts = np.zeros_like(cls.empty(space).counts)
        for event in events:
            counts[_cell(space, event)] += 1
        return cls(space, counts)

    def __add__(self, other: "Evidence") -> "Evidence":
        if self.space != other.space:
            raise MismatchError(f"evidence from two different spaces does not add: {self.space} and {other.space}")
        return Evidence(self.space, self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evidence):
            return NotImplemented
        return self.space == other.space and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # equal by value, and as large as its table

    def record(self, event: Event) -> "Evidence":
        """The evidence with one more decision (one in each replication)."""
        counts = self.counts.copy()
        counts[self._cells(event)] += 1
        return Evidence(self.space, counts)

    def move(self, before: Event, after: Event) -> "Evidence":
        """The evidence with a decision that was known as `before` now known as `after`; the total stays.

        Raises:
            MismatchError: the two differ in context or proposal, or no decision is in the cell of `before`.
        """
        if not (np.array_equal(before.context, after.context) and np.array_equal(before.proposal, after.proposal)):
            raise MismatchError(f"a report cannot change the context or the proposal: {before} became {after}")
        counts = self.counts.copy()
        cells = self._cells(before)
        if np.any(counts[cells] < 1):
            raise MismatchError(f"no decision is known as {before}; it may have been moved already")
        counts[cells] -= 1
        counts[self._cells(after)] += 1
        return Evidence(self.space, counts)

    def at(self, context: Index) -> "Evidence":
        """The evidence of one context, which may be another one in each replication."""
        return type(self)(self.space.of_one_context(), at_context(self.counts, context, trailing=4))

    def only(self, contexts: NDArray[np.bool_]) -> "Evidence":
        """The evidence of some contexts, that of the others left out; `contexts` has the axes (.., X)."""
        return type(self)(self.space, self.counts * contexts[..., np.newaxis, np.newaxis, np.newaxis])

    @property
    def total(self) -> IntArray:
        """How many decisions there are."""
        return np.asarray(self.counts.sum(axis=(-4, -3, -2, -1)))

    @property
    def proposed_outcomes(self) -> IntArray:
        """n[x, z, y]: seen outcomes by proposal, whether or not compliance was seen. What TS learns from."""
        return np.asarray(np.einsum("...xzay->...xzy", self.counts[..., :-1]))

    @property
    def implemented_outcomes(self) -> IntArray:
        """n[x, a, y]: seen outcomes by seen implemented action."""
        return np.asarray(np.einsum("...xzay->...xay", self.counts[..., :-1, :-1]))

    @property
    def compliance(self) -> IntArray:
        """n[x, z, a]: seen implemented actions by proposal, whether or not the outcome is still pending."""
        return np.asarray(np.einsum("...xzay->...xza", self.counts[..., :-1, :]))

    @property
    def complied_outcomes(self) -> IntArray:
        """n[x, z, y]: seen outcomes of those who did what was proposed. What TS-Check learns from."""
        a = np.array(self.space.complying("the count of those who complied"))
        return self.counts[..., np.arange(a.size), a, :-1]

    @property
    def latent_outcomes(self) -> IntArray:
        """n[x, z, y]: seen outcomes with unseen compliance. What TS-Lat has to explain."""
        return self.counts[..., UNSEEN, :-1]

    @property
    def seen_outcomes(self) -> IntArray:
        """n[x]: how many outcomes have been seen in each context."""
        return np.asarray(self.counts[..., :-1].sum(axis=(-3, -2, -1)))

    def _cells(self, event: Event) -> tuple[Index, ...]:
        """The event's place in the table, one in each replication."""
        batch = self.counts.shape[:-4]
        cell = _cell(self.space, event)
        if not batch:
            return cell
        try:
            return (*np.indices(batch, sparse=True), *(np.broadcast_to(i, batch) for i in cell))
        except ValueError:
            raise InputError("event", event, f"one decision in each of {batch} replications") from None


@dataclass(frozen=True, slots=True, eq=False)
class Weighted(Evidence):
    """Evidence in which decisions count less than one: real numbers where Evidence has whole ones. For reading alone.

    Counts are never scaled where they are kept; this is what a policy is shown that forgets, see `takeup.epochs`.
    """

    def __post_init__(self) -> None:
        weights = checks.real("counts", self.counts)
        weights.setflags(write=False)
        object.__setattr__(self, "counts", weights)

    def record(self, event: Event) -> "Evidence":
        """Refused."""
        raise MismatchError("weighted evidence is for reading; record into the counts that it was made from")

    def move(self, before: Event, after: Event) -> "Evidence":
        """Refused."""
        raise MismatchError("weighted evidence is for reading; move within the counts that it was made from")


def event(
    space: Space,
    proposal: Label,
    implemented: Label | None = None,
    outcome: Label | None = None,
    *,
    context: Label = 0,
) -> Event:
    """An event in the names of its space; what is left out is UNSEEN."""
    return Event(
        space.index("context", context),
        space.index("proposal", proposal),
        UNSEEN if implemented is None else space.index("implemented", implemented),
        UNSEEN if outcome is None else space.index("outcome", outcome),
    )


def at_context(array: NDArray[Scalar], context: Index, trailing: int) -> NDArray[Scalar]:
    """The slice of `array` at a context that may differ between replications; its context axis keeps length one.

    Args:
        array: shape (.., X, ..) with the context axis `trailing` places from the end.
        context: an index in each replication.
        trailing: how many axes the array has from the context axis on.
    """
    batch = np.broadcast_shapes(np.shape(context), array.shape[:-trailing])
    context = np.broadcast_to(context, batch)
    array = np.broadcast_to(array, batch + array.shape[-trailing:])
    return np.take_along_axis(array, context.reshape(context.shape + (1,) * trailing), axis=-trailing)


def _cell(space: Space, event: Event) -> tuple[Index, ...]:
    """The indices of an event, checked: UNSEEN is allowed for what may be unseen."""
    axes = (
        ("context", event.context, 0),
        ("proposal", event.proposal, 0),
        ("implemented", event.implemented, UNSEEN),
        ("outcome", event.outcome, UNSEEN),
    )
    for (name, index, least), size in zip(axes, space.shape, strict=True):
        if np.min(index) < least or np.max(index) >= size:
            unseen = ", or UNSEEN" if least == UNSEEN else ""
            raise LabelError(name, f"index {index}", f"an index from 0 to {size - 1}{unseen}")
    return tuple(index for _, index, _ in axes)
