"""Proposals as records of a REDCap project: a CSV file to import, or straight to its API by PyCap."""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from takeup.adapters.redcap.dictionary import Dictionary
from takeup.adapters.redcap.reading import EVENT
from takeup.adapters.redcap.tables import Table
from takeup.errors import ConflictError, InputError, UnreachableError
from takeup.folders import private


class Proposed(Protocol):
    """Somebody who got a proposal, such as a `takeup.trial.Decision`."""

    @property
    def unit(self) -> str:
        """Who; the record's id."""

    @property
    def proposal(self) -> str:
        """The label of what."""


def records_of(
    decisions: Iterable[Proposed], dictionary: Table | Dictionary, *, assigned: str, event: str | None = None
) -> list[dict[str, str]]:
    """A record for each decision: the unit's id, and the code of its proposal in the field `assigned`.

    Args:
        decisions: what `Trial.decide` and `Trial.decide_many` return.
        dictionary: the data dictionary, which has the codes.
        assigned: the field to write to; its choices are the proposals.
        event: the event to write to, where the project is longitudinal.
    """
    known = Dictionary.of(dictionary)
    field = known.field("assigned", assigned)
    if not field.choices:
        raise InputError("assigned", f"{assigned}, a field of kind {field.kind}", "a field with choices")
    at = {} if event is None else {EVENT: event}
    return [{known.record_id: each.unit, **at, assigned: field.code_of(each.proposal)} for each in decisions]


def write_csv(records: Iterable[Mapping[str, str]], path: str | Path) -> None:
    """Records as a file for REDCap's page of data imports."""
    rows = list(records)
    if not rows:
        raise InputError("records", "none", "at least one record")
    with open(path, "w", encoding="utf-8", newline="", opener=private) as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def send(project: Any, records: Iterable[Mapping[str, str]]) -> list[str]:
    """Send records to REDCap; other fields of theirs stay as they are. Sending again changes nothing.

    Args:
        project: a `redcap.Project` of PyCap.
        records: what `records_of` returns.

    Returns:
        The ids that REDCap has taken.

    Raises:
        ConflictError: REDCap refused them, or did not take all.
        UnreachableError: it did not answer.
    """
    rows = [dict(each) for each in records]
    if not rows:
        return []
    import requests  # PyCap's own

    try:
        taken = project.import_records(rows, return_content="ids", overwrite="normal")
    except (requests.ConnectionError, requests.Timeout) as error:
        raise UnreachableError(f"REDCap did not answer, and {len(rows)} records may not be there: {error}") from None
    except requests.RequestException as error:
        raise ConflictError(f"REDCap refused {len(rows)} records: {error}") from None
    ids = [str(each) for each in taken]
    lost = {next(iter(row.values())) for row in rows} - set(ids)
    if lost:
        raise ConflictError(f"REDCap took {len(ids)} of {len(rows)} records; not there: {', '.join(sorted(lost))}")
    return ids
