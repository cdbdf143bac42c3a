"""Outcomes as plain data, as specs and stored results have them."""

import inspect
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from takeup import checks
from takeup.errors import NOTHING, InputError
from takeup.outcomes.base import Outcome
from takeup.outcomes.count import Count
from takeup.outcomes.number import Number
from takeup.outcomes.time import Time

KINDS: Mapping[str, type[Any]] = {kind.kind: kind for kind in (Number, Count, Time)}
"""What is not a list of levels, by the name that a spec gives it."""


def described(outcome: Any) -> dict[str, Any]:
    """The outcome as plain data."""
    return {"kind": outcome.kind, **asdict(outcome)}


def outcome_of(description: Mapping[str, Any]) -> Outcome:
    """The outcome that a table such as `{"kind": "number", "low": 60, "high": 220}` describes."""
    given = dict(description)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        given_kind = NOTHING if kind is None else repr(kind)
        raise InputError("kind", given_kind, f"one of {', '.join(KINDS)}", "levels are a list of their names")
    known = inspect.signature(KINDS[kind]).parameters
    checks.keys(given, known)
    for name, parameter in known.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise InputError(name, NOTHING, "a number")
    outcome: Outcome = KINDS[kind](**given)
    return outcome
