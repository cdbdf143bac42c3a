"""Environments and policies as plain data, and back: what a stored result says about itself."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from takeup.environment import Environment, Types
from takeup.errors import InputError
from takeup.policies import REGISTRY, Policy
from takeup.space import Space

KINDS: dict[str, type[Policy[Any]]] = {type(policy).__name__: type(policy) for policy in REGISTRY}


def describe(value: object) -> Any:
    """A value as JSON would have it: dataclasses as their fields, policies with their kind."""
    if is_dataclass(value):
        kind = {"kind": type(value).__name__} if type(value).__name__ in KINDS else {}
        return kind | {field.name: describe(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    return value


def policy_of(description: Mapping[str, Any]) -> Policy[Any]:
    """The policy that a description is of."""
    parameters = dict(description)
    kind = parameters.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        raise InputError("kind", repr(kind), f"one of {', '.join(sorted(KINDS))}")
    allowed = [field.name for field in fields(KINDS[kind])]  # type: ignore[arg-type]  # every policy is a dataclass
    for name in parameters:
        if name not in allowed:
            raise InputError(name, parameters[name], f"a parameter of {kind}: {', '.join(allowed) or 'it has none'}")
    if not isinstance(parameters.get("latent", {}), Mapping):
        raise InputError("latent", repr(parameters["latent"]), "a table with the parameters of TSLat")
    for name, value in parameters.items():
        if isinstance(value, Mapping):  # a policy within a policy; what a WarmTSLat warms can only be one kind
            parameters[name] = policy_of({**value, "kind": "TSLat"} if name == "latent" else value)
    return KINDS[kind](**parameters)


def environment_of(description: Mapping[str, Any]) -> Environment:
    """The environment that a description is of."""
    types = description["types"]
    return Environment(
        Space(**description["space"]),
        np.array(description["context"]),
        np.array(description["response"]),
        None if types is None else Types(**{name: np.array(array) for name, array in types.items()}),
        tuple((step, environment_of(other)) for step, other in description.get("later", ())),
    )
