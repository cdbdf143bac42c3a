"""Take-up that changes while a trial runs."""

from typing import Annotated, TypeAlias

import numpy as np
from pydantic import Field

from takeup.errors import InputError
from takeup.specfile import Table
from takeup.trial.looks import Looks

PARTS = 10
"""In how many equal parts of a whole trial a take-up goes from one value to another."""
TakeUp: TypeAlias = Annotated[float, Field(gt=0, le=1)]


class FallingTable(Table):
    """Take-up that goes from one value, among the first units, to another among the last of a whole trial.

    Attributes:
        first: in the first tenth of the units.
        last: in the last, with equal steps between.
    """

    first: TakeUp = Field(alias="from")
    last: TakeUp = Field(alias="to")


Changing: TypeAlias = FallingTable | Annotated[list[TakeUp], Field(min_length=1)]
"""The same in ten steps, or one for those who are randomised before each look."""


def phases(take_up: Changing, looks: Looks) -> list[tuple[int, float]]:
    """From which unit on which share of people take what they are offered, the first from unit 0 on."""
    if isinstance(take_up, FallingTable):
        each = np.linspace(take_up.first, take_up.last, PARTS).tolist()
        starts = np.arange(PARTS) * int(looks.at[-1]) // PARTS
    else:
        each = take_up
        starts = np.concatenate([[0], looks.randomised[:-1]])
        if len(each) != starts.size:
            raise InputError("take_up", f"{len(each)} numbers", f"one for each of the {starts.size} looks")
    ends = np.append(starts[1:], looks.at[-1])
    some = zip(starts.tolist(), ends.tolist(), each, strict=True)
    return [(start, share) for start, end, share in some if start < end]
