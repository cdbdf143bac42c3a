"""Numbers as people type them into a form, or what is wrong with them."""

import math
import re
from collections.abc import Mapping

Fields = Mapping[str, str]
Wrong = dict[str, str]
"""What is wrong, by field; the empty name is the whole form."""


def real(fields: Fields, name: str, wrong: Wrong, low: float = -1e12, high: float = 1e12) -> float | None:
    """The number in a field; None where it is empty, or none of those that are allowed."""
    given = fields.get(name, "").replace("\u2212", "-").removesuffix("%").strip()
    if not given:
        return None
    try:
        found = float(given)
    except ValueError:
        found = math.nan
    if not low <= found <= high:
        limits = "" if high == 1e12 else f" from {low:g} to {high:g}"
        wrong[name] = f"Expected: a number{limits}."
        return None
    return found


def whole(fields: Fields, name: str, wrong: Wrong) -> int | None:
    """A whole number; likewise."""
    given = fields.get(name, "")
    if given and not re.fullmatch("[0-9]{1,9}", given):
        wrong[name] = "Expected: a whole number."
        return None
    return int(given) if given else None


def number(value: float) -> str:
    """A number as a form has it."""
    return f"{round(value, 10):.12g}"
