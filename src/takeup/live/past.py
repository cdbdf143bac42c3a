"""A table of those who were assigned before a trial came to takeup, read in the words of the trial's spec."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta

import numpy as np

from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import NOTHING, InputError
from takeup.frames.columns import Column, Frame, column, names_of, text_of
from takeup.frames.files import own_table
from takeup.log.arrays import TOLERANCE
from takeup.log.frames import Rows, rows_of
from takeup.log.shares import Probability, probabilities
from takeup.space import UNSEEN
from takeup.trial.bounds import text
from takeup.trial.commands import MOST_NAME, Ask
from takeup.trial.design import Design
from takeup.trial.past import PastAssignment

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """Those who were assigned before, a row each: `Trial.create(.., past=Past(frame, ..))` takes them over.

    Labels are those of the trial's spec. Covariates, where it has some, are columns that are called like them. Missing
    values of what was taken and of the outcome are not known, and may be reported later.

    Attributes:
        frame: a polars or pandas frame, a mapping from the names of columns to lists, or the path of a file.
        unit: the column of whom each row is about.
        assigned: the column of what was proposed.
        outcome: the column of what came of it.
        taken: the column of what was implemented.
        context: the column, or several that are crossed, that people were told apart by before.
        probability: as `takeup.Log.from_frame` takes it; not known where left out.
        exposure: the column of how long events were counted.
        time: the column of when each was assigned, as times or dates, or as texts such as 2026-03-01T09:30+01:00; of
            UTC where they have no zone. Rows are in its order; in their own where left out.
        occasion: the column of which of the unit's decisions, where a unit has many.
    """

    frame: Frame
    unit: str = "unit"
    assigned: str = "assigned"
    outcome: str = "outcome"
    taken: str | None = None
    context: str | Sequence[str] | None = None
    probability: Probability = None
    exposure: str | None = None
    time: str | None = None
    occasion: str | None = None

    @classmethod
    def of(cls, given: "Past | Frame") -> "Past":
        """A table whose columns are called what they are for: unit, assigned, outcome and, where there, the others."""
        if isinstance(given, Past):
            return given
        frame, _ = own_table(given, {})
        there = set(names_of(frame))
        return cls(frame, **{each.name: each.name for each in fields(cls)[1:] if each.name in there})

    def assignments(self, design: Design) -> tuple[PastAssignment, ...]:
        """The rows in the order in which they were assigned.

        Raises:
            LabelError: a label that the spec does not have; names row and column.
            InputError: anything else that cannot be; likewise.
        """
        space, spec = design.space, design.spec
        if self.context is None and len(space.contexts) > 1:
            raise InputError("context", NOTHING, f"the column of the context, one of {', '.join(space.contexts)}")
        if self.taken is not None and spec.compliance == "never":
            raise InputError("taken", repr(self.taken), "nothing: the spec says that compliance is never reported")
        if (self.occasion is None) == (spec.decisions == "many"):
            allowed = "nothing: this trial makes one decision for a unit"
            if self.occasion is None:
                allowed = "the column of which of the unit's decisions: this trial makes many for a unit"
            raise InputError("occasion", NOTHING if self.occasion is None else repr(self.occasion), allowed)
        rows = self._rows(design)
        who = _named(column(rows.frame, "unit", self.unit))
        which = None if self.occasion is None else _named(column(rows.frame, "occasion", self.occasion))
        _once(who, which, many=spec.decisions == "many")
        decided = None if self.time is None else _times(column(rows.frame, "time", self.time))
        p = None if self.probability is None else self._drawn(rows)
        order = np.arange(rows.proposal.size) if decided is None else np.argsort(decided, kind="stable")
        return tuple(self._each(rows, order.tolist(), who, which, p, decided, _covariates(rows.frame, design)))

    def _rows(self, design: Design) -> Rows:
        return rows_of(
            self.frame,
            assigned=self.assigned,
            outcome=self.outcome,
            taken=self.taken,
            context=self.context,
            probability=self.probability,
            unit=self.unit,
            exposure=self.exposure,
            space=design.space,
            time=self.time,
            occasion=self.occasion,
        )

    def _drawn(self, rows: Rows) -> FloatArray:
        """What each was drawn from, if it can have been."""
        p, _, _ = probabilities(rows.frame, self.probability, rows.space.proposals, rows.proposal, rows.context)
        own = np.take_along_axis(p, rows.proposal[:, np.newaxis], axis=1)[:, 0]
        wrong = (np.abs(p.sum(axis=1) - 1) > TOLERANCE) | (own <= 0)
        if wrong.any():
            row = int(wrong.argmax())
            allowed = "probabilities that sum to one, and a positive one of what was assigned"
            raise InputError(f"probability: row {row + 1}", np.array2string(p[row], precision=6), allowed)
        return p

    def _each(
        self,
        rows: Rows,
        order: list[int],
        who: Column,
        which: Column | None,
        p: FloatArray | None,
        decided: IntArray | None,
        covariates: Mapping[str, Column] | None,
    ) -> Iterator[PastAssignment]:
        space, taken = rows.space, rows.implemented
        units = [text_of(value) for value in who.values]
        occasions = [] if which is None else [text_of(value) for value in which.values]
        for i in order:
            a, y = UNSEEN if taken is None else int(taken[i]), int(rows.outcome[i])
            yield PastAssignment(
                ask=Ask(
                    unit=units[who.codes[i]],
                    context=space.contexts[rows.context[i]],
                    occasion=None if which is None else occasions[which.codes[i]],
                    covariates=None if covariates is None else _values(covariates, i),
                ),
                proposal=space.proposals[rows.proposal[i]],
                implemented=None if a == UNSEEN else space.implemented[a],
                outcome=None if y == UNSEEN else space.outcome.plain(y),
                probability=None if p is None else tuple(p[i].tolist()),
                decided=None if decided is None else int(decided[i]),
            )


def _covariates(frame: Frame, design: Design) -> dict[str, Column] | None:
    """The columns of the trial's covariates, which are called like them."""
    found = design.space.covariates
    return None if found is None else {name: column(frame, f"covariates.{name}", name) for name in found.names}


def _values(covariates: Mapping[str, Column], row: int) -> dict[str, object]:
    """The covariates of a row; None where one is missing."""
    codes = ((name, each, int(each.codes[row])) for name, each in covariates.items())
    return {name: None if code == UNSEEN else each.values[code] for name, each, code in codes}


def _named(who: Column) -> Column:
    """A column of names that a trial can hold, one in every row."""
    if who.missing:
        raise InputError(who.place(UNSEEN), NOTHING, f"a name of the {who.argument} in every row")
    for k, value in enumerate(who.values):
        try:
            text(who.argument, text_of(value), MOST_NAME)
        except InputError as error:
            raise InputError(who.place(k), error.value, error.allowed, error.hint) from None
    return who


def _once(who: Column, which: Column | None, *, many: bool) -> None:
    """Nobody is in the table twice, on one occasion where there are many."""
    first: dict[tuple[str, str], int] = {}
    units = [text_of(value) for value in who.values]
    occasions = [""] if which is None else [text_of(value) for value in which.values]
    codes = [0] * who.codes.size if which is None else which.codes.tolist()
    for row, (unit, occasion) in enumerate(zip(who.codes.tolist(), codes, strict=True), start=1):
        before = first.setdefault((units[unit], occasions[occasion]), row)
        if before != row:
            value = f"{units[unit]!r}, who is in row {before} too"
            allowed = "each unit once on each occasion" if many else "each unit once"
            raise InputError(f"unit: row {row}, column {who.name!r}", value, allowed)


def _times(when: Column) -> IntArray:
    """When each was assigned, in microseconds since 1970, UTC."""
    if when.missing:
        raise InputError(when.place(UNSEEN), NOTHING, "a time in every row", "leave out time= where some are not known")
    return when.each(_moment)


def _moment(value: object) -> int:
    found: datetime | None = None
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            found = None
    elif isinstance(value, datetime):
        found = value
    elif isinstance(value, date):
        found = datetime.combine(value, time())
    if found is None or found.year < _EPOCH.year:
        hint = "write it as in 2026-03-01, or 2026-03-01T09:30+01:00"
        raise InputError("time", shown(value), "a time or a date since 1970", hint)
    aware = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return max(0, (aware - _EPOCH) // _MICROSECOND)
