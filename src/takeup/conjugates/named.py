"""Likelihoods by name, as specs and stored policies have them."""

import inspect
from collections.abc import Mapping
from typing import Any

from takeup import checks
from takeup.conjugates.likelihoods import Bootstrap, Exponential, Likelihood, LogNormal, Normal, Poisson
from takeup.errors import NOTHING, InputError
from takeup.outcomes import Outcome

LIKELIHOODS: Mapping[str, type[Any]] = {
    each.kind: each for each in (Normal, LogNormal, Bootstrap, Poisson, Exponential)
}
"""By the name that a spec gives them."""

_DEFAULTS: Mapping[str, Likelihood] = {"number": Normal(), "count": Poisson(), "time": Exponential()}


def likelihood_for(outcome: Outcome) -> Likelihood:
    """What an outcome is taken to be where nobody says otherwise."""
    return _DEFAULTS[outcome.kind]


def likelihood_of(description: Mapping[str, Any]) -> Likelihood:
    """The likelihood of a table such as `{"kind": "normal", "about": 120, "rarely_outside": [90, 160]}`."""
    given = dict(description)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in LIKELIHOODS:
        allowed = f"one of {', '.join(LIKELIHOODS)}"
        raise InputError("likelihood.kind", NOTHING if kind is None else checks.shown(kind), allowed)
    family = LIKELIHOODS[kind]
    if "about" in given or "rarely_outside" in given:
        return _about(family, given)
    known = inspect.signature(family).parameters
    if "bins" in given and family is Bootstrap:
        hint = "an outcome says how many it has, as in Number(.., bins=50)"
        raise InputError("likelihood.bins", checks.shown(given["bins"]), "nothing", hint)
    checks.keys(given, known, "likelihood.")
    with checks.inside("likelihood"):
        found: Likelihood = family(**given)
    return found


def _about(family: type[Any], given: dict[str, Any]) -> Likelihood:
    value, outside = given.pop("about", None), given.pop("rarely_outside", None)
    if not hasattr(family, "about"):
        raise InputError("likelihood.about", checks.shown(value), f"alpha, as {family.kind} has no such prior")
    if value is None:
        raise InputError("likelihood.about", NOTHING, "a number, as rarely_outside is there")
    if not isinstance(outside, list | tuple) or len(outside) != 2:
        told = NOTHING if outside is None else checks.shown(outside)
        raise InputError("likelihood.rarely_outside", told, "two numbers [low, high]")
    more = list(inspect.signature(family.about).parameters)[3:]
    for name, other in given.items():
        if name not in more:
            allowed = f"one of {', '.join(('about', 'rarely_outside', *more))}"
            raise InputError(f"likelihood.{name}", checks.shown(other), allowed)
    with checks.inside("likelihood"):
        found: Likelihood = family.about(value, *outside, **given)
    return found
