"""A live trial's Log: every decision with what it was drawn from, and when it was known what became of it.

What was corrected is in it as it is now, and counts as known since then: what stood before is in the trial's events
alone. An outcome whose window is open is UNSEEN, as it is in the evidence: those that come early are not like the rest.
"""

import json
import re
from array import array
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from takeup.checks import FloatArray, IntArray
from takeup.log import SOURCES, Log
from takeup.space import UNSEEN
from takeup.store import reading
from takeup.trial.design import Design
from takeup.trial.events import Closed, Decided, Reported

# In canonical JSON a text has no quote that is not escaped, so that no text of anybody looks like these.
_PROBABILITY = re.compile(r'"probability":\[([^\]]*)\]')
_ACTION, _OUTCOME, _SOFTWARE = '"implemented":', '"outcome":', '"software":'
_CORRECTS, _DISPUTES = '"before":', '"stands":'


Since: TypeAlias = "array[int]"
"""The number of the event since which something is known of each decision, by its number; 0 where none is."""


class KnownBy(NamedTuple):
    """By which decision, counted from 0, something was known of each; the number of decisions where it is not.

    Attributes:
        implemented: a.
        outcome: y.
        corrected: whether either was something else before, while decisions were made.
    """

    implemented: IntArray
    outcome: IntArray
    corrected: NDArray[np.bool_]


class _Decided(NamedTuple):
    """What the rows of decisions say, in the order of decisions."""

    sequence: IntArray
    unit: NDArray[np.str_]
    context: IntArray
    proposal: IntArray
    implemented: IntArray
    outcome: IntArray


def log_of(connection: Connection, trial: str) -> Log:
    """The log of a trial, as a connection sees it."""
    head = reading.head(connection, trial)
    design = Design.of_text(head.spec)
    rows = _decided(connection, trial)
    probability, drawn = _drawn(connection, trial, len(design.space.proposals))
    by = _known_by(connection, trial, rows)
    first = np.arange(1, rows.sequence.size + 1) <= design.spec.burn_in
    who = [SOURCES.index(name) for name in ("policy", "burn-in", "fallback")]
    return Log(
        design.space,
        rows.context,
        rows.proposal,
        probability,
        rows.implemented,
        rows.outcome,
        by.implemented,
        by.outcome,
        np.where(drawn, np.where(first, who[1], who[0]), who[2]),
        rows.unit,
        corrected=by.corrected if by.corrected.any() else None,
    )


def known_by(connection: Connection, trial: str) -> KnownBy:
    """By which decision the action and the outcome of each were known."""
    return _known_by(connection, trial, _decided(connection, trial))


def _decided(connection: Connection, trial: str) -> _Decided:
    names = ("sequence", "unit", "context", "proposal", "implemented", "outcome", "counted")
    parts = [tuple(map(np.array, part)) for part in reading.decisions_by_column(connection, trial, names)]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return _Decided(none, np.zeros(0, dtype=np.str_), none, none, none, none)
    sequence, unit, x, z, a, y, counted = (np.concatenate(each) for each in zip(*parts, strict=True))
    return _Decided(sequence, unit, x, z, a, np.where(counted == 1, y, UNSEEN))


def _drawn(connection: Connection, trial: str, proposals: int) -> tuple[FloatArray, NDArray[np.bool_]]:
    """What each proposal was drawn from, and whether takeup drew it, or a client."""
    probability, by_takeup = array("d"), bytearray()
    for (texts,) in reading.events_by_column(connection, trial, Decided.kind, ("body",)):
        lists = _PROBABILITY.findall("\n".join(texts))
        probability.extend(json.loads(f"[{','.join(lists)}]"))
        by_takeup.extend(_SOFTWARE in text for text in texts)
    return np.array(probability).reshape(-1, proposals), np.frombuffer(bytes(by_takeup), dtype=np.bool_)


def _known_by(connection: Connection, trial: str, rows: _Decided) -> KnownBy:
    """A value is known since the report that brought it, an outcome with a window since that was closed, too."""
    n = rows.sequence.size
    actions, outcomes = array("q", bytes(8 * (n + 1))), array("q", bytes(8 * (n + 1)))
    corrected = np.zeros(n, dtype=np.bool_)
    parts = reading.events_by_column(connection, trial, Reported.kind, ("sequence", "decision", "body"))
    for sequence, decision, body in chain.from_iterable(zip(*part, strict=True) for part in parts):
        if _CORRECTS in body or _DISPUTES in body:
            for since in _changed(json.loads(body), actions, outcomes):
                before, after = np.searchsorted(rows.sequence, (since[decision] or sequence, sequence))
                corrected[decision - 1] |= before < after
                since[decision] = sequence
            continue
        if _ACTION in body and not actions[decision]:
            actions[decision] = sequence
        if _OUTCOME in body and not outcomes[decision]:
            outcomes[decision] = sequence
    parts = reading.events_by_column(connection, trial, Closed.kind, ("sequence", "body"))
    for sequence, body in chain.from_iterable(zip(*part, strict=True) for part in parts):
        for decision in json.loads(body)["decisions"]:
            outcomes[decision] = max(outcomes[decision], sequence)

    def by(codes: IntArray, since: Since) -> IntArray:
        return np.where(codes == UNSEEN, n, np.searchsorted(rows.sequence, np.array(since)[1:]))

    return KnownBy(by(rows.implemented, actions), by(rows.outcome, outcomes), corrected)


def _changed(said: Mapping[str, Any], actions: Since, outcomes: Since) -> list[Since]:
    """Which of the two a report brought a value of that was not there before."""
    told = {"implemented", "outcome"}.intersection(said).difference(said.get("stands", ()))
    corrected, decision = said.get("before", ()), said["decision"]
    both = (("implemented", actions), ("outcome", outcomes))
    return [since for name, since in both if name in told and (name in corrected or not since[decision])]
