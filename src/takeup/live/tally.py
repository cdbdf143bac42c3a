"""How many decisions there were about units with each value of a covariate: the sums of the evidence do not say it."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from sqlalchemy import Connection

from takeup.checks import IntArray
from takeup.covariates.kinds import Value
from takeup.store import reading
from takeup.trial.design import Design

Counts: TypeAlias = Mapping[Value, IntArray]
"""By value, None where it is missing: how many decisions there were with each proposal, (z)."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Decisions by what was known of units before them.

    Attributes:
        decisions: how many are counted.
        counts: of each context by its index and of each covariate by its name; values that nobody had are not there.
    """

    decisions: int
    counts: Mapping[int, Mapping[str, Counts]]

    @classmethod
    def of(cls, design: Design, rows: Iterable[tuple[int, int, str, int]]) -> "Tally":
        """From rows of context, proposal, covariates as they are kept, and how many decisions those are."""
        counts: dict[int, dict[str, dict[Value, IntArray]]] = {}
        decisions = 0
        for context, proposal, covariates, many in rows:
            decisions += many
            here = counts.setdefault(context, {})
            for name, value in json.loads(covariates).items():
                seen = here.setdefault(name, {})
                if value not in seen:
                    seen[value] = np.zeros(len(design.space.proposals), dtype=np.int64)
                seen[value][proposal] += many
        return cls(decisions, counts)

    def at(self, context: int, name: str) -> Counts:
        """Of one covariate in one context."""
        return self.counts.get(context, {}).get(name, {})


def tally_of(connection: Connection, trial: str, design: Design) -> Tally | None:
    """The tally of a trial; None where it has no covariates. The database groups equal units before they are read."""
    if design.space.covariates is None:
        return None
    return Tally.of(design, reading.alike(connection, trial))
