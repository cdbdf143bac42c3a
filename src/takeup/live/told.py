"""Which event brought what is known of each decision, and when: one pass over a trial's reports.

A few numbers a decision are held in memory, however many reports there are.
"""

import json
from array import array
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from takeup.checks import IntArray
from takeup.store import reading
from takeup.trial.events import Closed, Decided, Reported, TakenOver

# In canonical JSON a text has no quote that is not escaped, so that no text of anybody looks like these.
_ACTION, _OUTCOME = '"implemented":', '"outcome":'
_CORRECTS, _DISPUTES = '"before":', '"stands":'

Numbers: TypeAlias = "array[int]"
"""A whole number for each decision, by its number; that at 0 is nobody's."""


class Value(NamedTuple):
    """Since when the value that stands is known, of each decision.

    Attributes:
        since: the number of the event by which it counts; 0 where none does.
        at: when it was reported, in microseconds since 1970, UTC.
    """

    since: Numbers
    at: Numbers


class Told(NamedTuple):
    """What a trial's reports came to.

    Attributes:
        implemented: of a.
        outcome: of y; one with a window counts since that was closed.
        corrected: how many reports corrected an earlier one.
        replaced: whether something else was known before, while decisions were made; of each decision, in their order.
    """

    implemented: Value
    outcome: Value
    corrected: Numbers
    replaced: NDArray[np.bool_]


def told_of(connection: Connection, trial: str, decided: IntArray) -> Told:
    """What the reports of a trial came to.

    A value is known since the report that brought it; what is declared missing later keeps what it had. What a past
    assignment or a client's decision came with is known since the one after it.

    Args:
        connection: to its database.
        trial: which trial.
        decided: the number of the event of each decision, in their order.
    """

    def zeros() -> Numbers:
        return array("q", bytes(8 * (decided.size + 1)))

    found = Told(Value(zeros(), zeros()), Value(zeros(), zeros()), zeros(), np.zeros(decided.size, dtype=np.bool_))
    for kind in (TakenOver.kind, Decided.kind) if reading.head(connection, trial).leased else (TakenOver.kind,):
        parts = reading.events_by_column(connection, trial, kind, ("sequence", "at", "decision", "body"))
        for sequence, at, decision, body in chain.from_iterable(zip(*part, strict=True) for part in parts):
            for mark, value in ((_ACTION, found.implemented), (_OUTCOME, found.outcome)):
                if mark in body:  # known by the next, as of all that are in a table
                    value.since[decision], value.at[decision] = sequence + 1, at
    parts = reading.events_by_column(connection, trial, Reported.kind, ("sequence", "at", "decision", "body"))
    for sequence, at, decision, body in chain.from_iterable(zip(*part, strict=True) for part in parts):
        if _CORRECTS in body or _DISPUTES in body:
            said = json.loads(body)
            found.corrected[decision] += "before" in said
            changed = _changed(said, found)
            for value in changed:
                before, after = np.searchsorted(decided, (value.since[decision] or sequence, sequence))
                found.replaced[decision - 1] |= before < after
        else:
            both = ((_ACTION, found.implemented), (_OUTCOME, found.outcome))
            changed = [value for mark, value in both if mark in body and not value.since[decision]]
        for value in changed:
            value.since[decision], value.at[decision] = sequence, at
    parts = reading.events_by_column(connection, trial, Closed.kind, ("sequence", "body"))
    for sequence, body in chain.from_iterable(zip(*part, strict=True) for part in parts):
        for decision in json.loads(body)["decisions"]:
            found.outcome.since[decision] = max(found.outcome.since[decision], sequence)
    return found


def known_by(decided: IntArray, since: Numbers) -> IntArray:
    """By which decision, counted from 0, each value was known, where it is.

    Args:
        decided: the number of the event of each decision, in their order.
        since: that of the event by which something is known of each.
    """
    return np.searchsorted(decided, np.frombuffer(since, dtype=np.int64)[1:])


def _changed(said: Mapping[str, Any], found: Told) -> list[Value]:
    """Which of the two a report brought a value of that was not there before."""
    told = {"implemented", "outcome"}.intersection(said).difference(said.get("stands", ()))
    corrected, decision = said.get("before", ()), said["decision"]
    both = (("implemented", found.implemented), ("outcome", found.outcome))
    return [value for name, value in both if name in told and (name in corrected or not value.since[decision])]
