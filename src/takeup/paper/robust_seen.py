"""What TS-Robust costs and gains beside TS where compliance is seen of all, of some and of nobody, at T = 10,000.

The worlds are those of `takeup.paper.robust`, and random ones of three and five actions, too. All policies meet the
same patients, whatever share of their compliance is seen.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from takeup.paper.related.compliance_aware import trap
from takeup.paper.robust import ACTIONS, HELD_OUT, HORIZON, TRAP, Bar, bars, cell, confounded_worlds, sweep
from takeup.paper.runner import Runner
from takeup.policies import TS, Policy, TSRobust
from takeup.simulation import Reporting

SEEN = (1.0, 0.25, 0.0)
WORLDS = 400
"""Random worlds of each number of actions."""


@dataclass(frozen=True, slots=True)
class SeenResult:
    """The bars at one share of compliance seen.

    Attributes:
        seen: the share.
        replications: in the sweep; the trap has four times as many.
        world_replications: in each random world.
        worlds: random worlds of each number of actions.
        bars: over all numbers of actions.
        by_actions: those of the random worlds, by the number of actions.
        worst: the random world with the greatest ratio to TS, its regret, TS's and the ratio.
    """

    seen: float
    replications: int
    world_replications: int
    worlds: int
    bars: tuple[Bar, ...]
    by_actions: dict[int, tuple[Bar, ...]]
    worst: dict[str, Any]

    def as_json(self) -> dict[str, Any]:
        """As plain data, with the verdicts."""
        judged = {name: [asdict(bar) | {"met": bar.met} for bar in each] for name, each in self._named().items()}
        return asdict(self) | {"bars": judged.pop("bars"), "by_actions": judged}

    def _named(self) -> dict[str, tuple[Bar, ...]]:
        return {"bars": self.bars} | {str(actions): each for actions, each in self.by_actions.items()}


def by_share_seen(
    run: Runner,
    *,
    seen: Sequence[float] = SEEN,
    actions: Sequence[int] = ACTIONS,
    worlds: int = WORLDS,
    world_replications: int = 100,
    policy: Policy[Any] = TSRobust(),
) -> list[SeenResult]:
    """Measure TS-Robust, or another policy, at each share of compliance seen.

    Args:
        run: how; its replications are those of each p of the sweep, the trap gets four times as many.
        seen: the shares.
        actions: the numbers of actions of the random worlds.
        worlds: how many random worlds there are of each.
        world_replications: runs in each of them.
        policy: what is compared with TS.
    """
    found = []
    policies = [TS(), policy]
    for share in seen:
        reporting = Reporting(compliance=share)
        swept = run.simulate(sweep(), policies, HORIZON, reporting=reporting)
        trapped = run.simulate({TRAP: trap()}, policies, HORIZON, 4 * run.replications, reporting=reporting)
        random = {
            many: run.simulate(
                confounded_worlds(worlds, HELD_OUT, many), policies, HORIZON, world_replications, reporting=reporting
            )
            for many in actions
        }
        cells = [
            cell(trace, where, policy.name).record("world") | {"actions": many}
            for many, trace in random.items()
            for where in trace.setup.environments
        ]
        found.append(
            SeenResult(
                share,
                run.replications,
                world_replications,
                worlds,
                bars(swept, trapped, list(random.values()), policy.name),
                {many: bars(swept, trapped, [trace], policy.name)[2:] for many, trace in random.items()},
                max(cells, key=lambda each: float(each["ratio"])),
            )
        )
    return found
