"""A simulation of one policy, checked and laid out for an engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.environment import Environment
from takeup.errors import InputError, MismatchError
from takeup.policies import Policy
from takeup.simulation.kernels.choice import Kernel, choose
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.tables import Memory, Record, Report, Scenarios, decision_type, scenarios
from takeup.simulation.reporting import Reporting

_MOST = 2**31 - 1
"""Counts are of 32 bits, and so are the numbers of replications and steps."""


class Result(NamedTuple):
    """What an engine returns.

    Attributes:
        regret: cumulative regret at the recorded steps, (E, R, S).
        pulls: how often each proposal was made in each context, (E, R, X, Kz).
        decisions: ((x Kz + z) Ka + a) Y + y of every decision, (E, R, T), if they were asked for.
    """

    regret: FloatArray
    pulls: IntArray
    decisions: NDArray[np.unsignedinteger] | None


@dataclass(frozen=True, slots=True)
class Job:
    """All that a kernel needs to know, and nothing that an engine decides.

    Attributes:
        shape: (X, Kz, Ka, Y).
        horizon: T.
        replications: their numbers.
        scenarios: the environments' tables.
        report: what reaches the policy.
        steps: when regret is recorded.
        keeping: whether every decision is kept.
        kernel: the policy's file.
        parameters: the policy's numbers.
        state: rows of counts and of reals that the policy needs.
        own: the switches of the policy's file.
    """

    shape: tuple[int, int, int, int]
    horizon: int
    replications: range
    scenarios: Scenarios
    report: Report
    steps: IntArray
    keeping: bool
    kernel: Kernel
    parameters: Any
    state: tuple[int, int]
    own: dict[str, bool]

    @classmethod
    def of(
        cls,
        environments: Sequence[Environment],
        policy: Policy[Any],
        horizon: int,
        replications: range,
        seed: int,
        reporting: Reporting,
        steps: Sequence[int] | None,
        keep_decisions: bool,
        recurrence: bool,
    ) -> "Job":
        """Check the arguments of an engine."""
        horizon = checks.whole("horizon", horizon, least=1)
        if horizon > _MOST or replications.stop > _MOST:
            raise InputError("horizon and replications", (horizon, replications), f"at most {_MOST} each")
        if not replications or replications.step != 1 or replications.start < 0:
            raise InputError("replications", replications, "a range from a number of at least 0, in steps of one")
        if not environments:
            raise InputError("environments", "none", "at least one")
        spaces = {(e.space.shape, e.space.utility, e.space.intended) for e in environments}
        if len(spaces) > 1:
            raise MismatchError("environments run together must have one shape, utility and intended actions")
        space = environments[0].space
        kernel = choose(policy, space, waiting=reporting.waiting, recurrence=recurrence)
        kept = checks.counts("steps", [horizon] if steps is None else steps)
        if kept.ndim != 1 or not kept.size or kept[0] < 1 or kept[-1] > horizon or (np.diff(kept) <= 0).any():
            raise InputError("steps", list(kept), f"rising numbers between 1 and the horizon of {horizon}")
        return cls(
            space.shape,
            horizon,
            replications,
            scenarios(environments, seed),
            Report(np.uint64(round(reporting.compliance * 2**32)), reporting.delay, reporting.batch),
            kept,
            keep_decisions,
            kernel,
            kernel.parameters(policy, space),
            kernel.size(policy, space),
            kernel.switches(policy, space),
        )

    @property
    def waiting(self) -> bool:
        """Whether anything reaches the policy later than at once."""
        return int(self.report.delay) > 0 or int(self.report.batch) > 1

    @property
    def changing(self) -> bool:
        """Whether any environment changes."""
        return bool((self.scenarios.until < self.horizon).any())

    @property
    def switches(self) -> dict[str, bool]:
        """The switches of the driver, and those of the policy's file."""
        return {"WAITING": self.waiting, "KEEPING": self.keeping, "CHANGING": self.changing, **self.own}

    @property
    def bind(self) -> dict[Plain, Plain]:
        """The policy's functions."""
        return self.kernel.bound(self.parameters)

    @property
    def rows(self) -> tuple[int, int, int]:
        """Rows of counts, reals and ring of a replication at work; none of them zero, which no engine likes."""
        counts, real = self.state
        ring = min(int(self.report.delay) + int(self.report.batch), self.horizon) if self.waiting else 1
        return counts + self.shape[0] * self.shape[1], max(real, 1), ring

    def memory(self, columns: int) -> Memory:
        """Room for this many replications at work."""
        counts, real, ring = self.rows
        return Memory(
            np.zeros((counts, columns), dtype=np.int32),
            np.zeros((real, columns), dtype=self.kernel.real),
            np.zeros((ring, columns), dtype=np.uint32),
        )

    def record(self, replications: int) -> Record:
        """Room for the results of this many replications of every scenario."""
        environments = self.scenarios.key.shape[0]
        rows = (environments, replications)
        kept = (*rows, self.horizon) if self.keeping else (1, 1, 1)
        return Record(
            self.steps,
            np.zeros((*rows, self.steps.size)),
            np.zeros((*rows, self.shape[0] * self.shape[1]), dtype=np.int64),
            np.zeros(kept, dtype=decision_type(self.shape)),
        )

    def result(self, record: Record) -> Result:
        """The record in its final shape."""
        pulls = record.pulls.reshape(*record.pulls.shape[:2], *self.shape[:2])
        return Result(record.regret, pulls, record.decisions if self.keeping else None)
