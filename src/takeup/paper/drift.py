"""What forgetting is worth when compliance changes half-way, and what it costs when nothing does.

Outcomes stay as they are. Before the change nine in ten do what is proposed; after it most do the opposite, so that the
other proposal is the better one. TS has to learn the values again, TS-Obs only the compliance.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

from takeup.environment import Environment
from takeup.paper.robust import RatioCell
from takeup.paper.runner import Runner
from takeup.policies import TS, Forgetting, Policy, TSObs
from takeup.world import World

HORIZON = 4_000
CHANGE = 2_000
HALF_LIFE, EPOCH = 400, 100

_SUCCESS = [0.25, 0.75]
BEFORE = Environment.from_world(World.bernoulli([[0.9, 0.1], [0.1, 0.9]], _SUCCESS))
AFTER = Environment.from_world(World.bernoulli([[0.2, 0.8], [0.7, 0.3]], _SUCCESS))


@dataclass(frozen=True, slots=True)
class DriftResult:
    """The costs of each policy before and after the change, and in a world that stays as it was before."""

    replications: int
    seed: int
    costs: tuple[RatioCell, ...]

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data."""
        return asdict(self) | {"costs": [cost.record("phase") for cost in self.costs]}


def policies() -> list[tuple[Policy[Any], Policy[Any]]]:
    """Each base and the same with forgetting."""
    return [(base, Forgetting(base=base, half_life=HALF_LIFE, epoch=EPOCH)) for base in (TS(), TSObs())]


def drift(run: Runner) -> DriftResult:
    """Run both worlds. Environments that change run in the numpy reference, whatever engine is asked for."""
    run = replace(run, engine="auto", scheduler=None)
    worlds = {"changing": BEFORE.switch(CHANGE, AFTER), "staying": BEFORE}
    costs = []
    for pair in policies():
        trace = run.simulate(worlds, pair, HORIZON, steps=[CHANGE, HORIZON])
        first, whole = trace.regret[0, :, :, 0], trace.regret[0, :, :, 1]
        phases = {"before the change": first, "after the change": whole - first, "no change": trace.regret[1, :, :, 1]}
        for phase, regret in phases.items():
            for policy, ours in zip(pair, regret, strict=True):
                costs.append(RatioCell.of(phase, policy.name, ours, regret[0]))
    return DriftResult(run.replications, run.seed, tuple(costs))


def decisions(replications: int) -> int:
    """How many decisions `drift` makes, for a progress bar."""
    return 2 * 2 * len(policies()) * HORIZON * replications
