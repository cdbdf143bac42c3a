"""A simulation of one policy among units with covariates, laid out in arrays for the kernels."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from takeup.policies import Policy
from takeup.policies.meeting import space_for, uses_covariates
from takeup.populations import CovariateEnvironment
from takeup.simulation.engine import packed_type
from takeup.simulation.kernels import populations, unit_driver, unit_lanes
from takeup.simulation.kernels.choice import bound, choose
from takeup.simulation.kernels.layout import Lanes, Layout, visibility
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.tables import KernelInput, KernelMemory
from takeup.simulation.kernels.units import Truths, UnitMemory, places
from takeup.simulation.setup import Setup


@dataclass(frozen=True, slots=True)
class UnitLayout(Layout):
    """As Layout, with a room for the unit that is at hand."""

    @classmethod
    def of(cls, setup: Setup, policy: Policy[Any], *, recurrence: bool = True) -> "UnitLayout":
        """Lay out what has been checked; the arguments are those of `Layout.of`."""
        reporting, space = setup.reporting, space_for(policy, setup.space)
        kernel = choose(policy, space, waiting=reporting.waiting, recurrence=recurrence)
        environments = [each for each in setup.environments.values() if isinstance(each, CovariateEnvironment)]
        tables: Any = populations.truths(environments, setup.seed)
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
                "KEEPING": False,
                "COVARIATES": uses_covariates(policy),
                **(kernel.switches(policy, space) if hasattr(kernel, "switches") else {}),
            },
            unit_driver.replicate_many,
        )

    def lanes(self) -> Lanes | None:
        """The CPU's form for many replications side by side; None where there is none."""
        tables: Truths = self.given.scenarios
        form = getattr(self.kernel, "LANES_OF_UNITS", None)
        if form is None or self.switches["WAITING"] or not unit_lanes.able(self.given.shape, tables):
            return None
        own = import_module(form)
        names = ("begin_lanes", "propose_lanes", "learn_lanes")
        bind = {getattr(unit_lanes, name): getattr(own, name) for name in names}
        return Lanes(unit_lanes.replicate_lanes, bind, LANES)

    def memory(self, columns: int) -> KernelMemory:
        """Room for so many replications at work, side by side."""
        tables: Truths = self.given.scenarios
        counts, real, ring = self.rows
        if columns > 1:
            real = import_module(self.kernel.LANES_OF_UNITS).rows(self.given.parameters.features, self.given.shape[1])
        room = places(self.given.shape, tables)[3] + int(tables.outcome.groups.max())
        shape = (real * columns,) if self.switches["COVARIATES"] else (real, 1)
        memory: Any = UnitMemory(
            np.zeros((counts, 1), dtype=np.int32),
            np.zeros(shape, dtype=self.kernel.REAL),
            np.zeros((ring, 1), dtype=np.uint32),
            np.zeros(room * columns),
        )
        made: KernelMemory = memory
        return made
