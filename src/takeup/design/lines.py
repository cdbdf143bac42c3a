"""What covariates make of a rate or of a mean, as a scenario says it: a line in the features."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import expit

from takeup import checks
from takeup.checks import FloatArray
from takeup.covariates import Category, Covariates, Measure
from takeup.covariates.kinds import MISSING, Covariate
from takeup.errors import NOTHING, InputError
from takeup.populations.settling import settled

STEPS = 80
"""How often an interval is halved in which an intercept is looked for."""


def line_of(covariates: Covariates, given: Mapping[str, Any] | None) -> FloatArray:
    """The coefficient of each feature, from 0 to 1; none of the intercept, and none of interactions.

    A measure has `{ per = 10, effect = -0.3 }`, what ten units more make, or a number, what one does. A category has
    the effect of each level, none where it is left out. `missing` says the same of those whose value is.
    """
    table = {} if given is None else given
    checks.keys(table, covariates.names)
    found = dict.fromkeys(covariates.labels, 0.0)
    for name, each in table.items():
        kind = covariates.kind(name)
        with checks.inside(name):
            made = _of_measure(kind, each) if isinstance(kind, Measure) else _of_category(kind, each)
        found |= {f"{name}: {part}" if part else name: effect for part, effect in made.items()}
    return np.array(list(found.values()))


def number(name: str, given: Any) -> float:
    """One number."""
    found = checks.real(name, given)
    if found.ndim:
        raise InputError(name, checks.shown(given), "one number")
    return float(found)


def _of_measure(kind: Measure, given: Any) -> dict[str, float]:
    table = given if isinstance(given, Mapping) else {"effect": given}
    checks.keys(table, ("effect", "per", *_missing(kind)))
    if "effect" not in table:
        raise InputError("effect", NOTHING, f"what `per` {kind.unit or 'units'} more make, a number".replace("  ", " "))
    per = number("per", table.get("per", 1.0))
    if per <= 0:
        raise InputError("per", per, "a number above 0")
    found = {"": number("effect", table["effect"]) * (kind.high - kind.low) / per}
    return found | {part: number(part, table.get(part, 0.0)) for part in _missing(kind)}


def _of_category(kind: Covariate, given: Any) -> dict[str, float]:
    assert isinstance(kind, Category)
    if not isinstance(given, Mapping):
        raise InputError("effect", checks.shown(given), f"one of each level, such as {{ {kind.levels[1]} = -0.5 }}")
    checks.keys(given, (*kind.levels, *_missing(kind)))
    each = {part: number(part, given.get(part, 0.0)) for part in (*kind.levels, *_missing(kind))}
    first = each.pop(kind.levels[0])
    return {part: effect - first for part, effect in each.items()}


def _missing(kind: Covariate) -> tuple[str, ...]:
    return (MISSING,) if kind.missing == "kept" else ()


def sizes(features: FloatArray, lines: FloatArray) -> FloatArray:
    """How much is summed up in a score at the most, for each line: what its rounding is in proportion to."""
    return np.asarray(np.abs(lines) @ np.abs(features).max(axis=0))


def offset(mean: float, scores: FloatArray, weight: FloatArray, size: float) -> float:
    """With what scores of this size have to begin, so that their average is this."""
    return settled(mean - float(weight @ scores), max(abs(mean), size))


def intercept(rate: float, scores: FloatArray, weight: FloatArray, size: float) -> float:
    """With what logit scores of this size have to begin, so that the average of their rates is this.

    Of rates near 1 the others are averaged, whose small numbers have all their digits.
    """
    way = 1.0 if rate <= 0.5 else -1.0
    rate, scores = (rate, scores) if way > 0 else (1 - rate, -scores)
    low, high = -40.0 - float(scores.max()), 40.0 - float(scores.min())
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = float(weight @ expit(middle + scores)) < rate
        low, high = (middle, high) if below else (low, middle)
    return settled(way * (low + high) / 2, max(1.0, size))
