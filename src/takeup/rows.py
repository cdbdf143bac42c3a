"""Rows: decisions one by one, for models of which no few sums are enough, as logistic ones."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import IntArray
from takeup.errors import NOTHING, InputError, MismatchError, UnsuitableError
from takeup.evidence import Event, Evidence, check_report, checked, event
from takeup.space import Space

NO_COVARIATES = "rows are of a space with covariates; give it covariates={'age': Measure(18, 100)}"

AXES = ("context", "proposal", "implemented", "outcome")

Scalar = TypeVar("Scalar", bound=np.generic)

FIRST = 64
"""How many rows there is room for at first; it doubles whenever it is full."""


class _Columns(NamedTuple):
    """Room for rows: (.., room, d) and (.., room)."""

    features: NDArray[np.int16]
    context: NDArray[np.int32]
    proposal: NDArray[np.int32]
    implemented: NDArray[np.int32]
    outcome: NDArray[np.int32]


class _Room:
    """Columns that several Rows share, and how many of their rows are taken."""

    __slots__ = ("columns", "taken")

    def __init__(self, columns: _Columns, taken: int) -> None:
        self.columns, self.taken = columns, taken


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The decisions so far, as a multiset of (x, v, z, a, y): whatever order they came in, the same rows are equal.

    A value like Evidence: `record` and `move` return the rows after it and leave these as they are. What is recorded
    goes into room that is shared with the rows before, so that n decisions cost n, not n^2. Leading axes are
    replications side by side, each with as many rows.

    Attributes:
        space: what the numbers stand for; it has covariates.
        size: n, how many decisions there are.
    """

    space: Space
    size: int
    _room: _Room

    @classmethod
    def empty(cls, space: Space, batch: tuple[int, ...] = ()) -> "Rows":
        """Nothing seen yet; `batch` is the shape of the leading axes."""
        if space.covariates is None:
            raise UnsuitableError(NO_COVARIATES)
        room = (*batch, FIRST)
        numbers = (np.zeros(room, dtype=np.int32) for _ in range(4))
        columns = _Columns(np.zeros((*room, space.covariates.size), dtype=np.int16), *numbers)
        return cls(space, 0, _Room(columns, 0))

    @classmethod
    def of(cls, space: Space, columns: Mapping[str, Iterable[object]]) -> "Rows":
        """The decisions of a data frame, or of any table of columns by name.

        Args:
            space: what the names stand for.
            columns: one for each covariate, and `proposal`; also `context`, `implemented` and `outcome`, of which
                everybody has the first, or none is seen, where they are left out. None and NaN are missing.

        Raises:
            InputError: a column that is missing, or a value that is not allowed; it names the row, counted from 1.
        """
        if space.covariates is None:
            raise UnsuitableError(NO_COVARIATES)
        told = {name: list(columns[name]) for name in (*AXES, *space.covariates.names) if name in columns}
        for name in ("proposal", *space.covariates.names):
            if name not in told:
                raise InputError(name, NOTHING, f"a column for proposal, {', '.join(space.covariates.names)}")
        many = {name: len(each) for name, each in told.items()}
        if len(set(many.values())) > 1:
            raise InputError("columns", f"{many}", "columns that are of one length")
        made = []
        if not many["proposal"]:
            return cls.empty(space)
        for i, values in enumerate(zip(*told.values(), strict=True)):
            row = {name: None if _missing(value) else value for name, value in zip(told, values, strict=True)}
            with checks.inside(f"row {i + 1}"):
                made.append(_event(space, row))
        features = np.array([each.features for each in made], dtype=np.int64).reshape(-1, space.covariates.size)
        axes: dict[str, Any] = {axis: np.array([getattr(each, axis) for each in made], dtype=np.int64) for axis in AXES}
        return cls.gathered(space, Event(**axes, features=features))

    @classmethod
    def gathered(cls, space: Space, decisions: Event) -> "Rows":
        """A row for each of the decisions that an event has along its axis, in place of replications side by side."""
        (many,) = np.shape(decisions.proposal)
        return cls(space, many, _Room(_values(space, (many,), decisions), many))

    @classmethod
    def joined(cls, parts: Sequence["Rows"]) -> "Rows":
        """The decisions of several, at least one, which are of single experiments in one space."""
        columns = _Columns(*(np.concatenate(each) for each in zip(*(part._own for part in parts), strict=True)))
        many = sum(part.size for part in parts)
        return cls(parts[0].space, many, _Room(columns, many))

    @property
    def _own(self) -> _Columns:
        """Its columns, without what there is room for."""
        return _Columns(self.features, self.context, self.proposal, self.implemented, self.outcome)

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of the leading axes."""
        return self._room.columns.context.shape[:-1]

    @property
    def features(self) -> NDArray[np.int16]:
        """The features v of each decision, in thousandths; shape (.., n, d)."""
        return _kept(self._room.columns.features[..., : self.size, :])

    @property
    def context(self) -> NDArray[np.int32]:
        """The context of each; shape (.., n)."""
        return _kept(self._room.columns.context[..., : self.size])

    @property
    def proposal(self) -> NDArray[np.int32]:
        """What was proposed to each; shape (.., n)."""
        return _kept(self._room.columns.proposal[..., : self.size])

    @property
    def implemented(self) -> NDArray[np.int32]:
        """What was implemented in each, UNSEEN where it was not reported; shape (.., n)."""
        return _kept(self._room.columns.implemented[..., : self.size])

    @property
    def outcome(self) -> NDArray[np.int32]:
        """What came of each, as its code, UNSEEN while it is pending; shape (.., n)."""
        return _kept(self._room.columns.outcome[..., : self.size])

    def record(self, event: Event) -> "Rows":
        """The rows with one more decision (one in each replication)."""
        values = _values(self.space, self.batch, event)
        room = self._room
        if room.taken != self.size or self.size == room.columns.context.shape[-1]:
            room = self._copied(2 * max(self.size, FIRST // 2))
        here: tuple[Any, ...] = (*(slice(None),) * len(self.batch), self.size)
        room.columns.features[here] = values.features
        for column, value in zip(room.columns[1:], values[1:], strict=True):
            column[here] = value
        room.taken = self.size + 1
        return Rows(self.space, self.size + 1, room)

    def move(self, before: Event, after: Event) -> "Rows":
        """The rows with a decision that was known as `before` now known as `after`.

        Raises:
            MismatchError: the two differ in what was known before, or no decision is known as `before`.
        """
        check_report(before, after)
        place = self._place(before)[..., np.newaxis]
        columns = self._room.columns
        later = _values(self.space, self.batch, after)
        implemented, outcome = columns.implemented.copy(), columns.outcome.copy()
        np.put_along_axis(implemented, place, later.implemented[..., np.newaxis], axis=-1)
        np.put_along_axis(outcome, place, later.outcome[..., np.newaxis], axis=-1)
        taken = _Columns(columns.features, columns.context, columns.proposal, implemented, outcome)
        moved = Rows(self.space, self.size, _Room(taken, self.size))
        if self._room.taken != self.size:  # others have gone on in the room that the two would share
            return replace(moved, _room=moved._copied(columns.context.shape[-1]))
        self._room.taken = -1  # from here on the shared room belongs to what was moved
        return moved

    def among(self, replications: NDArray[np.bool_]) -> "Rows":
        """The rows of some replications, one after the other."""
        columns = _Columns(*(column[replications] for column in self._room.columns))  # type: ignore[arg-type]  # columns of several types
        return Rows(self.space, self.size, _Room(columns, self.size))

    def evidence(self) -> Evidence:
        """The table of these decisions."""
        counts = np.zeros((*self.batch, *self.space.table), dtype=np.int64)
        trials: list[NDArray[Any]] = [index[..., np.newaxis] for index in np.indices(self.batch, sparse=True)]
        place = (*trials, self.context, self.proposal, self.implemented)
        np.add.at(counts, place, self.space.amounts(self.outcome, np.asarray(self.features, dtype=np.int64)))
        return Evidence(self.space, counts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Rows):
            return NotImplemented
        alike = self.space == other.space and self.size == other.size and self.batch == other.batch
        return alike and np.array_equal(self._sorted(), other._sorted())

    __hash__ = None  # type: ignore[assignment]  # equal by value, and as large as its rows

    def _sorted(self) -> IntArray:
        """The rows of each replication, in the order of their numbers; shape (-1, n, d + 4)."""
        parts = (self.context, self.proposal, self.implemented, self.outcome)
        table = np.concatenate([self.features, np.stack(parts, axis=-1)], axis=-1, dtype=np.int64)
        table = table.reshape(int(np.prod(self.batch)), self.size, table.shape[-1])
        return np.stack([each[np.lexsort(each.T)] for each in table])

    def _place(self, event: Event) -> IntArray:
        """A row that is what an event says, in each replication; its number is where it is, where all are recorded."""
        values, number = _values(self.space, self.batch, event), event.number
        if number is not None and number < self.size and self._same(values, slice(number, number + 1)).all():
            return np.full(self.batch, number)
        same = self._same(values, slice(0, self.size))
        if not same.any(axis=-1).all():
            raise MismatchError(f"no decision is known as {event}; it may have been moved already")
        return np.asarray(same.argmax(axis=-1))

    def _same(self, values: _Columns, rows: slice) -> NDArray[np.bool_]:
        """Which of these rows are that."""
        inside = (*(slice(None),) * len(self.batch), rows)
        features, *numbers = self._room.columns
        same = (features[inside] == values.features[..., np.newaxis, :]).all(axis=-1)
        for column, value in zip(numbers, values[1:], strict=True):
            same &= column[inside] == value[..., np.newaxis]
        return np.asarray(same)

    def _copied(self, room: int) -> _Room:
        """The same rows in room of their own."""
        columns = self._room.columns
        more = []
        for column in columns:
            axis = len(self.batch)
            new = np.zeros((*column.shape[:axis], room, *column.shape[axis + 1 :]), dtype=column.dtype)
            inside = (slice(None),) * axis
            new[(*inside, slice(0, self.size))] = column[(*inside, slice(0, self.size))]
            more.append(new)
        return _Room(_Columns(*more), self.size)


def _values(space: Space, batch: tuple[int, ...], event: Event) -> _Columns:
    """What an event is in each column, checked and in its final shape."""
    axes = checked(space, event)
    assert space.covariates is not None
    assert event.features is not None
    v = space.covariates.check(event.features)
    try:
        numbers = (np.broadcast_to(each, batch).astype(np.int32) for each in axes)
        return _Columns(np.broadcast_to(v, (*batch, v.shape[-1])).astype(np.int16), *numbers)
    except ValueError:
        raise InputError("event", event, f"one decision in each of {batch} replications") from None


def _event(space: Space, row: Mapping[str, Any]) -> Event:
    assert space.covariates is not None
    covariates = {name: row[name] for name in space.covariates.names}
    known = {"context": 0} | {name: row[name] for name in AXES if name in row}
    return event(space, known.pop("proposal"), **known, covariates=covariates)


def _missing(value: object) -> bool:
    """None, or NaN as data frames have it."""
    return value is None or (isinstance(value, float | np.floating) and bool(np.isnan(value)))


def _kept(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """A view that cannot be written to."""
    view = array.view()
    view.setflags(write=False)
    return view
