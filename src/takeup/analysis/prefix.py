"""Which decisions count where the answer has to hold at any time, and which two proposals are compared."""

import numpy as np
from numpy.typing import NDArray

from takeup.errors import InputError
from takeup.log import Log
from takeup.space import UNSEEN, Label, Space

NOT_LOGGED = (
    "nobody wrote down the probabilities that proposals were drawn with, and their shares do not do at any time"
)
"""Why nothing that holds at any time is said of such a log."""


def closed_prefix(log: Log, *, finished: bool = False) -> NDArray[np.bool_]:
    """The decisions before the first whose outcome is not known, (.., n).

    Outcomes that come early are not like those that come late. What holds at any time runs in the order of decisions,
    therefore, and waits for the first that is pending; taken in as reports arrive it would hold at none. Of a trial
    that is finished nothing is pending: what is not known is missing, and left out.
    """
    known = log.outcome != UNSEEN
    return known if finished else np.logical_and.accumulate(known, axis=-1)


def pair_of(space: Space, one: Label, other: Label) -> tuple[int, int]:
    """The indices of two proposals, which must differ."""
    i, j = space.index("proposal", one), space.index("proposal", other)
    if i == j:
        raise InputError("other", repr(other), f"another proposal than {space.proposals[i]}")
    return i, j


def single(log: Log) -> None:
    """An InputError where there are trials side by side, as one answer is for one trial."""
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
