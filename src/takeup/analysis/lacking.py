"""Contexts in which something that is compared was offered to nobody: they are left out, counted apart, and named."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from takeup.analysis.groups import Groups
from takeup.analysis.scores import Scores

MOST_NAMED = 3
"""So many contexts are named, others counted."""


@dataclass(frozen=True, slots=True, eq=False)
class Lacking:
    """The contexts that lack a proposal, of a single trial.

    Attributes:
        rows: which decisions are of one, (n,).
        why: for each of them what it lacks and how many decisions it has, in words.
    """

    rows: NDArray[np.bool_]
    why: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.why)

    def __str__(self) -> str:
        more = len(self.why) - MOST_NAMED
        others = [f"likewise in {more} other contexts"] if more > 0 else []
        return "; ".join([*self.why[:MOST_NAMED], *others])

    @property
    def left_out(self) -> str:
        """Who is left out, and why: a clause; empty where nobody is."""
        return f"{int(self.rows.sum()):,} are left out, as {self}" if self else ""


def lacking(of: Scores, proposals: tuple[int, ...], here: NDArray[np.bool_] | None = None) -> Lacking:
    """Which contexts had nobody who was offered a proposal and has a value.

    Args:
        of: the scores of a single trial.
        proposals: all that are compared.
        here: the decisions in question; all where left out.
    """
    space, log = of.log.space, of.log
    here = np.ones(len(log), dtype=np.bool_) if here is None else here
    found = Lacking(np.zeros(len(log), dtype=np.bool_))
    known, many = here & of.known, len(space.contexts)
    there = np.stack([(of.chance[:, z] > 0, ~np.isnan(of.score[:, z])) for z in proposals], axis=-1)  # (2, n, z)
    ever = Groups.of(known, log.context, many).sums(np.concatenate([*there, known[:, np.newaxis]], axis=-1)) > 0
    told = np.asarray(ever[:, :-1].reshape(many, 2, -1).all(axis=1))
    for x in np.flatnonzero(ever[:, -1] & ~told.all(axis=-1)):
        inside = here & (log.context == x)
        for z, enough in zip(proposals, told[x], strict=True):
            if not enough:
                where = "" if len(space.contexts) == 1 else f" in {space.contexts[x]} ({int(inside.sum()):,} decisions)"
                found.why.append(f"{space.proposals[z]} was offered to nobody{where} of whom it is known")
                found.rows[inside] = True
    return found
