"""What every family of distributions can do, whatever the outcome is."""

from abc import ABC, abstractmethod
from dataclasses import fields, replace
from typing import ClassVar, Self, TypeVar

import numpy as np

from takeup.checks import FloatArray
from takeup.errors import NOTHING, InputError
from takeup.outcomes import Outcome

Kind = TypeVar("Kind", bound=Outcome)
_EXAMPLES = {"number": "Number(60, 220)", "count": "Count(100)", "time": "Time(90)"}


class Family(ABC):
    """A distribution of the outcome for each action in each context."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka)."""

    outcome: Outcome | None
    """What the distributions are of, where it is known and no level."""

    @abstractmethod
    def worth(self, outcome: object) -> Self:
        """The family, of this outcome, by which the worth of what comes out is known."""

    @abstractmethod
    def mean_worth(self) -> FloatArray:
        """What an outcome is worth on average; shape (.., X, Ka)."""

    @abstractmethod
    def table(self) -> FloatArray:
        """The probability of each outcome by its code; shape (.., X, Ka, Y)."""


class Parametric(Family):
    """A family with parameters, of one kind of outcome: a dataclass whose fields are the parameters, and the outcome.

    Attributes:
        of: the kind.
    """

    __slots__ = ()
    of: ClassVar[type[Outcome]]

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, Ka), that of every parameter."""
        first: FloatArray = getattr(self, fields(self)[0].name)  # type: ignore[arg-type]
        return first.shape

    def worth(self, outcome: object) -> Self:
        """The family, of this outcome; an InputError where it is of another kind."""
        if not isinstance(outcome, self.of):
            given = NOTHING if outcome is None else getattr(outcome, "kind", repr(outcome))
            allowed = f"the {self.of.kind} that these distributions are of, such as {_EXAMPLES[self.of.kind]}"
            raise InputError("utility", given, allowed)
        return replace(self, outcome=outcome)  # type: ignore[type-var]


def known(outcome: Kind | None) -> Kind:
    """The outcome that a family is of."""
    if outcome is None:
        raise InputError("outcome", NOTHING, "the outcome that the distributions are of", "give them to a World")
    return outcome


def set_parameters(family: object, outcome: Outcome | None, **arrays: FloatArray) -> None:
    """Set the outcome and parameters, all of one shape (.., X, Ka)."""
    object.__setattr__(family, "outcome", outcome)
    try:
        together = np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise InputError(", ".join(arrays), f"shapes {shapes}", "arrays over (a) or (x, a), or numbers") from None
    for name, array in zip(arrays, together, strict=True):
        full = np.array(array if array.ndim > 1 else np.atleast_1d(array)[np.newaxis])
        full.setflags(write=False)
        object.__setattr__(family, name, full)
