"""A policy's card: everything that it says about itself, in one place."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias, get_args

import numpy as np

from takeup import checks
from takeup.conjugates import Likelihood
from takeup.errors import InputError

Compliance: TypeAlias = Literal["not used", "used where seen", "needed"]
"""What a policy makes of the implemented action: nothing, what it can get, or it learns nothing without."""

Outcomes: TypeAlias = Literal["levels", "counted", "valued", "all"]
"""Which outcomes a policy takes: levels alone; those of which it is known how often each came, as of levels and of
numbers with a bin for each; those each of which has a worth of its own; or all."""

Family: TypeAlias = Literal["fixed", "Thompson sampling", "bandits", "protocols", "intents", "instruments"]
"""What a policy belongs to; lists of policies are in this order."""

FAMILIES: tuple[Family, ...] = get_args(Family)


class Bound(Protocol):
    """What a parameter may be."""

    def check(self, name: str, value: Any) -> None:
        """An InputError that names the parameter and what is allowed, unless the value is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Real:
    """One number: not below `least`, above `above`, at most `most`, below `below`; or nothing, if it is optional."""

    least: float = -math.inf
    above: float = -math.inf
    most: float = 1e12
    below: float = math.inf
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """An InputError unless it is such a number."""
        if self.optional and value is None:
            return
        good = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if not good or not (max(self.least, -1e300) <= value <= self.most and self.above < value < self.below):
            raise InputError(name, repr(value), f"one number {self}" + (", or None" if self.optional else ""))

    def __str__(self) -> str:
        low = f"above {self.above:g}" if self.above >= self.least else f"of at least {self.least:g}"
        return f"{low} and " + (f"below {self.below:g}" if self.below <= self.most else f"at most {self.most:g}")


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds; or nothing, if it is optional."""

    least: int
    most: int
    optional: bool = False

    def check(self, name: str, value: Any) -> None:
        """An InputError unless it is such a number."""
        if self.optional and value is None:
            return
        checks.whole(name, value, self.least, self.most)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of several values: words, or True and False."""

    values: tuple[object, ...]

    def check(self, name: str, value: Any) -> None:
        """An InputError unless it is one of them."""
        if not any(value is each or (isinstance(value, str) and value == each) for each in self.values):
            raise InputError(name, repr(value), f"one of {', '.join(map(str, self.values))}")


@dataclass(frozen=True, slots=True)
class Positive:
    """A number above zero or an array of such, as the parameters of a Dirichlet distribution are.

    Attributes:
        least: below it one over the number may overflow, and draws would not be numbers.
        most: above it counts are lost in rounding.
    """

    least: float = 1e-100
    most: float = 1e12

    def check(self, name: str, value: Any) -> None:
        """An InputError unless all numbers are within the bounds; the shape is checked once there is a space."""
        given = checks.real(name, value)
        if given.size and not (given.min() >= self.least and given.max() <= self.most):
            raise InputError(name, value, f"numbers of at least {self.least:g} and at most {self.most:g}")


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of at least zero, as of a pilot's decisions; or nothing."""

    most: float = 1e12

    def check(self, name: str, value: Any) -> None:
        """An InputError unless they are; the shape is checked once there is a space."""
        if value is not None:
            given = checks.real(name, value)
            if not given.size or given.min() < 0 or given.max() > self.most:
                raise InputError(name, value, f"counts of at least 0 and at most {self.most:g}")


@dataclass(frozen=True, slots=True)
class Several:
    """A list of values, no two of them the same.

    Attributes:
        each: what each may be.
        most: how many there may be.
    """

    each: Bound
    most: int

    def check(self, name: str, value: Any) -> None:
        """An InputError unless it is such a list."""
        if not isinstance(value, list | tuple | np.ndarray) or len(value) > self.most:
            raise InputError(name, repr(value), f"a list of at most {self.most} values")
        for one in value:
            self.each.check(name, one)
        if len(set(value)) < len(value):
            raise InputError(name, repr(value), "values of which no two are the same")


@dataclass(frozen=True, slots=True)
class ALikelihood:
    """A likelihood with its prior, for outcomes that are no levels; or nothing."""

    def check(self, name: str, value: Any) -> None:
        """An InputError unless it is one."""
        if value is not None and not isinstance(value, Likelihood):
            raise InputError(name, repr(value), "a likelihood, such as Normal(mean=120, sd=15), or nothing")


SWITCH = OneOf((True, False))


@dataclass(frozen=True, slots=True)
class Variant:
    """A policy with parameters that people may want to choose as they are.

    Attributes:
        sentence: what it does, for people who choose.
        parameters: those that are not as by default, as a spec has them.
        common: whether most trials would consider it.
        slow: whether a person at a page should not have to wait for it.
        recommended: whether to begin with it, of those that use covariates or of those that do not.
    """

    sentence: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    common: bool = False
    slow: bool = False
    recommended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """What everybody needs to know about a kind of policy.

    Lists, forms, spec files, engines and the tests of the contract all read it, so a policy that has one is known
    everywhere; see `takeup.policies.registry`.

    Attributes:
        name: what people call it; a policy whose name depends on its parameters overrides the property `name`.
        family: what it belongs to.
        source: where it is from.
        compliance: what it makes of compliance.
        ignorable: whether it takes those who comply to be like those who do not.
        outcomes: which outcomes it takes.
        variants: what there is to choose from, with a sentence each; the contract tests each of them.
        parameters: what each parameter may be.
        covariates: whether it learns from covariates; it is then given a Profile where others are given the context.
        kernels: modules with compiled forms of it, by their full names; the first that applies is taken.
    """

    name: str
    family: Family
    source: str
    compliance: Compliance
    ignorable: bool = False
    outcomes: Outcomes = "levels"
    variants: tuple[Variant, ...]
    parameters: Mapping[str, Bound] = field(default_factory=dict)
    covariates: bool = False
    kernels: tuple[str, ...] = ()
