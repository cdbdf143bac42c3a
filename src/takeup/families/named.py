"""Families by name, as specs have them."""

import inspect
from collections.abc import Mapping
from typing import Any

from takeup import checks
from takeup.errors import NOTHING, InputError
from takeup.families.base import Family
from takeup.families.numbers import LogNormals, Normals
from takeup.families.rates import Exponentials, Poissons
from takeup.families.samples import Samples

FAMILIES: Mapping[str, type[Any]] = {
    "normal": Normals,
    "lognormal": LogNormals,
    "poisson": Poissons,
    "exponential": Exponentials,
    "samples": Samples,
}
"""By the name that a spec gives them."""


def family_of(description: Mapping[str, Any]) -> Family:
    """The family of a table such as `{"kind": "normal", "mean": [130, 118], "sd": 15}`."""
    given = dict(description)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in FAMILIES:
        raise InputError("kind", NOTHING if kind is None else checks.shown(kind), f"one of {', '.join(FAMILIES)}")
    known = [name for name in inspect.signature(FAMILIES[kind]).parameters if name != "outcome"]
    checks.keys(given, known)
    for name in known:
        if name not in given:
            raise InputError(name, NOTHING, "a list with an entry for each action")
    family: Family = FAMILIES[kind](**given)
    return family
