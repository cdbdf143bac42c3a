"""Environments and policies as plain data, and back: what a stored result says about itself."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from takeup.conjugates import Likelihood
from takeup.environment import Environment, Types
from takeup.policies.registry import kinds
from takeup.populations import CovariateEnvironment
from takeup.space import Space

NEWER = ("likelihood", "pilot", "caution", "sweeps")
"""Parameters that came after descriptions were stored: where they are not used they are left out, as they were then."""


def describe(value: object) -> Any:
    """A value as JSON would have it: dataclasses as their fields, policies with their kind."""
    if isinstance(value, Space):
        return value.described()
    if isinstance(value, Likelihood | CovariateEnvironment):
        return value.described()
    if is_dataclass(value):
        kind = {"kind": type(value).__name__} if type(value).__name__ in kinds() else {}
        given = {field.name: getattr(value, field.name) for field in fields(value)}
        return kind | {name: describe(each) for name, each in given.items() if each is not None or name not in NEWER}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [describe(item) for item in value]
    return value


def environment_of(description: Mapping[str, Any]) -> Environment | CovariateEnvironment:
    """The environment that a description is of."""
    if "population" in description:
        return CovariateEnvironment.of(description)
    return _without_covariates(description)


def _without_covariates(description: Mapping[str, Any]) -> Environment:
    types = description["types"]
    return Environment(
        Space(**description["space"]),
        np.array(description["context"]),
        np.array(description["response"]),
        None if types is None else Types(**{name: np.array(array) for name, array in types.items()}),
        tuple((step, _without_covariates(other)) for step, other in description.get("later", ())),
    )
