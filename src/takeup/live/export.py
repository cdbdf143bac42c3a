"""A trial's decisions as a table, with planned and actual treatment (ARM, ACTARM)."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

import numpy as np
from sqlalchemy import Connection

from takeup.live.export_columns import columns_of, covariate_column
from takeup.live.export_files import check, write
from takeup.live.told import known_by, told_of
from takeup.log.exported import probability_columns
from takeup.space import UNSEEN
from takeup.store import reading
from takeup.trial.book import Record
from takeup.trial.design import Design
from takeup.trial.events import Decided, TakenOver, event_of
from takeup.trial.formats import Format as Format
from takeup.trial.formats import format_of
from takeup.trial.met import values_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def export(
    connection: Connection,
    trial: str,
    file: str | Path | IO[bytes],
    kind: str | None = None,
    *,
    at: int,
    blinded: bool,
) -> None:
    """Write a row a decision.

    Args:
        connection: to the database, in one state of it.
        trial: which trial.
        file: a path, or a binary file.
        kind: the format; that of the path's ending where left out, and CSV of a file without a name.
        at: what time it is.
        blinded: leave out arms, outcomes, probabilities, and when and how often these were reported.
    """
    chosen = format_of(file, kind)
    head = reading.head(connection, trial)
    check(chosen, head.decisions)
    space = Design.of_text(head.spec).space
    columns = columns_of(space.proposals, blinded=blinded, covariates=space.covariates)
    write(file, rows_of(connection, trial, at), columns, chosen)


def rows_of(connection: Connection, trial: str, at: int) -> Iterator[dict[str, Any]]:
    """A row a decision, in their order; times are of UTC."""
    head = reading.head(connection, trial)
    design = Design.of_text(head.spec)
    disputes = reading.disputes(connection, trial) if head.disputes else {}
    purpose = purpose_of(design, seeded=reading.seeded(connection, trial))
    parts = [np.array(each) for (each,) in reading.decisions_by_column(connection, trial, ("sequence",))]
    decided = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    told = told_of(connection, trial, decided)
    implemented_by, outcome_by = (known_by(decided, value.since) for value in (told.implemented, told.outcome))
    named = probability_columns(design.space.proposals)
    plain = json.dumps(design.space.described(), ensure_ascii=False)
    for record, body in reading.records(connection, trial):
        event, number = event_of(body), record.number
        assert isinstance(event, Decided | TakenOver)  # a decision's row points to its event
        did, came = record.implemented != UNSEEN, record.outcome != UNSEEN
        yield {
            **_row(trial, design, record, event, at),
            **dict.fromkeys(named),
            **dict(zip(named, event.probability or (), strict=False)),
            "implemented_at": time_of(told.implemented.at[number]) if did else None,
            "outcome_at": time_of(told.outcome.at[number]) if came else None,
            "corrected": told.corrected[number],
            "disputes": disputes.get(number, 0),
            "purpose": purpose,
            "implemented_by": int(implemented_by[number - 1]) + 1 if did else None,
            "outcome_by": int(outcome_by[number - 1]) + 1 if record.counted else None,
            "space": plain if number == 1 else None,
        }


def purpose_of(design: Design, *, seeded: bool | None) -> str:
    """Whether it is a real trial, and nobody could foresee it."""
    seed = ", not known whether with a given seed" if seeded is None else " with a given seed" if seeded else ""
    return ("rehearsal" if design.spec.rehearsal else "trial") + seed


def time_of(microseconds: int) -> datetime:
    """A time of the log."""
    return _EPOCH + timedelta(microseconds=microseconds)


def moment(microseconds: int) -> str:
    """A time of the log as ISO 8601, in UTC."""
    return time_of(microseconds).isoformat(timespec="microseconds")


def _row(trial: str, design: Design, record: Record, event: Decided | TakenOver, at: int) -> dict[str, Any]:
    space, seen = design.space, record.outcome != UNSEEN
    return {
        "trial": trial,
        "decision": record.number,
        "unit": record.unit,
        "occasion": record.occasion or None,
        "context": space.contexts[record.context],
        **{covariate_column(name): value for name, value in values_of(record.covariates).items()},
        "ARM": space.proposals[record.proposal],
        "ACTARM": space.implemented[record.implemented] if record.implemented != UNSEEN else None,
        "outcome": str(space.outcome.flat(record.outcome)) if seen else None,
        "reward": float(space.reward[record.outcome]) if seen and space.outcome.valued else None,
        "implemented_status": _implemented_status(record),
        "outcome_status": _outcome_status(record, at),
        "decided_at": time_of(record.at),
        "window_closes_at": None if record.due is None else time_of(record.due),
        "probability": None if event.probability is None else event.probability[record.proposal],
        "evidence_version": None if isinstance(event, TakenOver) else event.version,
        "source": _source(design, event),
        "software": None if isinstance(event, TakenOver) else event.software,
    }


def _source(design: Design, event: Decided | TakenOver) -> str:
    if isinstance(event, TakenOver):
        return "past"
    if event.lease is not None:
        return "lease"
    if not event.software:
        return "fallback"
    return "burn-in" if event.number <= design.spec.burn_in else "policy"


def _implemented_status(record: Record) -> str:
    if record.implemented != UNSEEN:
        return "seen"
    return "missing" if record.missing_implemented else "pending"


def _outcome_status(record: Record, at: int) -> str:
    if record.outcome != UNSEEN:
        return "counted" if record.counted else "waiting"
    if record.missing_outcome:
        return "missing"
    return "late" if record.due is not None and record.due <= at else "pending"
