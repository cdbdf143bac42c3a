"""The rows of a batch as columns, with all that can be said of them without knowing the trial."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from takeup.errors import InputError
from takeup.trial.bounds import text, untellable
from takeup.trial.commands import MOST_NAME, MOST_REASON

MOST_ROWS = 100_000
"""How many rows a batch may have."""
MOST_TIME = 2**62
MOST_SHOWN = 100
"""How many letters are told of a name that no row has."""
MOST_KEYS_SHOWN = 3
_PLAIN = frozenset((str, int, float, NoneType))
_PLAIN_NAMES = ("context", "proposal", "implemented", "outcome", "spec", "lease_hash")
_OF_DECISIONS = ("context", "proposal", "drawn", "spec", "lease_hash")
_MISSING = ("implemented", "outcome")
_ENCODER = json.JSONEncoder(separators=(",", ":"), sort_keys=True, default=repr)
"""Of anything that a row may hold, also where no log could: one row must not spoil the others."""


class EdgeColumns(NamedTuple):
    """Rows side by side; where one has no lease it reports, and else it decides."""

    unit: list[str]
    occasion: list[str]
    context: list[str | int | None]
    proposal: list[str | int | None]
    lease: list[int | None]
    drawn: list[int | None]
    implemented: list[str | int | None]
    outcome: list[Any]
    missing: list[tuple[str, ...]]
    reason: list[str | None]
    spec: list[str | None]
    lease_hash: list[str | None]

    def part(self, first: int, after: int) -> "EdgeColumns":
        """Some of the rows."""
        parts: list[Any] = [column[first:after] for column in self]
        return EdgeColumns(*parts)


_KNOWN = frozenset(EdgeColumns._fields)
_HAS = f"rows may have {', '.join(EdgeColumns._fields)}"


def wrong_count(rows: int) -> InputError:
    """What is wrong with a batch of so many rows, or of more: nobody reads on to count them."""
    hint = "send them in several batches" if rows else "an empty batch says nothing, and need not be sent"
    return InputError("rows", f"{rows} or more" if rows else "none", f"from 1 to {MOST_ROWS}", hint)


@dataclass(frozen=True, slots=True)
class EdgeRows:
    """All rows of a batch.

    Attributes:
        columns: the rows.
        problems: what is wrong with some of them, by their place.
        digest: of all that they say.
    """

    columns: EdgeColumns
    problems: Mapping[int, str]
    digest: str

    def __len__(self) -> int:
        return len(self.columns.unit)

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]], digest: str | None = None) -> "EdgeRows":
        """The rows as somebody sent them.

        Args:
            rows: each a table.
            digest: of what they were read from; of what they say where there is none.

        Raises:
            InputError: there are too many, or one is no mapping.
        """
        given = list(islice(rows, MOST_ROWS + 1))
        if not 1 <= len(given) <= MOST_ROWS:
            raise wrong_count(len(given))
        if not all(isinstance(row, Mapping) for row in given):
            place, row = next((i, row) for i, row in enumerate(given) if not isinstance(row, Mapping))
            raise InputError(f"rows[{place}]", repr(row)[:100], "a table with unit, proposal, lease, drawn")
        problems = {place: _unknown(row) for place, row in enumerate(given) if not row.keys() <= _KNOWN}
        said: list[Any] = [[row.get(name) for row in given] for name in EdgeColumns._fields]
        columns = EdgeColumns(*said)
        digest = _digest(columns) if digest is None else digest
        occasions = ["" if each is None else each for each in columns.occasion]
        return cls(columns._replace(occasion=occasions), problems, digest)._checked()

    def _checked(self) -> "EdgeRows":
        """With all that is wrong with them."""
        columns, problems = self.columns, dict(self.problems)
        said = tuple(getattr(columns, name) for name in _PLAIN_NAMES)
        named = any(type(each) is not str or each for each in columns.occasion)
        odd = named or any(not set(map(type, column)) <= _PLAIN for column in said)
        odd = odd or not all(each is None or _hashed(each) for each in set(columns.lease_hash))
        odd = odd or untellable("".join(each for each in columns.unit if isinstance(each, str)))
        for place, (unit, lease, drawn, missing, reason) in enumerate(
            zip(columns.unit, columns.lease, columns.drawn, columns.missing, columns.reason, strict=True)
        ):
            plain = type(unit) is str and 0 < len(unit) <= MOST_NAME and not unit.isspace() and not odd
            timed = type(lease) is int and type(drawn) is int and 0 < lease < MOST_TIME and 0 <= drawn < MOST_TIME
            if plain and timed and reason is None and missing is None:
                columns.missing[place] = ()
                continue
            try:
                _check_plain([column[place] for column in said], columns.lease_hash[place])
                if lease is None:
                    _check_report({name: getattr(columns, name)[place] for name in _OF_DECISIONS})
                columns.missing[place] = _settled(unit, columns.occasion[place], lease, drawn, missing, reason)
            except InputError as error:
                columns.missing[place] = ()
                problems.setdefault(place, str(error))
        return EdgeRows(columns, problems, self.digest)


def _digest(columns: EdgeColumns) -> str:
    try:
        return hashlib.sha256(_ENCODER.encode(columns).encode()).hexdigest()
    except (TypeError, ValueError) as error:
        raise InputError("rows", repr(error)[:100], "texts, whole numbers and what outcomes are") from None


def _unknown(row: Mapping[Any, Any]) -> str:
    """Which keys a row may not have, as far as they are worth the room."""
    said = ", ".join(repr(name[:MOST_SHOWN]) for name in sorted(map(str, set(row) - _KNOWN))[:MOST_KEYS_SHOWN])
    return f"{said}: no row has that; {_HAS}"


def _hashed(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{16}", value) is not None


def _check_plain(values: list[Any], lease_hash: Any) -> None:
    """What JSON could say: arrays and the like compare as nothing else does."""
    for name, value in zip(_PLAIN_NAMES, values, strict=True):
        if not isinstance(value, str | int | float | Mapping | np.generic | NoneType):
            raise InputError(name, repr(value)[:100], "a text, a number or a table")
    if lease_hash is not None and not _hashed(lease_hash):
        raise InputError("lease_hash", repr(lease_hash)[:100], "the lease's fingerprint, 16 hexadecimal digits")


def _check_report(decided: Mapping[str, Any]) -> None:
    """A row without a lease says nothing of what was drawn: nobody would look at it."""
    for name, value in decided.items():
        if value is not None:
            hint = "a row that decides says its lease"
            raise InputError(name, repr(value)[:100], "nothing, as the row has no lease and so is a report", hint)


def _settled(unit: Any, occasion: Any, lease: Any, drawn: Any, missing: Any, reason: Any) -> tuple[str, ...]:
    """What of a row is declared missing, where all of it can be."""
    text("unit", unit, MOST_NAME)
    if type(occasion) is not str or occasion:
        text("occasion", occasion, MOST_NAME)
    if reason is not None:
        text("reason", reason, MOST_REASON)
    if lease is not None:
        if type(lease) is not int or not 0 < lease < MOST_TIME:
            raise InputError("lease", repr(lease)[:100], "the number of a lease, counted from 1")
        if type(drawn) is not int or not 0 <= drawn < MOST_TIME:
            raise InputError("drawn", repr(drawn)[:100], "when it was drawn, in microseconds since 1970, UTC")
        if reason is not None:
            raise InputError("reason", repr(reason)[:100], "nothing: a row with a lease decides, and corrects nothing")
    if missing is None:
        return ()
    if not isinstance(missing, list | tuple) or not all(each in _MISSING for each in missing):
        raise InputError("missing", repr(missing)[:100], 'a list of "implemented" and "outcome"')
    return tuple(sorted(set(missing)))
