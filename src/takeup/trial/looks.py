"""When a trial is looked at."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

import numpy as np
from pydantic import Field

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import NOTHING, InputError
from takeup.specfile import Table

MOST_LOOKS = 1_000
MOST_UNITS = 100_000
"""The largest trial: for more, probabilities of being best would be less exact than is said of them."""
Units: TypeAlias = Annotated[int, Field(ge=1, le=MOST_UNITS)]
"""A number of outcomes."""
Threshold: TypeAlias = Annotated[float, Field(gt=0, lt=1)]
Thresholds: TypeAlias = Threshold | list[Threshold]
"""One for all looks, or one for each."""
Update: TypeAlias = Literal["look", "patient"]


class LooksTable(Table):
    """`[looks]`: when the trial is looked at, by how many outcomes are known.

    Attributes:
        first: outcomes at the first look.
        every: outcomes between two looks.
        last: outcomes at the last.
        at: the same as a list.
        lag: how many more have been randomised at a look than are followed up; none are added at the last.
        update: when probabilities change: at looks, or after every outcome.
    """

    first: Units | None = None
    every: Units | None = None
    last: Units | None = None
    at: Annotated[list[Units], Field(min_length=1, max_length=MOST_LOOKS)] | None = None
    lag: Annotated[int, Field(ge=0, le=MOST_UNITS)] = 0
    update: Update = "look"

    def build(self) -> "Looks":
        """The looks, checked."""
        if self.at is None:
            if self.last is None:
                raise InputError("last", NOTHING, "how many outcomes are known at the last look, or a list `at`")
            first, every = self.first or self.every or self.last, self.every or self.last
            if first > self.last:
                raise InputError("first", first, f"at most the last, {self.last}")
            if len(range(first, self.last, every)) >= MOST_LOOKS:
                raise InputError("every", every, f"a number that makes at most {MOST_LOOKS} looks of {self.last}")
            found = [*range(first, self.last, every), self.last]
        elif self.first is None and self.every is None and self.last is None:
            found = self.at
        else:
            raise InputError("at", self.at, "either a list `at`, or first, every and last")
        return Looks(np.array(found), self.lag, self.update)


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """When a trial is looked at.

    Attributes:
        at: how many outcomes are known at each look, rising.
        lag: how many more have been randomised.
        update: when probabilities change.
    """

    at: IntArray
    lag: int = 0
    update: Update = "look"

    def __post_init__(self) -> None:
        if (np.diff(self.at, prepend=0) <= 0).any():
            raise InputError("at", self.at.tolist(), "numbers of outcomes that rise")

    @property
    def randomised(self) -> IntArray:
        """How many have been randomised at each look: at the last no more than are followed up."""
        return np.asarray(np.minimum(self.at + self.lag, self.at[-1]))

    def each(self, name: str, given: Thresholds | None) -> FloatArray | None:
        """A number for each look."""
        if given is None:
            return None
        found = checks.real(name, given)
        if found.ndim and found.size != self.at.size:
            raise InputError(name, f"{found.size} numbers", f"one number, or one for each of the {self.at.size} looks")
        return np.asarray(np.broadcast_to(found, self.at.shape))

    def powers(self, given: float | Sequence[float] | str) -> FloatArray:
        """The power of the probabilities after each look, or after each outcome where probabilities change then.

        "i/2n" is i / (2 n) where i of n outcomes are known.
        """
        every = self.at if self.update == "look" else np.arange(self.at[-1])
        if given == "i/2n":
            return np.asarray(every / (2 * self.at[-1]))
        if self.update == "look":
            found = self.each("soften", given)  # type: ignore[arg-type]  # shares are thresholds, ends included
            assert found is not None  # something is given
            return found
        if not isinstance(given, float | int):
            raise InputError("soften", given, 'a number, or "i/2n", where probabilities change after every outcome')
        return np.full(every.size, float(given))
