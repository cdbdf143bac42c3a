"""Records of a REDCap project as a log, and what they report of a live trial."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from takeup.adapters.redcap.dictionary import Dictionary, Field
from takeup.adapters.redcap.tables import Rows, Table, rows_of
from takeup.checks import shown
from takeup.errors import InputError, LabelError
from takeup.frames.columns import column
from takeup.frames.contexts import NOT_RECORDED
from takeup.frames.labels import ordered
from takeup.frames.measured import outcome_from
from takeup.log import Log
from takeup.log.frames import log_of
from takeup.log.shares import Probability, columns_of
from takeup.outcomes import UNSEEN, Levels, Outcome
from takeup.space import Space

EVENT = "redcap_event_name"
"""The column that says which event of a longitudinal project a row is of."""


def read(
    dictionary: Table | Dictionary,
    records: Table,
    *,
    assigned: str,
    outcome: str,
    taken: str | None = None,
    context: str | Sequence[str] | None = None,
    levels: Sequence[str] | None = None,
    probability: Probability = None,
    events: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    space: Space | None = None,
) -> Log:
    """The log of a REDCap project; a record is a unit.

    Arms and actions are the choices of their fields, in the order of the dictionary, whether or not anybody had them.
    Rows of the same record, as those of several events, are put together. Records that nobody was assigned in are left
    out, which the log's `inferred` says; blank values and codes of missing data are UNSEEN.

    Args:
        dictionary: the data dictionary: its CSV file, or `project.metadata` of PyCap.
        records: the records: their CSV file, with codes or with labels, or `project.export_records()`.
        assigned: the field of what was proposed.
        outcome: the field of what came of it.
        taken: the field of what was implemented.
        context: the field, or several that are crossed, that people were told apart by before.
        levels: the labels of the outcome from worst to best; not needed for yes and no, true and false, and numbers.
        probability: as in `takeup.Log.from_frame`; of labels, not codes.
        events: the event that a field is to be taken from, {"well": "month_3_arm_1"}, where several have a value.
        missing: codes of missing data, such as "-99" and "UNK".
        space: what labels there are, where the dictionary does not say.

    Raises:
        InputError: a field that is not there, or a value that is none of its choices; names record and field.
    """
    known = Dictionary.of(dictionary)
    crossed = [context] if isinstance(context, str) else list(context or ())
    named = {"assigned": assigned, "outcome": outcome, "taken": taken}
    fields = {name: known.field(argument, name) for argument, name in named.items() if name is not None}
    fields |= {name: known.field("context", name) for name in crossed}
    columns = [name for name in columns_of(probability) if name not in fields]
    rows = rows_of("records", records)
    units, values = _together(rows, known.record_id, [*fields, *columns], events or {}, set(missing))
    frame: dict[str, list[Any]] = {name: _labels(fields.get(name), values[name], units) for name in values}
    kept = [i for i, label in enumerate(frame[assigned]) if label is not None]
    frame = {name: [each[i] for i in kept] for name, each in frame.items()}
    frame[known.record_id] = [units[i] for i in kept]
    if not kept:
        raise InputError("assigned", f"nothing in the field {assigned!r} of {len(units)} records", "at least one")
    groups, contexts = _contexts([fields[name] for name in crossed], frame)
    frame[groups] = contexts[0]
    if space is None:
        space = Space(
            _choices("assigned", fields[assigned]),
            None if taken is None else _choices("taken", fields[taken]),
            contexts=contexts[1],
            outcomes=_outcome(fields[outcome], levels, frame),
        )
    log = log_of(
        frame,
        assigned=assigned,
        outcome=outcome,
        taken=taken,
        context=groups if crossed else None,
        probability=probability,
        unit=known.record_id,
        space=space,
    )
    if len(kept) == len(units):
        return log
    left = f"{len(units) - len(kept)} of {len(units)} records have no {assigned} and are left out."
    return replace(log, inferred=(*log.inferred, left))


def reports_of(log: Log) -> Iterator[dict[str, Any]]:
    """What a log knows of each unit: `trial.report(**each)` of every one brings a live trial up to date."""
    assert log.unit is not None  # a log of records has them
    for unit, a, y in zip(log.unit.tolist(), log.implemented.tolist(), log.outcome.tolist(), strict=True):
        said = {} if a == UNSEEN else {"implemented": log.space.implemented[a]}
        said |= {} if y == UNSEEN else {"outcome": log.space.outcome.plain(y)}
        if said:
            yield {"unit": unit, **said}


def _together(
    rows: Rows, record_id: str, names: Sequence[str], events: Mapping[str, str], missing: set[str]
) -> tuple[list[str], dict[str, list[str | None]]]:
    """The records, and the value of each field in each of them, from whichever of its rows has one."""
    found: dict[str, dict[str, str]] = {}
    for number, row in enumerate(rows, start=1):
        for name in (record_id, *names):
            if name not in row:
                raise InputError("records", f"the columns {', '.join(row)}", f"a column {name!r}")
        unit = str(row[record_id]).strip()
        if not unit:
            raise InputError(f"records: row {number}, {record_id}", "nothing", "the record's id")
        record = found.setdefault(unit, {})
        for name in names:
            value = "" if row[name] is None else str(row[name]).strip()
            if not value or value in missing or events.get(name, row.get(EVENT)) != row.get(EVENT):
                continue
            if record.setdefault(name, value) != value:
                hint = f'events={{"{name}": ..}} says of which event' if EVENT in row else "a record is a unit"
                raise InputError(f"record {unit}, field {name}", f"{record[name]} and {value}", "one value", hint)
    return list(found), {name: [record.get(name) for record in found.values()] for name in names}


def _labels(field: Field | None, values: Sequence[str | None], units: Sequence[str]) -> list[str | None]:
    """Values as labels, where the field has choices."""
    if field is None or not field.choices:
        return list(values)
    found: list[str | None] = []
    for unit, value in zip(units, values, strict=True):
        try:
            found.append(None if value is None else field.label_of(value))
        except LabelError as error:
            raise LabelError(f"record {unit}, field {field.name}", error.value, error.allowed, error.hint) from None
    return found


def _choices(argument: str, field: Field) -> list[str]:
    if len(field.choices) < 2:
        raise InputError(argument, f"{field.name}, a field of kind {field.kind}", "a field with choices")
    return field.labels


def _contexts(fields: Sequence[Field], frame: Mapping[str, Sequence[Any]]) -> tuple[str, tuple[list[Any], list[str]]]:
    """A column of the contexts, and what contexts there are: the choices of one field, or what was seen of several."""
    name = " x ".join(field.name for field in fields)
    if len(fields) == 1:
        column_, known = list(frame[name]), fields[0].labels
    else:
        parts = [
            [None if label is None else f"{field.name} {label}" for label in frame[field.name]] for field in fields
        ]
        column_, known = [None if None in each else ", ".join(each) for each in zip(*parts, strict=True)], []
    known = known or ordered(label for label in column_ if label is not None) or ["0"]
    return name, (column_, [*known, *([NOT_RECORDED] if None in column_ else [])])


def _outcome(field: Field, levels: Sequence[str] | None, frame: Mapping[str, Sequence[Any]]) -> Outcome:
    if levels is not None and field.choices and set(levels) != set(field.labels):
        raise InputError("levels", shown(list(levels)), f"{', '.join(field.labels)}, from worst to best")
    if field.number is not None and levels is None:
        return field.number
    if levels is None and len(field.choices) == 2 and field.kind in ("yesno", "truefalse", "checkbox"):
        return Levels(tuple(field.labels))
    if levels is None and field.choices:
        raise InputError("levels", "nothing", f"{', '.join(field.labels)}, from worst to best")
    if levels is not None:
        return Levels(tuple(levels), tuple(float(i) for i in range(len(levels))))
    return outcome_from(column(frame, "outcome", field.name), None)[0]
