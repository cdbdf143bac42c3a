"""What a policy knows whose models are fitted to rows, and when they are fitted."""

from dataclasses import dataclass, replace

import numpy as np

from takeup.checks import IntArray
from takeup.evidence import Evidence
from takeup.inference.logit import Logit
from takeup.rows import Rows
from takeup.space import Space

GROWTH = 1.2
"""By how much a fit's rows are more than those of the fit before, and by one at least."""


def next_moment(size: int) -> int:
    """How many rows there are when models are fitted next, after a fit to so many.

    With one row more while there are few, and then by a fifth: all fits together cost less than seven times the
    last one, so that what a decision costs does not grow with history.
    """
    return max(size + 1, int(np.ceil(GROWTH * size)))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """What a policy knows whose models are fitted at moments.

    The fits are a function of the multiset of rows as it was known at the last moment: not of their order, and not of
    what was fitted before. What is reported between two moments is in the next fit.

    Attributes:
        rows: the decisions; a live trial, which keeps them in its database, leaves them out.
        evidence: what they add up to, at every moment.
        models: what was fitted last.
        due: how many rows there are at the next moment.
    """

    rows: Rows
    evidence: Evidence
    models: tuple[Logit, ...]
    due: int

    @property
    def space(self) -> Space:
        """What the decisions are in."""
        return self.evidence.space

    @property
    def counts(self) -> IntArray:
        """Of the evidence."""
        return self.evidence.counts

    def live(self, counts: IntArray, models: tuple[Logit, ...] | None) -> "Fitted":
        """With other counts, and with other models where there are some."""
        evidence = replace(self.evidence, counts=counts)
        return replace(self, evidence=evidence, models=self.models if models is None else models)
