"""A trial's decisions as a table: CSV, Parquet or JSON lines, with planned and actual treatment (ARM, ACTARM)."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, Any

from sqlalchemy import Connection

from takeup.errors import MissingExtraError
from takeup.live.log import known_by
from takeup.space import UNSEEN
from takeup.store import reading
from takeup.trial.book import Record
from takeup.trial.design import Design
from takeup.trial.events import Decided, event_of
from takeup.trial.formats import Format as Format
from takeup.trial.formats import format_of

COLUMNS = {
    "trial": str,
    "decision": int,
    "unit": str,
    "occasion": str,
    "context": str,
    "ARM": str,
    "ACTARM": str,
    "outcome": str,
    "reward": float,
    "implemented_status": str,
    "outcome_status": str,
    "decided_at": str,
    "window_closes_at": str,
    "probability": float,
    "probabilities": list,
    "evidence_version": int,
    "disputes": int,
    "source": str,
    "software": str,
    "purpose": str,
    "implemented_by": int,
    "outcome_by": int,
    "space": str,
}
"""By which decision something was known: the first that could use it. The space is in the first row alone."""
UNBLINDING = {
    "ARM",
    "ACTARM",
    "outcome",
    "reward",
    "probability",
    "probabilities",
    "evidence_version",
    "disputes",
    "implemented_by",
    "outcome_by",
    "space",
}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20", "'")
"""What a spreadsheet may take for the beginning of a formula, in full width too; and what takes that away from it."""


def write(
    file: str | Path | IO[bytes], rows: Iterable[Mapping[str, Any]], columns: Iterable[str], kind: Format | None = None
) -> None:
    """Write rows to a path or to a binary file; the format is that of the path's ending where left out."""
    kind = format_of(file, kind)
    if isinstance(file, str | Path):
        with Path(file).open("wb") as opened:
            write(opened, rows, columns, kind)
        return
    names = list(columns)
    if kind == "parquet":
        _write_parquet(file, rows, names)
        return
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    if kind == "csv":
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows([_cell(row[name]) for name in names] for row in rows)
    else:
        text.writelines(json.dumps({name: row[name] for name in names}, ensure_ascii=False) + "\n" for row in rows)
    text.flush()
    text.detach()


def rows_of(connection: Connection, trial: str, at: int) -> Iterator[dict[str, Any]]:
    """A row a decision, in their order."""
    head = reading.head(connection, trial)
    design = Design.of_text(head.spec)
    disputes = reading.disputes(connection, trial) if head.disputes else {}
    purpose = purpose_of(design, seeded=reading.seeded(connection, trial))
    by, space = known_by(connection, trial), json.dumps(design.space.described(), ensure_ascii=False)
    for record, body in reading.records(connection, trial):
        i = record.number - 1
        yield _row(trial, design, record, body, at) | {
            "disputes": disputes.get(record.number, 0),
            "purpose": purpose,
            "implemented_by": int(by.implemented[i]) + 1 if record.implemented != UNSEEN else None,
            "outcome_by": int(by.outcome[i]) + 1 if record.counted else None,
            "space": None if i else space,
        }


def purpose_of(design: Design, *, seeded: bool | None) -> str:
    """Whether it is a real trial, and nobody could foresee it."""
    seed = ", not known whether with a given seed" if seeded is None else " with a given seed" if seeded else ""
    return ("rehearsal" if design.spec.rehearsal else "trial") + seed


def columns_of(*, blinded: bool) -> list[str]:
    """The columns that a reader may see: the blinded get neither arms nor outcomes nor probabilities."""
    return [name for name in COLUMNS if not (blinded and name in UNBLINDING)]


def _row(trial: str, design: Design, record: Record, body: str, at: int) -> dict[str, Any]:
    space, event = design.space, event_of(body)
    assert isinstance(event, Decided)  # a decision's row points to its event
    seen = record.outcome != UNSEEN
    return {
        "trial": trial,
        "decision": record.number,
        "unit": record.unit,
        "occasion": record.occasion or None,
        "context": space.contexts[record.context],
        "ARM": space.proposals[record.proposal],
        "ACTARM": space.implemented[record.implemented] if record.implemented != UNSEEN else None,
        "outcome": str(space.outcome.flat(record.outcome)) if seen else None,
        "reward": float(space.reward[record.outcome]) if seen and space.outcome.valued else None,
        "implemented_status": _implemented_status(record),
        "outcome_status": _outcome_status(record, at),
        "decided_at": moment(record.at),
        "window_closes_at": None if record.due is None else moment(record.due),
        "probability": event.probability[record.proposal],
        "probabilities": list(event.probability),
        "evidence_version": event.version,
        "source": _source(design, event),
        "software": event.software,
    }


def _source(design: Design, event: Decided) -> str:
    if not event.software:
        return "fallback"
    return "burn-in" if event.number <= design.spec.burn_in else "policy"


def moment(microseconds: int) -> str:
    """A time as ISO 8601, in UTC."""
    return (_EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="microseconds")


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


def _cell(value: object) -> object:
    """A CSV cell; a text that a spreadsheet would take for a formula gets an apostrophe in front.

    So does a text that begins with one: who takes one off every text that begins so has what was there.
    """
    if isinstance(value, list):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _write_parquet(file: IO[bytes], rows: Iterable[Mapping[str, Any]], names: list[str]) -> None:
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("polars", "sim") from None
    types = {str: pl.String(), int: pl.Int64(), float: pl.Float64(), list: pl.List(pl.Float64())}
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for row in rows:
        for name in names:
            columns[name].append(row[name])
    pl.DataFrame(columns, schema={name: types[COLUMNS[name]] for name in names}).write_parquet(file)
