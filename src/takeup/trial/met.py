"""What is met before a decision: a unit's context and covariates, as somebody says it and as a trial keeps it.

Covariates are kept in plain words, each measure at the nearest point of its grid; features are derived from that.
"""

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from takeup import checks
from takeup.checks import IntArray
from takeup.covariates import Covariates
from takeup.covariates.kinds import GIVE_NONE, Value
from takeup.errors import NOTHING, ConflictError, InputError
from takeup.space import Space
from takeup.trial.design import canonical

MOST_GIVEN = 1_000
"""How many covariates anybody may name at once; no trial has more."""
MOST_TEXT = 200
LARGEST = 1e300
"""Whatever is beyond is no number that anybody measured, and a whole one may be too long to write."""

_HINT = "the spec's [space.covariates] would say what they are"


class Met(NamedTuple):
    """A unit as it is met.

    Attributes:
        context: x, an index.
        covariates: as they are kept, in canonical JSON; None where the trial has none.
    """

    context: int
    covariates: str | None = None


def plain(given: object) -> dict[str, Value] | None:
    """Covariates as JSON would have them, so that they can be told apart; whether they are allowed a trial says."""
    if given is None:
        return None
    if not isinstance(given, Mapping) or len(given) > MOST_GIVEN or not all(isinstance(each, str) for each in given):
        raise InputError("covariates", checks.shown(given), "a table of values by the names of covariates")
    return {name: _plain(name, value) for name, value in given.items()}


def kept(space: Space, given: Mapping[str, Any] | None) -> str | None:
    """Covariates as a trial keeps them, checked against its space.

    Raises:
        InputError: some that there are not, left out or not allowed; a LabelError where one is no level of a category.
    """
    if space.covariates is None:
        if given is not None:
            raise InputError("covariates", checks.shown(given), "nothing: this trial has no covariates", _HINT)
        return None
    if given is None:
        allowed = f"a table with {', '.join(space.covariates.names)}, as this trial has covariates"
        raise InputError("covariates", NOTHING, allowed)
    return _settled(space.covariates, canonical(given)) if _written(given) else canonical(space.covariates.kept(given))


def amended(space: Space, before: str | None, given: Mapping[str, Any]) -> str | None:
    """Covariates of which some are said anew; the others are as they were."""
    if space.covariates is not None:
        checks.keys(given, space.covariates.names, "covariates.")
    return kept(space, {**values_of(before), **given} if before is not None else given)


def values_of(covariates: str | None) -> dict[str, Value]:
    """Kept covariates by name; none where there are none."""
    return {} if covariates is None else dict(json.loads(covariates))


def features_of(space: Space, covariates: str | None) -> tuple[int, ...] | None:
    """The features of kept covariates; None where the space has none.

    Raises:
        InputError: they are not what a trial with this space keeps.
    """
    if space.covariates is None or covariates is None:
        if (space.covariates is None) != (covariates is None):
            raise InputError("covariates", checks.shown(covariates), "covariates where the space has some")
        return None
    return _features(space.covariates, covariates)


def features_of_all(covariates: Covariates, texts: Iterable[str]) -> IntArray:
    """The features of many kept covariates, (n, d); each value of a covariate is looked up once.

    Raises:
        ValueError: they are not what a trial with these covariates keeps; or a KeyError, TypeError or InputError.
    """
    values, blocks = [json.loads(text) for text in texts], []
    for name, kind in zip(covariates.names, covariates.kinds, strict=True):
        column = [each[name] for each in values]
        known = {value: kind.features(name, value) for value in set(column)}
        blocks.append(np.array([known[value] for value in column], dtype=np.int64).reshape(len(column), -1))
    return covariates.combined(blocks)


@lru_cache(maxsize=4096)
def _features(covariates: Covariates, text: str) -> tuple[int, ...]:
    values = json.loads(text)
    if not isinstance(values, dict) or _settled(covariates, text) != text:
        raise InputError("covariates", checks.shown(text), "covariates as they are kept")
    return covariates.features(values)


@lru_cache(maxsize=4096)
def _settled(covariates: Covariates, text: str) -> str:
    """What is kept of values in canonical JSON: a decision asks three times for the same."""
    return canonical(covariates.kept(json.loads(text)))


def _written(given: Mapping[str, Any]) -> bool:
    """Whether JSON says the same: texts, finite numbers and None by names that are texts."""
    return all(
        isinstance(name, str)
        and (value is None or type(value) in (int, str, bool) or (type(value) is float and isfinite(value)))
        for name, value in given.items()
    )


def agree(unit: str, number: int, before: str | None, now: str | None) -> None:
    """An error where the decision that a unit has is known with other covariates."""
    if before == now:
        return
    known, said = values_of(before), values_of(now)
    name = next(each for each in known if known[each] != said.get(each))
    raise ConflictError(
        f"unit {unit!r} has decision {number}, with {name} {checks.shown(known[name])} and not"
        f" {checks.shown(said.get(name))}; report covariates with a reason to correct it"
    )


def _plain(name: str, value: object) -> Value:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST):
        return value
    if isinstance(value, str) and len(value) <= MOST_TEXT:
        return value
    hint = GIVE_NONE if value != value else ""
    raise InputError(f"covariates.{name}", checks.shown(value), "a finite number, a text or None", hint)
