"""The last planned look of a trial, as the head of the trial holds it."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from takeup.errors import InputError
from takeup.trial.book import Book
from takeup.trial.design import Design, canonical
from takeup.trial.events import Looked, event_of
from takeup.trial.look_advice import LookComparison
from takeup.trial.looking import REASONS, STATUSES

_COMPARED = {each.name for each in fields(LookComparison)}


def stored(book: Book) -> str:
    """The last look as the log has it, and whether none is held at the moment; canonical JSON.

    It is put together from what was written down when the look was held: with many proposals that is long.
    """
    last = [] if book.look_body is None else [f'"last":{book.look_body}']
    unlooked = ['"unlooked":true'] if book.unlooked else []
    return "{" + ",".join(last + unlooked) + "}"


def loaded(text: str, design: Design) -> tuple[Looked | None, str | None, bool]:
    """The last look, its body, and whether none is held at the moment.

    Raises:
        InputError: no log of such a trial leads to this.
    """
    try:
        found = json.loads(text)
        body = canonical(found["last"]) if "last" in found else None
        last = None if body is None else event_of(body)
        possible = set(found) <= {"last", "unlooked"} and found.get("unlooked", True) is True
        if possible and (last is None or (isinstance(last, Looked) and _possible(last, design))):
            return last, body, "unlooked" in found
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass  # another kind of value than a log has
    raise InputError("looks", text[:200], "the last look of a trial")


def _possible(last: Looked, design: Design) -> bool:
    """Whether such a look can have been held in this trial."""
    proposals, planned = design.space.proposals, 0 if design.looks is None else design.looks.at.size
    named = {each for each in (last.control, last.chosen) if each is not None}
    return (
        _whole(last.look, planned)
        and (last.ended is None or _whole(last.ended, last.look))
        and last.status in STATUSES
        and isinstance(last.offered, tuple)
        and {*last.offered, *named, *(last.dropped or {})} <= set(proposals)
        and set((last.dropped or {}).values()) <= set(REASONS.values())
        and all(_compared(each, proposals) for each in last.compared)
        and all(each is None or _shares(each, len(proposals)) for each in (last.probability, last.best))
        and (last.still is None or _offered(last.still, proposals))
    )


def _offered(given: Mapping[str, Any], proposals: tuple[str, ...]) -> bool:
    control = {given["control"]} if "control" in given else set()
    return (
        set(given) <= {"offered", "control"}
        and bool(given["offered"])
        and {*given["offered"], *control} <= set(proposals)
    )


def _whole(value: object, most: int) -> bool:
    return type(value) is int and 1 <= value <= most


def _shares(given: Any, proposals: int) -> bool:
    return len(given) == proposals and all(_number(each) and 0 <= each <= 1 for each in given)


def _number(value: object) -> bool:
    return type(value) in (int, float)


def _compared(given: Mapping[str, Any], proposals: tuple[str, ...]) -> bool:
    numbers = set(given) == _COMPARED and _number(given["probability"]) and _number(given["threshold"])
    return numbers and given["proposal"] in proposals
