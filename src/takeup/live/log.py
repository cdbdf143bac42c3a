"""A live trial's Log: every decision with what it was drawn from, and when it was known what became of it.

What was corrected is in it as it is now, and counts as known since then: what stood before is in the trial's events
alone. An outcome whose window is open is UNSEEN, as it is in the evidence: those that come early are not like the rest.
"""

import json
import re
from array import array
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from takeup.checks import FloatArray, IntArray
from takeup.live.told import known_by, told_of
from takeup.log import SOURCES, Log
from takeup.log.shares import filled
from takeup.space import UNSEEN, Space
from takeup.store import reading
from takeup.trial.design import Design
from takeup.trial.events import Decided, TakenOver
from takeup.trial.met import features_of

# In canonical JSON a text has no quote that is not escaped, so that no text of anybody looks like these.
_PROBABILITY = re.compile(r'"probability":\[([^\]]*)\]')
_SOFTWARE, _LEASE = '"software":', '"lease":'


class _Decided(NamedTuple):
    """What the rows of decisions say, in the order of decisions."""

    sequence: IntArray
    unit: NDArray[np.str_]
    context: IntArray
    proposal: IntArray
    implemented: IntArray
    outcome: IntArray
    pending: NDArray[np.bool_]
    features: NDArray[np.int16] | None


def log_of(connection: Connection, trial: str, at: int | None = None) -> Log:
    """The log of a trial, as a connection sees it.

    Args:
        connection: to the database, in one state of it.
        trial: which trial.
        at: what time it is: outcomes whose window has closed by then are not pending any more. Where left out all are
            that are neither known nor declared missing.
    """
    head = reading.head(connection, trial)
    design = Design.of_text(head.spec)
    rows = _decided(connection, trial, design.space, at)
    probability, drawn = _drawn(connection, trial, design.space)
    past = _past(connection, trial, len(design.space.proposals))
    probability, estimated, how = filled(np.concatenate([past, probability]), rows.proposal, rows.context)
    n = rows.sequence.size
    told = told_of(connection, trial, rows.sequence)
    first = np.arange(1, n + 1) <= design.spec.burn_in
    who = [SOURCES.index(name) for name in ("policy", "burn-in", "fallback", "lease")]
    own = np.where(drawn == 1, np.where(first[len(past) :], who[1], who[0]), np.where(drawn == 0, who[2], who[3]))
    return Log(
        design.space,
        rows.context,
        rows.proposal,
        probability,
        rows.implemented,
        rows.outcome,
        np.where(rows.implemented == UNSEEN, n, known_by(rows.sequence, told.implemented.since)),
        np.where(rows.outcome == UNSEEN, n, known_by(rows.sequence, told.outcome.since)),
        np.concatenate([np.full(len(past), SOURCES.index("past")), own]),
        rows.unit,
        estimated,
        (how,) if how else (),
        corrected=told.replaced if told.replaced.any() else None,
        pending=rows.pending,
        running=head.state != "stopped",
        features=rows.features,
    )


def _decided(connection: Connection, trial: str, space: Space, at: int | None) -> _Decided:
    names = ("sequence", "unit", "context", "proposal", "implemented", "outcome", "counted", "missing_outcome", "due")
    features = _features(connection, trial, space)
    parts = [tuple(map(np.array, part)) for part in reading.decisions_by_column(connection, trial, names)]
    if not parts:
        none = np.zeros(0, dtype=np.int64)
        return _Decided(none, np.zeros(0, dtype=np.str_), none, none, none, none, np.zeros(0, dtype=np.bool_), features)
    sequence, unit, x, z, a, y, counted, missing, due = (np.concatenate(each) for each in zip(*parts, strict=True))
    closed = due.astype(np.float64) <= (-np.inf if at is None else at)  # no window is NaN, which is never closed
    pending = (counted != 1) & (missing == 0) & ~((y == UNSEEN) & closed)
    return _Decided(sequence, unit, x, z, a, np.where(counted == 1, y, UNSEEN), pending, features)


def _features(connection: Connection, trial: str, space: Space) -> NDArray[np.int16] | None:
    """What was known of each before its decision, or is by now; None where there are no covariates."""
    if space.covariates is None:
        return None
    parts = [
        np.array([features_of(space, text) for text in texts], dtype=np.int16)
        for (texts,) in reading.decisions_by_column(connection, trial, ("covariates",))
    ]
    return np.concatenate([np.zeros((0, space.covariates.size), dtype=np.int16), *parts])


def _drawn(connection: Connection, trial: str, space: Space) -> tuple[FloatArray, NDArray[np.uint8]]:
    """What each proposal was drawn from; 1 where takeup drew it, 0 where a client did, 2 where a client had a lease."""
    probability, by_takeup = array("d"), bytearray()
    for (texts,) in reading.events_by_column(connection, trial, Decided.kind, ("body",)):
        lists = _PROBABILITY.findall("\n".join(texts))
        probability.extend(json.loads(f"[{','.join(lists)}]"))
        if space.covariates is None:
            by_takeup.extend((_SOFTWARE in text) + (_LEASE in text) for text in texts)
        else:  # one of them may be called so
            by_takeup.extend("software" in json.loads(text) for text in texts)
    return np.array(probability).reshape(-1, len(space.proposals)), np.frombuffer(bytes(by_takeup), dtype=np.uint8)


def _past(connection: Connection, trial: str, proposals: int) -> FloatArray:
    """What past assignments were drawn from, which are a trial's first decisions; NaN where that is not known."""
    found = array("d")
    for (texts,) in reading.events_by_column(connection, trial, TakenOver.kind, ("body",)):
        for text in texts:
            known = _PROBABILITY.search(text)
            found.extend(json.loads(f"[{known[1]}]") if known else [np.nan] * proposals)
    return np.array(found).reshape(-1, proposals)
