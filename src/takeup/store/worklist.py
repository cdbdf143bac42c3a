"""Who waits for a report: late first, then the oldest; and where a unit stands.

Every question is answered from an index that holds nothing but what is asked for, so that what has been reported costs
nothing, however much it is. Who was decided first is due first, so that the order of numbers is that of due times.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, select, text, tuple_

from takeup.space import UNSEEN
from takeup.store.schema import PENDING, UNREPORTED, decisions

PART = 1_000
"""How many rows are asked for at a time where all are wanted."""
_LAST = chr(0x10FFFF)
_NAMES = ("number", "unit", "occasion", "at", "due", "implemented", "outcome", "missing_implemented", "missing_outcome")
_COLUMNS = [decisions.c[name] for name in _NAMES]


@dataclass(frozen=True, slots=True)
class Awaited:
    """A decision on a worklist.

    Attributes:
        number: the decision's.
        unit: whom it is for.
        occasion: which of the unit's; empty where each has one.
        at: when it was made.
        due: when its outcome window closes.
        action: whether what was done is still to be reported.
        outcome: whether what came of it is.
        late: whether the outcome is, and its window has closed.
    """

    number: int
    unit: str
    occasion: str
    at: int
    due: int | None
    action: bool
    outcome: bool
    late: bool


@dataclass(frozen=True, slots=True)
class Worklist:
    """What is awaited in a trial at a time.

    Attributes:
        connection: to one state of a database.
        trial: which trial.
        at: what time it is, in microseconds since 1970.
        actions: whether what was done is to be reported for everybody.
    """

    connection: Connection
    trial: str
    at: int
    actions: bool

    def part(self, most: int, late: int | None = 0, after: int = 0) -> list[Awaited]:
        """The first of what is awaited, at most `most` of it.

        Args:
            most: how many.
            late: go on after this number among those that are late; None where all of these were had.
            after: go on after this number among the others.
        """
        found = [] if late is None else list(self._late(late, most))
        if len(found) < most:
            found += islice(self._others(after, most - len(found)), most - len(found))
        return found

    def all(self) -> Iterator[Awaited]:
        """Everything that is awaited, a part at a time."""
        late: int | None = 0
        after = 0
        while found := self.part(PART, late, after):
            yield from found
            last = found[-1]
            late, after = (last.number, 0) if last.late else (None, last.number)

    def units(self, prefix: str, most: int, after: tuple[str, str] = ("", "")) -> list[Awaited]:
        """The decisions of units whose name begins so, in the order of names, whatever is known of them."""
        by = tuple_(decisions.c.unit, decisions.c.occasion)
        statement = select(*_COLUMNS).where(decisions.c.trial == self.trial, self._begins(prefix))
        if after != ("", ""):
            statement = statement.where(by > after)
        ordered = statement.order_by(decisions.c.unit, decisions.c.occasion).limit(most)
        return [self._awaited(row) for row in self.connection.execute(ordered)]

    def _begins(self, prefix: str) -> ColumnElement[bool]:
        """Names that begin so: a range of the index where that is in the order of bytes, as it is in SQLite."""
        unit = decisions.c.unit
        if self.connection.dialect.name == "sqlite":
            return and_(unit >= prefix, unit <= prefix + _LAST)
        return unit.startswith(prefix, autoescape=True)

    def _late(self, after: int, most: int) -> Iterator[Awaited]:
        first = self._due(after) if after else 0
        return self._pending("due BETWEEN :first AND :at AND number > :after", most, first=first, after=after)

    def _others(self, after: int, most: int) -> Iterator[Awaited]:
        """What is not late: outcomes whose window is open, or that have none, and actions by themselves."""
        first = max(self.at + 1, self._due(after)) if after else self.at + 1
        parts = [
            self._pending("due >= :first AND number > :after", most, first=first, after=after),
            self._pending("due IS NULL AND number > :after", most, after=after),
        ]
        if self.actions:
            parts.append(self._found("unreported", f"{UNREPORTED} AND number > :after", "number", most, after=after))
        return merge(*parts, key=lambda each: each.number)

    def _pending(self, where: str, most: int, **values: int) -> Iterator[Awaited]:
        """Outcomes that are awaited, in the order of their index."""
        return self._found("pending", f"{PENDING} AND {where}", "due, number", most, **values)

    def _found(self, index: str, where: str, order: str, most: int, **values: int) -> Iterator[Awaited]:
        """Rows by an index, which SQLite might not choose by itself."""
        hint = f"INDEXED BY decisions_{index}" if self.connection.dialect.name == "sqlite" else ""
        named = text(
            f"SELECT {', '.join(_NAMES)} FROM decisions {hint}"
            f" WHERE trial = :trial AND {where} ORDER BY {order} LIMIT :most"
        )
        given = {"trial": self.trial, "at": self.at, "most": most, **values}
        return map(self._awaited, self.connection.execute(named, given).all())

    def _due(self, number: int) -> int:
        """When a decision is due, which none after it is before; 0 where it has no window."""
        own = select(decisions.c.due).where(decisions.c.trial == self.trial, decisions.c.number == number)
        return int(self.connection.execute(own).scalar_one_or_none() or 0)

    def _awaited(self, row: Row[Any]) -> Awaited:
        outcome = row.outcome == UNSEEN and not row.missing_outcome
        return Awaited(
            number=row.number,
            unit=row.unit,
            occasion=row.occasion,
            at=row.at,
            due=row.due,
            action=self.actions and row.implemented == UNSEEN and not row.missing_implemented,
            outcome=outcome,
            late=outcome and row.due is not None and row.due <= self.at,
        )
