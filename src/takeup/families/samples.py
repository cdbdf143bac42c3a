"""Outcomes of real people as distributions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import NOTHING, InputError
from takeup.families.base import Family, known
from takeup.outcomes import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Samples(Family):
    """The outcomes of real people, each as probable as the others.

    Args:
        values: a list of outcomes for each action, in a single context.
        outcome: what they are; a World fills it in.
    """

    values: tuple[tuple[object, ...], ...]
    outcome: Outcome | None = None

    def __init__(self, values: Sequence[Sequence[object]], outcome: Outcome | None = None) -> None:
        if not _listed(values) or not all(_listed(each) for each in values):
            raise InputError("values", checks.shown(values), "a list of outcomes for each action")
        object.__setattr__(self, "values", tuple(tuple(each) for each in values))
        object.__setattr__(self, "outcome", outcome)
        for a, some in enumerate(self.values):
            if not some:
                raise InputError("values", f"none of action {a}", "at least one outcome of each action")
            if outcome is not None:
                for each in some:
                    outcome.code(each)

    @property
    def shape(self) -> tuple[int, ...]:
        """(1, Ka)."""
        return 1, len(self.values)

    def worth(self, outcome: object) -> "Samples":
        """The family, of this outcome."""
        if not isinstance(outcome, Outcome):
            raise InputError("utility", NOTHING if outcome is None else repr(outcome), "the outcome that these are of")
        return Samples(self.values, outcome)

    def mean_worth(self) -> FloatArray:
        """The mean over the people."""
        return np.asarray(self.table() @ known(self.outcome).worths)

    def table(self) -> FloatArray:
        """The share of each outcome."""
        outcome = known(self.outcome)
        shares = np.zeros((*self.shape, outcome.size))
        for a, some in enumerate(self.values):
            np.add.at(shares[0, a], [outcome.code(each) for each in some], 1 / len(some))
        return shares


def _listed(values: object) -> bool:
    """Whether it is a list; a text is none, nor is an array of a single number."""
    listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str | bytes)
    return listed and getattr(values, "ndim", 1) > 0
