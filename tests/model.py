"""A trial as one would write it down on paper: the oracle of the store.

It keeps what was asked for and reported, and counts everything afresh each time. It knows nothing of events, versions
or caches, and it takes the proposals as they come.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from takeup.checks import IntArray
from takeup.space import UNSEEN, Space

PENDING, MISSING = "pending", "missing"


@dataclass
class Case:
    """One decision."""

    context: int
    proposal: int
    at: int
    implemented: int | str = PENDING
    outcome: int | str = PENDING


@dataclass
class Model:
    """All of a trial."""

    space: Space
    window: int | None
    state: str = "draft"
    cases: list[Case] = field(default_factory=list)
    units: dict[tuple[str, str | None], int] = field(default_factory=dict)
    corrections: int = 0
    past: int = 0

    def decide(self, unit: str, occasion: str | None, context: int, proposal: int, at: int) -> int:
        """The number of a new decision."""
        self.cases.append(Case(context, proposal, at))
        self.units[unit, occasion] = len(self.cases)
        return len(self.cases)

    def take_over(self, unit: str, occasion: str | None, case: Case) -> None:
        """Somebody who was assigned before, with what is known of them."""
        self.cases.append(case)
        self.units[unit, occasion] = len(self.cases)
        self.past += 1

    def contradicts(self, number: int, said: dict[str, int | str]) -> bool:
        """Whether a report differs from what has been reported."""
        case = self.cases[number - 1]
        return any(getattr(case, name) not in (PENDING, value) for name, value in said.items())

    def report(self, number: int, said: dict[str, int | str]) -> None:
        """Take a report in."""
        self.corrections += self.contradicts(number, said)
        for name, value in said.items():
            setattr(self.cases[number - 1], name, value)

    def open(self, case: Case, at: int) -> bool:
        """Whether the outcome window is still open."""
        return self.window is not None and at < case.at + self.window

    def evidence(self, at: int) -> IntArray:
        """n[x, z, a, y] at a time."""
        x, z, a, y = self.space.shape
        counts = np.zeros((x, z, a + 1, y + 1), dtype=np.int64)
        for case in self.cases:
            implemented = case.implemented if isinstance(case.implemented, int) else UNSEEN
            outcome = case.outcome if isinstance(case.outcome, int) and not self.open(case, at) else UNSEEN
            counts[case.context, case.proposal, implemented, outcome] += 1
        return counts

    def by_epoch(self, at: int, length: int) -> dict[int, IntArray]:
        """The same of every epoch of so many decisions, in which there is one."""
        parts = range(0, len(self.cases), length)
        return {i // length: replace(self, cases=self.cases[i : i + length]).evidence(at) for i in parts}

    def statuses(self, at: int) -> dict[str, int]:
        """The counts that a progress shows."""
        seen = [case for case in self.cases if isinstance(case.outcome, int)]
        pending = [case for case in self.cases if case.outcome == PENDING]
        return {
            "decisions": len(self.cases),
            "compliance_seen": sum(isinstance(case.implemented, int) for case in self.cases),
            "compliance_missing": sum(case.implemented == MISSING for case in self.cases),
            "compliance_pending": sum(case.implemented == PENDING for case in self.cases),
            "outcomes_counted": sum(not self.open(case, at) for case in seen),
            "outcomes_waiting": sum(self.open(case, at) for case in seen),
            "outcomes_missing": sum(case.outcome == MISSING for case in self.cases),
            "outcomes_pending": len(pending),
            "outcomes_late": sum(self.window is not None and not self.open(case, at) for case in pending),
            "corrections": self.corrections,
            "past": self.past,
        }
