"""A simulation of one policy, laid out in arrays for the kernels: once, for all blocks of its replications."""

from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from takeup.checks import IntArray
from takeup.environment import Environment
from takeup.policies import Policy
from takeup.simulation.engine import Part, packed_type
from takeup.simulation.kernels import driver, lane_driver, lane_gammas, lane_late
from takeup.simulation.kernels.choice import bound, choose
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, KernelOutput, Visibility, scenarios
from takeup.simulation.reporting import Reporting
from takeup.simulation.setup import Setup


def visibility(reporting: Reporting) -> Visibility:
    """What reaches a policy, as kernels have it."""
    return Visibility(np.uint64(round(reporting.compliance * 2**32)), reporting.delay, reporting.batch)


class Lanes(NamedTuple):
    """A form of a kernel for many replications side by side.

    Attributes:
        entry: what the CPU runs.
        bind: functions that stand in for others, beside those of the layout.
        columns: how many replications there are.
    """

    entry: Plain
    bind: dict[Plain, Plain]
    columns: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All that a kernel needs to know, and nothing that an engine decides.

    Attributes:
        kernel: the policy's kernel, a module.
        given: what all replications have in common.
        steps: when regret is recorded.
        packed: the type of a packed decision.
        state: rows of counts and of reals that the policy needs.
        bind: functions that stand in for others.
        switches: those of the driver, and those of the kernel.
        entry: what the CPU runs: replications one after the other.
    """

    kernel: ModuleType
    given: KernelInput
    steps: IntArray
    packed: np.dtype[Any]
    state: tuple[int, int]
    bind: dict[Plain, Plain]
    switches: dict[str, bool]
    entry: Plain = driver.replicate_many

    @classmethod
    def of(cls, setup: Setup, policy: Policy[Any], *, recurrence: bool = True) -> "Layout":
        """Lay out what has been checked.

        Args:
            setup: what is simulated.
            policy: one of its policies, which must have a kernel.
            recurrence: whether the two-arm recurrences may stand in for draws; the same distribution, other numbers.
        """
        space, reporting = setup.space, setup.reporting
        kernel = choose(policy, space, waiting=reporting.waiting, recurrence=recurrence)
        tables = scenarios([each for each in setup.environments.values() if isinstance(each, Environment)], setup.seed)
        parameters = kernel.parameters(policy, space)
        return cls(
            kernel,
            KernelInput(setup.horizon, space.shape, tables, visibility(reporting), parameters),
            setup.steps,
            packed_type(space),
            kernel.size(policy, space),
            bound(kernel, policy, parameters),
            {
                "WAITING": reporting.waiting,
                "KEEPING": setup.full,
                "CHANGING": bool((tables.until < setup.horizon).any()),
                **(kernel.switches(policy, space) if hasattr(kernel, "switches") else {}),
            },
        )

    def lanes(self) -> Lanes | None:
        """The CPU's form for many replications side by side; None where there is none."""
        kernel, shape = self.kernel, self.given.shape
        able = hasattr(kernel, "in_lanes") and kernel.in_lanes(shape, self.given.parameters)
        if not able or self.switches["WAITING"] or self.switches["CHANGING"]:
            return None
        bind: dict[Plain, Plain] = {
            lane_driver.propose_lanes: kernel.propose_lanes,
            lane_gammas.settle: lane_late.settle_together,
        }
        if hasattr(kernel, "learn_lanes"):
            bind[lane_driver.learn_lanes] = kernel.learn_lanes
        if shape == (1, 2, 2, 2):
            bind |= {lane_driver.table_of: lane_driver.four_table, lane_driver.answer_lanes: lane_driver.answer_four}
        return Lanes(lane_driver.replicate_lanes, bind, LANES)

    @property
    def environments(self) -> int:
        """How many there are."""
        return int(self.given.scenarios.key.shape[0])

    @property
    def rows(self) -> tuple[int, int, int]:
        """Rows of counts, reals and ring of a replication at work; none of them zero, which no engine likes."""
        counts, real = self.state
        seen, (contexts, proposals, _, _) = self.given.visibility, self.given.shape
        ring = min(seen.delay + seen.batch, self.given.horizon) if self.switches["WAITING"] else 1
        return counts + contexts * proposals, max(real, 1), ring

    def memory(self, columns: int) -> KernelMemory:
        """Room for this many replications at work."""
        counts, real, ring = self.rows
        return KernelMemory(
            np.zeros((counts, columns), dtype=np.int32),
            np.zeros((real, columns), dtype=self.kernel.REAL),
            np.zeros((ring, columns), dtype=np.uint32),
        )

    def output(self, replications: int) -> KernelOutput:
        """Room for the results of this many replications of every scenario."""
        rows, (contexts, proposals, _, _) = (self.environments, replications), self.given.shape
        kept = (*rows, self.given.horizon) if self.switches["KEEPING"] else (1, 1, 1)
        return KernelOutput(
            self.steps,
            np.zeros((*rows, self.steps.size)),
            np.zeros((*rows, contexts * proposals), dtype=np.int64),
            np.zeros(kept, dtype=self.packed),
        )

    def part(self, output: KernelOutput) -> Part:
        """The output in its final shape."""
        rows = output.pulls.shape[:2]
        decisions = output.decisions if self.switches["KEEPING"] else np.zeros((*rows, 0), dtype=self.packed)
        return Part(output.regret, output.pulls.reshape(*rows, *self.given.shape[:2]), decisions)
