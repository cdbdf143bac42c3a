"""Evidence: a table of whole numbers that add, which is everything that a policy may learn from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import IntArray
from takeup.covariates import LeastSquares
from takeup.errors import NOTHING, InputError, MismatchError, UnsuitableError
from takeup.events import Event, Index, check_report, checked, event
from takeup.frames.columns import Frame, column
from takeup.log.frames import Rows, rows_of
from takeup.outcomes import Better
from takeup.space import UNSEEN, Space

__all__ = ["Decisions", "Event", "Evidence", "Index", "Weighted", "at_context", "check_report", "checked", "event"]

Scalar = TypeVar("Scalar", bound=np.generic)

TOO_LARGE = ("sums of at most 2^63 - 1", "a larger step of the outcome keeps them small")
"""What is allowed where 64 bits were too few, and what to do."""

FEW_ROWS = 10_000
"""How many decisions with covariates are added at once, which bounds the memory that it takes."""


class Decisions(Protocol):
    """Decisions in columns, (.., n), as a `takeup.Log` has them."""

    @property
    def space(self) -> Space:
        """What the indices stand for."""

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the leading axes."""

    @property
    def context(self) -> IntArray:
        """Of each decision."""

    @property
    def proposal(self) -> IntArray:
        """To each."""

    @property
    def implemented(self) -> IntArray:
        """In each; UNSEEN where it was not reported."""

    @property
    def outcome(self) -> IntArray:
        """Of each, as its code; UNSEEN likewise."""

    @property
    def features(self) -> NDArray[np.int16] | None:
        """Of each, (.., n, d), where there are covariates."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """What the decisions of each (x, z, a) add up to, of shape (.., X, Kz, Ka + 1, W + 1).

    Along the last axis is the statistic of the outcome (`takeup.outcomes`): with levels how often each was seen,
    n[x, z, a, y], so that W = Y; with numbers how many are in each bin, and their sum and sum of squares in steps.
    After it are the sums that covariates add (`takeup.covariates`), where there are any. The last slot of the last two
    axes is UNSEEN. Every decision is counted in exactly one cell; reporting more about it moves it to another. Evidence
    adds, in any order, to the bit, and its size does not grow with history. Leading axes, where there are any, are
    replications side by side.

    Attributes:
        space: what the axes stand for.
        counts: the table.
        inferred: what was taken to be so where nobody said, a sentence each, of one that was read from a table.
    """

    space: Space
    counts: IntArray
    inferred: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        table = checks.counts("counts", self.counts)
        axes = "context, proposal, implemented or UNSEEN, outcome or UNSEEN"
        checks.shaped("counts", table, self.space.table, axes)
        table.setflags(write=False)
        object.__setattr__(self, "counts", table)

    @classmethod
    def empty(cls, space: Space, batch: tuple[int, ...] = ()) -> "Evidence":
        """Nothing seen yet; `batch` is the shape of the leading axes."""
        return cls(space, np.zeros((*batch, *space.table), dtype=np.int64))

    @classmethod
    def of(cls, space: Space, events: Iterable[Event]) -> "Evidence":
        """The table of these events, each a single decision."""
        counts = np.zeros_like(cls.empty(space).counts)
        for each in events:
            *place, outcome = checked(space, each)
            counts[tuple(place)] += space.amounts(outcome, each.features)
        return _summed(space, counts)

    @classmethod
    def from_log(cls, log: Decisions) -> "Evidence":
        """The table of the decisions of a `takeup.Log`; of each trial's, where there are several side by side."""
        counts = np.zeros((*log.batch, *log.space.table), dtype=np.int64)
        trials = tuple(index[..., np.newaxis] for index in np.indices(log.batch, sparse=True))
        n = log.proposal.shape[-1]
        step = max(n, 1) if log.features is None else FEW_ROWS  # what covariates add is wide
        for first in range(0, n, step):
            rows = (..., slice(first, first + step))
            place = (*trials, log.context[rows], log.proposal[rows], log.implemented[rows])
            features = None if log.features is None else log.features[(*rows, slice(None))].astype(np.int64)
            np.add.at(counts, place, log.space.amounts(log.outcome[rows], features))
        return _summed(log.space, counts)

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        assigned: str,
        outcome: str,
        taken: str | None = None,
        context: str | Sequence[str] | None = None,
        exposure: str | None = None,
        count: str | None = None,
        space: Space | None = None,
        levels: Sequence[str] | None = None,
        better: Better | None = None,
    ) -> "Evidence":
        """The table of somebody else's decisions; `inferred` says what was taken to be so.

        All arguments but `count` are as `takeup.Log.from_frame` takes them: `takeup.log.frames.log_of` says what each
        column is for. Null, NaN, None and blank cells of what was taken and of the outcome are UNSEEN.

        Args:
            frame: a polars or pandas frame, a mapping from the names of columns to lists, or the path of a file.
            assigned: the column of what was proposed.
            outcome: the column of what came of it.
            taken: the column of what was implemented; UNSEEN of all where left out.
            context: the column, or several that are crossed, that people were told apart by before.
            exposure: the column of how long events were counted.
            count: the column of how many decisions each row stands for, where there is not a row for each.
            space: what labels there are; inferred where left out.
            levels: the labels of the outcome from worst to best, where no space is given.
            better: "lower" where low numbers are good.

        Raises:
            LabelError: a label that is not known; names row, column and what is.
            InputError: a column that is not there, or holds what it should not, such as weights that are no counts.
        """
        rows = rows_of(
            frame,
            assigned=assigned,
            outcome=outcome,
            taken=taken,
            context=context,
            exposure=exposure,
            count=count,
            space=space,
            levels=levels,
            better=better,
        )
        counts = np.zeros(rows.space.table, dtype=np.int64)
        actions = np.full_like(rows.proposal, UNSEEN) if rows.implemented is None else rows.implemented
        amounts = rows.space.amounts(rows.outcome)
        if count is not None:
            amounts = amounts * _many(rows, count)[:, np.newaxis]
        np.add.at(counts, (rows.context, rows.proposal, actions), amounts)
        return replace(_summed(rows.space, counts), inferred=rows.inferred)

    def __add__(self, other: "Evidence") -> "Evidence":
        if self.space != other.space:
            raise MismatchError(f"evidence from two different spaces does not add: {self.space} and {other.space}")
        both = _summed(self.space, self.counts + other.counts)
        said = tuple(dict.fromkeys((*self.inferred, *other.inferred)))
        return replace(both, inferred=said) if said else both

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Evidence):
            return NotImplemented
        return self.space == other.space and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # equal by value, and as large as its table

    def record(self, event: Event) -> "Evidence":
        """The evidence with one more decision (one in each replication)."""
        place, amounts = self._added(event)
        return self._with((place, self.counts[place] + amounts))

    def move(self, before: Event, after: Event) -> "Evidence":
        """The evidence with a decision that was known as `before` now known as `after`; the total stays.

        Raises:
            MismatchError: the two differ in what was known before, or no decision is in the cell of `before`.
        """
        check_report(before, after)
        place, amounts = self._added(before)
        less = self.counts[place] - amounts
        if np.any(less < 0):
            raise MismatchError(f"no decision is known as {before}; it may have been moved already")
        without = self._with((place, less))
        place, amounts = without._added(after)
        return without._with((place, without.counts[place] + amounts), copy=False)

    def at(self, context: Index) -> "Evidence":
        """The evidence of one context, which may be another one in each replication; without covariates."""
        plain = self.without_covariates().counts
        return type(self)(self.space.of_one_context(), at_context(plain, context, trailing=4))

    def without_covariates(self) -> "Evidence":
        """What policies see that make nothing of covariates; itself where there are none."""
        if self.space.covariates is None:
            return self
        counts = np.concatenate([self.counts[..., : self.space.outcome.width], self.counts[..., -1:]], axis=-1)
        return type(self)(self.space.without_covariates(), counts)

    def only(self, contexts: NDArray[np.bool_]) -> "Evidence":
        """The evidence of some contexts, that of the others left out; `contexts` has the axes (.., X)."""
        return type(self)(self.space, self.counts * contexts[..., np.newaxis, np.newaxis, np.newaxis])

    def by_cell(self) -> "Evidence":
        """The counts alone, with a level for each bin that outcomes are counted in."""
        cells = self.space.outcome.cells
        return type(self)(
            self.space.by_cell(), np.concatenate([self.counts[..., :cells], self.counts[..., -1:]], axis=-1)
        )

    @property
    def total(self) -> IntArray:
        """How many decisions there are."""
        return np.asarray(self.decisions.sum(axis=(-3, -2, -1)))

    @property
    def decisions(self) -> IntArray:
        """n[x, z, a]: how many decisions there are, the last slot being those whose compliance is unseen."""
        return np.asarray(self.space.outcome.seen(self.counts) + self.counts[..., UNSEEN])

    @property
    def statistic(self) -> IntArray:
        """[x, z, a, .]: the statistic of the outcomes that have been seen, by what was proposed and implemented."""
        return self.counts[..., : self.space.outcome.width]

    @property
    def least_squares(self) -> LeastSquares:
        """[x, z, a]: what linear models read of covariates, the last slot being those whose compliance is unseen.

        Summed over a it is by proposal; over z, without the last a, by implemented action.
        """
        sums, outcome = self.space.sums, self.space.outcome
        if sums is None:
            raise UnsuitableError("the space has no covariates; give it covariates={'age': Measure(18, 100)}")
        return sums.least_squares(self.counts[..., outcome.width : -1], outcome.seen(self.counts))

    @property
    def proposed_outcomes(self) -> IntArray:
        """[x, z, .]: seen outcomes by proposal, whether or not compliance was seen. What TS learns from."""
        return np.asarray(np.einsum("...xzay->...xzy", self.statistic))

    @property
    def implemented_outcomes(self) -> IntArray:
        """[x, a, .]: seen outcomes by seen implemented action."""
        return np.asarray(np.einsum("...xzay->...xay", self.statistic[..., :-1, :]))

    @property
    def compliance(self) -> IntArray:
        """n[x, z, a]: seen implemented actions by proposal, whether or not the outcome is still pending."""
        return self.decisions[..., :-1]

    @property
    def complied_outcomes(self) -> IntArray:
        """[x, z, .]: seen outcomes of those who did what was proposed. What TS-Check learns from."""
        a = np.array(self.space.complying("the count of those who complied"))
        return self.statistic[..., np.arange(a.size), a, :]

    @property
    def latent_outcomes(self) -> IntArray:
        """[x, z, .]: seen outcomes with unseen compliance. What TS-Lat has to explain."""
        return self.statistic[..., UNSEEN, :]

    @property
    def seen_outcomes(self) -> IntArray:
        """n[x]: how many outcomes have been seen in each context."""
        return np.asarray(self.space.outcome.seen(self.counts).sum(axis=(-2, -1)))

    def _with(self, sums: tuple[tuple[Index, ...], IntArray], *, copy: bool = True) -> "Evidence":
        """The evidence with these sums in place of those there: the rest has been checked before."""
        place, values = sums
        if np.any(values < 0):
            raise InputError("counts", "sums that are larger", *TOO_LARGE)
        counts = self.counts.copy() if copy else self.counts
        counts.setflags(write=True)
        counts[place] = values
        counts.setflags(write=False)
        found = object.__new__(Evidence)
        object.__setattr__(found, "space", self.space)
        object.__setattr__(found, "counts", counts)
        object.__setattr__(found, "inferred", ())
        return found

    def _added(self, event: Event) -> tuple[tuple[Index, ...], IntArray]:
        """The event's place in the table, one in each replication, and what it adds there."""
        batch = self.counts.shape[:-4]
        *place, outcome = checked(self.space, event)
        if not batch:
            return tuple(place), self.space.amounts(outcome, event.features)
        try:
            everywhere = (*np.indices(batch, sparse=True), *(np.broadcast_to(i, batch) for i in place))
            amounts = self.space.amounts(np.broadcast_to(outcome, batch), event.features)
            return everywhere, np.broadcast_to(amounts, (*batch, amounts.shape[-1]))
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


def _summed(space: Space, counts: IntArray) -> Evidence:
    """Evidence of sums, of which none is below zero unless 64 bits were too few for it.

    The greatest are of k^2: on a grid of a million steps they hold 9.2 million decisions at its very end, in each cell.
    """
    try:
        return Evidence(space, counts)
    except InputError:
        raise InputError("counts", "sums that are larger", *TOO_LARGE) from None


def _many(rows: Rows, name: str) -> IntArray:
    """How many decisions each row stands for: whole numbers, as evidence counts people."""
    given = column(rows.frame, "count", name)
    numbers = given.numbers("a whole number")
    wrong = ~((numbers >= 0) & (numbers == np.floor(numbers)) & (numbers < 2**53))
    if wrong.any():
        row = int(wrong.argmax())
        value = NOTHING if np.isnan(numbers[row]) else f"{numbers[row]:g}"
        hint = "evidence counts decisions, which have no weights; what is to count for less is a Prior with a discount"
        raise InputError(f"count: row {row + 1}, column {name!r}", value, "a whole number from 0", hint)
    return numbers.astype(np.int64)
