"""Who was decided on before, for forms: under the very name, or under one that differs in capital letters alone."""

import json
from dataclasses import dataclass

from sqlalchemy import Connection

from takeup.store import reading

MOST = 100
"""How many of somebody's latest decisions are looked through."""


@dataclass(frozen=True, slots=True)
class Before:
    """A decision that somebody has.

    Attributes:
        number: the decision's.
        unit: whom it is for.
        occasion: which of the unit's; None where each has one.
        context: the group in which it was made.
    """

    number: int
    unit: str
    occasion: str | None
    context: str | None


def spellings(name: str) -> list[str]:
    """The name in other capital and small letters, as people mix them up."""
    return sorted({name.upper(), name.lower(), name.capitalize(), name.title(), name.swapcase()} - {name})


def numbered(connection: Connection, trial: str, number: int) -> Before | None:
    """The decision that has this number, as its log tells; None where there is none."""
    for event in reading.log(connection, trial, decision=number, limit=1):
        body = json.loads(event.body)
        return Before(number, body["unit"], body.get("occasion"), body.get("context"))
    return None


def of_unit(connection: Connection, trial: str, unit: str, occasion: str | None = None) -> Before | None:
    """The latest decision of somebody, on an occasion where there are many."""
    for number in reading.of_unit(connection, trial, unit, MOST):
        found = numbered(connection, trial, number)
        if found is not None and (occasion is None or found.occasion == occasion):
            return found
    return None


def alike(connection: Connection, trial: str, unit: str) -> list[Before]:
    """Decisions of those whose names differ in capital letters alone; none where somebody has the very name."""
    if reading.of_unit(connection, trial, unit, 1):
        return []
    found = (of_unit(connection, trial, name) for name in spellings(unit))
    return [each for each in found if each is not None]
