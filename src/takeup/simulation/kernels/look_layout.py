"""Trials with looks, laid out in arrays for the kernel: once, for all blocks of them and for every engine."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.look_tables import LookInput, LookMemory, LookOutput


@dataclass(frozen=True, slots=True, eq=False)
class LookLayout:
    """All that the kernel needs to know, and nothing that an engine decides.

    Attributes:
        given: what all trials have in common.
        scenarios: how many truths there are.
        memory: makes room for one trial at work.
        whole: the type of the statistic that is kept of each trial.
        bind: functions that stand in for others.
        switches: those of the driver.
        recorded: how many looks are kept of what superiority was asked of: all or none.
    """

    given: LookInput
    scenarios: int
    memory: Callable[[], LookMemory]
    whole: type[np.signedinteger[Any]]
    bind: Mapping[Plain, Plain]
    switches: Mapping[str, bool]
    recorded: int = 0

    def output(self, trials: int) -> LookOutput:
        """Room for the results of so many trials of every scenario."""
        proposals, columns = self.memory().known.shape
        return room_for(self.scenarios, trials, (proposals, columns), self.recorded, self.whole)

    @property
    def bytes(self) -> int:
        """What is kept of a trial."""
        size: int = sum(array[:1].nbytes for array in self.output(1))
        return size


def room_for(
    scenarios: int,
    trials: int,
    statistic: tuple[int, int],
    recorded: int = 0,
    whole: type[np.signedinteger[Any]] = np.int64,
) -> LookOutput:
    """Room for what is kept of so many trials of so many scenarios; `statistic` is its shape, (K, C)."""
    proposals, columns = statistic

    def room(kind: Any, *shape: int) -> Any:
        return np.zeros((scenarios, trials, *shape), dtype=kind)

    return LookOutput(
        room(np.int8),
        room(np.int16),
        room(np.int16),
        room(whole, proposals, columns),
        room(np.int16, proposals),
        room(np.int8, proposals),
        room(np.float64, recorded),
        room(np.int16, recorded),
    )
