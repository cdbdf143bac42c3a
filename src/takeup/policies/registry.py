"""Which policies there are: those of this package, those of others that are installed, and those registered by hand."""

import inspect
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any, TypeVar

from takeup import policies
from takeup.errors import InputError
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
    missing = [part for part in PARTS if not hasattr(kind, part)]
    if not isinstance(kind, type) or missing:
        needs = f"a subclass of takeup.policies.FromEvidence, or of Carded, with {', '.join(missing)}"
        raise InputError("policy", getattr(kind, "__name__", repr(kind)), needs)
    known = {**_registered, **packaged()}.get(kind.__name__)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise InputError("policy", kind.__name__, f"another name: there is {known.__module__}.{known.__qualname__}")
    return kind


def policy_of(description: Mapping[str, Any]) -> Registered:
    """The policy that a description is of: `{"kind": "TSObs", "alpha": 2}`; policies within policies likewise."""
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    known = kinds()
    if not isinstance(kind, str) or kind not in known:
        raise InputError("kind", repr(kind), f"one of {', '.join(sorted(known))}")
    allowed = inspect.signature(known[kind]).parameters
    for name, value in parameters.items():
        if name not in allowed:
            raise InputError(name, value, f"a parameter of {kind}: {', '.join(allowed) or 'it has none'}")
    return known[kind](**{name: _within(value, allowed[name].default) for name, value in parameters.items()})


def _within(value: object, default: object) -> object:
    """A parameter as it is, or the policy that it describes; where that says no kind, of the kind of the default."""
    if isinstance(value, Mapping) and (hasattr(default, "card") or "kind" in value):
        return policy_of({"kind": type(default).__name__, **value})
    return value


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
    found = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            kind = checked(entry.load())
        except (ImportError, AttributeError, InputError) as error:
            warnings.warn(f"the policy {entry.name} of {entry.value} is left out: {error}", stacklevel=2)
        else:
            found[kind.__name__] = kind
    return found
