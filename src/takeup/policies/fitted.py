"""What a policy knows whose models are fitted to rows, and when they are fitted."""

from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup.checks import IntArray
from takeup.evidence import Evidence
from takeup.rows import Rows
from takeup.space import Space

Many: TypeAlias = int | IntArray
Pair: TypeAlias = tuple[Many, Many]
"""Of decisions, and of what is seen of them."""

Model = TypeVar("Model")
"""What is fitted."""

GROWTH = 1.2
"""By how much a fit's rows are more than those of the fit before, and by one at least."""


def next_moment(size: Many) -> IntArray:
    """How many there are when models are fitted next, after a fit to so many.

    With one more while there are few, and then by a fifth: all fits together cost less than seven times the last one,
    so that what a decision costs does not grow with history.
    """
    return np.asarray(np.maximum(np.asarray(size) + 1, np.ceil(GROWTH * np.asarray(size)).astype(np.int64)))


def is_due(now: Pair, due: Pair) -> NDArray[np.bool_]:
    """Whether models are to be fitted, where there are so many decisions, and so much is seen of them."""
    return np.asarray((np.asarray(now[0]) >= due[0]) | (np.asarray(now[1]) >= due[1]))


def due_after(now: Pair, due: Pair) -> tuple[IntArray, IntArray]:
    """When models are fitted next, after a fit at a moment; decisions have their own moments, and so have reports."""
    decisions, seen = (np.where(np.asarray(n) >= m, next_moment(n), m) for n, m in zip(now, due, strict=True))
    return decisions, seen


@dataclass(frozen=True, slots=True, eq=False)
class Fitted(Generic[Model]):
    """What a policy knows whose models are fitted at moments.

    The fits are a function of the multiset of rows as it was known at the last moment: not of their order, and not of
    what was fitted before. What becomes known between two moments is in the next fit.

    Attributes:
        rows: the decisions; a live trial, which keeps them in its database, leaves them out.
        evidence: what they add up to, at every moment.
        models: what was fitted last.
        due: how many decisions there are when they are fitted next, or how much its policy counts as seen of them;
            each of shape (..).
    """

    rows: Rows
    evidence: Evidence
    models: tuple[Model, ...]
    due: tuple[IntArray, IntArray]

    @property
    def space(self) -> Space:
        """What the decisions are in."""
        return self.evidence.space

    @property
    def counts(self) -> IntArray:
        """Of the evidence."""
        return self.evidence.counts

    def live(self, counts: IntArray, models: tuple[Model, ...] | None) -> "Fitted[Model]":
        """With other counts, and with other models where there are some."""
        evidence = replace(self.evidence, counts=counts)
        return replace(self, evidence=evidence, models=self.models if models is None else models)
