"""Which policies there are: those of this package, those of others that are installed, and those registered by hand."""

import inspect
import warnings
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any, TypeVar

from takeup import policies
from takeup.conjugates import likelihood_of
from takeup.errors import NOTHING, InputError
from takeup.policies.base import FUNCTIONS, Registered
from takeup.policies.card import FAMILIES, Card, Variant

ENTRY_POINTS = "takeup.policies"
"""The group under which other packages name their policies."""

PARTS = ("card", "compliance", "live", *FUNCTIONS)
"""What everybody reads and calls of a policy."""

Kind = TypeVar("Kind", bound=type)
_registered: dict[str, type[Registered]] = {}


def register(kind: Kind) -> Kind:
    """Make a policy known to spec files, lists and forms; also as a decorator.

    A process knows what was registered in it. A package that names its policies as entry points of the group
    `takeup.policies` has them known in every process, which `takeup serve` needs.
    """
    _registered[kind.__name__] = checked(kind)
    variants.cache_clear()
    return kind


def kinds() -> Mapping[str, type[Registered]]:
    """Every kind of policy by its class's name, which is the `kind` of spec files."""
    return {**_installed(), **_registered, **packaged()}


def registered() -> tuple[Registered, ...]:
    """Every variant on every card, family by family: what is listed to users and tested by the contract."""
    return tuple(policy for policy, _ in variants())


@cache
def variants() -> tuple[tuple[Registered, Variant], ...]:
    """The same, with what each card says about its variant."""
    found = sorted(kinds().values(), key=lambda kind: FAMILIES.index(kind.card.family))
    pairs = [(kind, each) for kind in found for each in kind.card.variants]
    return tuple((policy_of({"kind": kind.__name__, **each.parameters}), each) for kind, each in pairs)


def checked(kind: Kind) -> Kind:
    """A kind of policy that can be registered; an InputError says what it lacks, or that its name is taken."""
    if not isinstance(kind, type):
        raise InputError("policy", repr(kind), "a class, as in register(TS)")
    card = vars(kind).get("card")
    lacks = [part for part in PARTS if not hasattr(kind, part)] + list(getattr(kind, "__abstractmethods__", ()))
    if not lacks and (not isinstance(card, Card) or card.family not in FAMILIES):
        lacks = [f"a card of its own, of one of the families {', '.join(FAMILIES)}"]
    if lacks:
        needs = f"a subclass of takeup.policies.FromEvidence, or of Carded, with {', '.join(lacks)}"
        raise InputError("policy", kind.__name__, needs)
    assert isinstance(card, Card)  # else it lacked one
    others = {**_registered, **packaged()}
    known = others.pop(kind.__name__, None)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InputError("policy", kind.__name__, f"another name: there is {known.__module__}.{known.__qualname__}")
    taken = {each.card.name for each in others.values()}
    for variant in card.variants:
        if _built(kind, variant.parameters, others).name in taken:
            raise InputError("policy", kind.__name__, f"a card with another name than {card.name}, which there is")
    return kind


def policy_of(description: Mapping[str, Any]) -> Registered:
    """The policy that a description is of: `{"kind": "TSObs", "alpha": 2}`; policies within policies likewise."""
    try:
        return _described(description, kinds())
    except RecursionError:
        raise InputError("policy", "policies within policies without end", "a policy within a policy") from None


WRITTEN_IN_FULL = {"TSRobust": (("alpha", "beta", "shared", "pooled", "sharpness"), ("caution", "sweeps"))}
"""Parameters that came later than stored descriptions and changed what a policy does, behind those that were all there
were before: a description with all of these and none of those is of the policy as it was, without what came later."""


def _described(description: Mapping[str, Any], known: Mapping[str, type[Registered]]) -> Registered:
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    if not isinstance(kind, str) or kind not in known:
        close = get_close_matches(str(kind).replace("-", ""), known, n=1)
        hint = f"did you mean {close[0]}?" if close else "those of other packages must be installed here"
        raise InputError("kind", NOTHING if kind is None else repr(kind), f"one of {', '.join(sorted(known))}", hint)
    before, later = WRITTEN_IN_FULL.get(kind, ((), ()))
    if later and all(name in parameters for name in before) and not any(name in parameters for name in later):
        parameters |= dict.fromkeys(later)
    return _built(known[kind], parameters, known)


def _built(
    kind: type[Any], parameters: Mapping[str, Any], known: Mapping[str, type[Registered]], default: Any = None
) -> Registered:
    """A policy with these parameters, and the others as by default, or as another policy has them."""
    allowed = inspect.signature(kind).parameters
    given: dict[str, Any] = {}
    for name, value in parameters.items():
        if name not in allowed:
            takes = ", ".join(allowed) or "it has none"
            close = get_close_matches(name, allowed, n=1)
            hint = f"did you mean {close[0]}?" if close else ""
            raise InputError(name, repr(value), f"a parameter of {kind.__name__}: {takes}", hint)
        other = allowed[name].default if default is None else getattr(default, name)
        if isinstance(value, Mapping) and name == "likelihood":
            given[name] = likelihood_of(value)
        elif isinstance(value, Mapping) and "kind" in value:
            given[name] = _described(value, known)
        elif isinstance(value, Mapping) and hasattr(other, "card"):
            given[name] = _built(type(other), value, known, other)  # without a kind it is the other one, changed
        else:
            given[name] = value
    built: Registered = kind(**given) if default is None else replace(default, **given)
    return built


@cache
def packaged() -> dict[str, type[Registered]]:
    """The classes of this package's modules that have a card of their own."""
    modules = [import_module(f"{policies.__name__}.{each.name}") for each in iter_modules(policies.__path__)]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__ and isinstance(vars(value).get("card"), Card)
    }


@cache
def _installed() -> dict[str, type[Registered]]:
    """Those that installed packages name; one that cannot be used is told of and left out."""
    found: dict[str, type[Registered]] = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            kind = checked(entry.load())
            if kind.__name__ in found:
                raise InputError("policy", kind.__name__, f"another name: {found[kind.__name__].__module__} has one")
        except Exception as error:  # somebody else's code, which must not take ours down
            warnings.warn(
                f"the policy {entry.name} of {entry.value} is left out: {type(error).__name__}: {error}", stacklevel=2
            )
        else:
            found[kind.__name__] = kind
    return found
