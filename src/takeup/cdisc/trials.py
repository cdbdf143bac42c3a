"""Studies from live trials."""

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from sqlalchemy import Connection

from takeup.cdisc.study import Study, check_one_each, untreated_of
from takeup.errors import InputError
from takeup.live import Trial
from takeup.live.export import time_of
from takeup.live.log import log_of
from takeup.store import reading
from takeup.trial.design import Design
from takeup.trial.events import Decided, TakenOver, event_of


def study_of(
    trial: Trial,
    *,
    name: str | None = None,
    occasion: str | None = None,
    untreated: str | None = None,
    zone: str = "UTC",
) -> Study:
    """The study that a trial is; unblinds.

    Args:
        trial: the trial.
        name: STUDYID; the trial's identifier where left out.
        occasion: of units with several decisions, which of them.
        untreated: the action that means that nothing was taken, as opposed to another treatment.
        zone: the time zone that times and dates are of, such as Europe/Berlin.

    Raises:
        InputError: no decisions, several of one unit, or an option that does not fit.
    """
    return trial.store.read(
        lambda connection: study_in(connection, trial.id, name=name, occasion=occasion, untreated=untreated, zone=zone)
    )


def study_in(
    connection: Connection,
    trial: str,
    *,
    name: str | None = None,
    occasion: str | None = None,
    untreated: str | None = None,
    zone: str = "UTC",
) -> Study:
    """The same, as a connection sees it."""
    try:
        place = ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError("zone", repr(zone), "a time zone such as UTC or Europe/Berlin") from None
    head = reading.head(connection, trial)
    records = [(record, event_of(body)) for record, body in reading.records(connection, trial)]
    if not records:
        raise InputError("trial", f"{trial}, which has decided nothing", "one with decisions")
    kept = np.array([occasion in (None, record.occasion) for record, _ in records], dtype=np.bool_)
    some = [pair for pair, keep in zip(records, kept, strict=True) if keep]
    if not some:
        known = ", ".join(sorted({record.occasion for record, _ in records if record.occasion}))
        raise InputError("occasion", repr(occasion), f"one of {known}" if known else "none: units have one decision")
    subjects = [record.unit for record, _ in some]
    check_one_each(subjects, [record.occasion for record, _ in some])
    log = log_of(connection, trial).only(kept)
    return Study(
        name or trial,
        log,
        tuple(subjects),
        tuple(time_of(record.at).astimezone(place) for record, _ in some),
        tuple(event.site if isinstance(event, Decided | TakenOver) else None for _, event in some),
        untreated_of(log, untreated),
        Design.of_text(head.spec).spec.rehearsal,
        time_of(head.at).astimezone(place),
    )
