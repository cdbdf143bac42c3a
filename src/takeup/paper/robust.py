"""What TS-Robust costs and gains beside TS, at T = 10,000: where the model of TS-Obs holds, and where it does not.

Three kinds of worlds. The sweep is the regret bound analysis of Stirn & Jebara (2019), section 4.1, where compliance is
ignorable. In the trap of Della Penna, Reid & Balduzzi (2016) half are always-takers who do well anyway and half are
compliers whom the treatment harms. The random worlds, of two, three and five actions, mix compliance types with any
confounding.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.paper import regret
from takeup.paper.agreement import Mean
from takeup.paper.related.compliance_aware import trap
from takeup.paper.runner import Runner
from takeup.policies import TS, Policy, TSObs, TSRobust
from takeup.randomness import stream
from takeup.simulation import Trace
from takeup.space import Space

HORIZON = 10_000
LEAST = 50
"""The fewest replications: with fewer, a random world's ratio to TS has no error."""

SWEEP = tuple(p / 100 for p in range(10, 50, 5))
"""The p of the sweep: the share that does not comply, 0.1 to 0.45."""

TRAP = "trap"
ACTIONS = (2, 3, 5)
WORLDS = 67
"""Random worlds of each number of actions."""

GAP = 0.02
"""The least difference between the values of the two proposals of a random world."""

HELD_OUT = 2019
"""The seed of the random worlds that the verdicts rest on. Nothing was tuned on them."""

TUNING = 777
"""The seed of the worlds of the trade-off curves."""

TUNING_WORLDS = 13
SHARED = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SHARPNESS = (1.0, 2.0, 6.0, 12.0)
"""The settings of the trade-off curves; a sharpness of 3 is the default and in the first curve."""

BOOTSTRAPS = 500
RESPONSES: tuple[tuple[int, ...], ...] = ((0, 0), (1, 1), (0, 1), (1, 0))
"""Never-takers, always-takers, compliers and defiers: what each does under either proposal."""

ANYTHING = 3
"""With more than two actions, how many types there are that do anything."""

QUANTILES = (0.5, 0.9, 0.99)
LIMITS = {1.0: 0.62, 0.25: 0.78, 0.0: 1.0}
"""The most that the mean over the sweep may be, by the share of decisions whose compliance is seen."""


@dataclass(frozen=True, slots=True)
class RatioCell:
    """The regret of a policy somewhere, and its ratio to that of another on the same patients, with errors."""

    where: str
    policy: str
    regret: float
    regret_error: float
    ratio: float
    ratio_error: float

    @classmethod
    def of(cls, where: str, policy: str, ours: FloatArray, theirs: FloatArray) -> "RatioCell":
        """Of the regret of each replication."""
        return cls(where, policy, *Mean.of(ours), *ratio_of_means(ours, theirs))

    def record(self, place: str) -> dict[str, Any]:
        """As plain data, with `where` under the name of this kind of place."""
        fields = asdict(self)
        return {place: fields.pop("where")} | fields


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that has to be at most a limit; `error` is its Monte Carlo error."""

    name: str
    limit: float
    measured: float
    error: float

    @property
    def met(self) -> bool:
        """Whether it is at most the limit."""
        return self.measured <= self.limit

    @property
    def clear(self) -> bool:
        """Whether it is met by two errors or more."""
        return self.measured + 2 * self.error <= self.limit


@dataclass(frozen=True, slots=True)
class TradeOff:
    """One point of a trade-off curve: parameters of TS-Robust, and the figures in worlds of the tuning seed."""

    shared: float
    sharpness: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class RobustResult:
    """TS, TS-Obs and TS-Robust in the sweep and the trap, TS-Robust in each held-out world, and five limits to meet.

    `curve` is the trade-off over the prior weight, and then over the sharpness. The trap has four times `replications`.
    """

    replications: int
    world_replications: int
    seed: int
    cells: tuple[RatioCell, ...]
    worlds: tuple[RatioCell, ...]
    bars: tuple[Bar, ...]
    curve: tuple[TradeOff, ...]

    @property
    def holds(self) -> bool:
        """Whether all of them are met."""
        return all(bar.met for bar in self.bars)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data, with the verdicts."""

        def judged(bars: Sequence[Bar]) -> list[dict[str, Any]]:
            return [asdict(bar) | {"met": bar.met, "clear": bar.clear} for bar in bars]

        curve = [asdict(setting) | {"bars": judged(setting.bars)} for setting in self.curve]
        cells = {name: [c.record("environment") for c in getattr(self, name)] for name in ("cells", "worlds")}
        return asdict(self) | cells | {"bars": judged(self.bars), "curve": curve, "holds": self.holds}


def sweep() -> dict[str, Environment]:
    """μ = (0.75, 0.25), and a share p does the opposite of what is proposed."""
    return {f"p = {p:.2f}": regret.environment(p) for p in SWEEP}


def confounded_worlds(number: int = WORLDS, seed: int = HELD_OUT, actions: int = 2) -> dict[str, Environment]:
    """Compliance types with Dirichlet(1) shares, potential outcomes with uniform rates.

    With two actions there are four types. With more, one always does each action, one complies, and three do anything.
    Worlds in which the second best is less than GAP from the best are drawn again.
    """
    rng = stream(seed, "confounded worlds", *(() if actions == 2 else (actions,)))
    found: dict[str, Environment] = {}
    while len(found) < number:
        responses = RESPONSES
        if actions > 2:
            anything = [tuple(map(int, row)) for row in rng.integers(actions, size=(ANYTHING, actions))]
            responses = (*((a,) * actions for a in range(actions)), tuple(range(actions)), *anything)
        share, rate = rng.dirichlet(np.ones(len(responses))), rng.random((len(responses), actions))
        world = Environment.from_types(Space(actions), share, responses, np.stack([1 - rate, rate], axis=-1))
        if np.sort(world.regret().ravel())[1] >= GAP:
            found[f"world {len(found)} of {actions} actions"] = world
    return found


def robust(run: Runner, *, curves: bool = True) -> RobustResult:
    """Measure TS-Robust beside TS, with verdicts.

    Args:
        run: how; at least 50 replications for each cell of the sweep. The trap, whose regret has the longest tail, gets
            four times as many, a held-out world a fifth. A point of a trade-off curve has a fifth of these runs, and a
            tenth in each of its worlds. The seed of the held-out worlds is fixed.
        curves: whether to run the trade-off curves.
    """
    replications = checks.whole("replications", run.replications, least=LEAST)

    def traces(
        policies: Sequence[Policy[Any]], runs: int, worlds: int, seed: int, there: int
    ) -> tuple[Trace, Trace, list[Trace]]:
        return (
            run.simulate(sweep(), policies, HORIZON, runs),
            run.simulate({TRAP: trap()}, policies, HORIZON, 4 * runs),
            [run.simulate(confounded_worlds(worlds, seed, many), policies, HORIZON, there) for many in ACTIONS],
        )

    curve = []
    settings = [TSRobust(shared=s) for s in SHARED] + [TSRobust(sharpness=s) for s in SHARPNESS]
    for policy in settings if curves else []:
        tuned = traces([TS(), policy], replications // 5, TUNING_WORLDS, TUNING, replications // 10)
        curve.append(TradeOff(policy.shared, policy.sharpness, bars(*tuned, policy.name)))
    names = [TS().name, TSObs().name, TSRobust().name]
    policies = [TS(), TSObs(), TSRobust()]
    swept, trapped, random = traces(policies, replications, WORLDS, HELD_OUT, replications // 5)
    return RobustResult(
        replications=replications,
        world_replications=replications // 5,
        seed=run.seed,
        cells=tuple(
            cell(trace, where, name)
            for trace in (swept, trapped)
            for where in trace.setup.environments
            for name in names
        ),
        worlds=tuple(cell(trace, where, names[-1]) for trace in random for where in trace.setup.environments),
        bars=bars(swept, trapped, random, names[-1]),
        curve=tuple(curve),
    )


def decisions(replications: int, curves: bool = True) -> int:
    """How many decisions `robust` makes, for a progress bar."""
    known, settings = len(SWEEP) + 4, len(SHARED) + len(SHARPNESS) if curves else 0
    last = 3 * (known * replications + len(ACTIONS) * WORLDS * (replications // 5))
    return HORIZON * (
        last + 2 * settings * (known * (replications // 5) + len(ACTIONS) * TUNING_WORLDS * (replications // 10))
    )


def cell(trace: Trace, environment: str, policy: str) -> RatioCell:
    """One policy in one environment, beside TS."""
    return RatioCell.of(environment, policy, trace.final(policy, environment), trace.final("TS", environment))


def bars(swept: Trace, trapped: Trace, worlds: Sequence[Trace], policy: str) -> tuple[Bar, ...]:
    """The figures that decide, of traces of the sweep, the trap and the random worlds."""
    seen = swept.setup.reporting.compliance
    cells = [cell(swept, where, policy) for where in swept.setup.environments]
    mean = float(np.exp(np.mean([np.log(each.ratio) for each in cells])))
    relative = float(np.sqrt(sum((each.ratio_error / each.ratio) ** 2 for each in cells)) / len(cells))
    caught = cell(trapped, TRAP, policy)
    pairs = []
    for trace in worlds:
        position = list(trace.setup.policies).index(policy)
        pairs.append((trace.regret[:, position, :, -1], trace.regret[:, 0, :, -1]))
    ratios = np.concatenate([ours.mean(axis=1) / theirs.mean(axis=1) for ours, theirs in pairs])
    median, ninetieth, last = np.quantile(ratios, QUANTILES)
    errors = _bootstrap(pairs)
    return (
        Bar("sweep, geometric mean of the ratios to TS", LIMITS[seen], mean, mean * relative),
        Bar("trap, ratio to TS", 1.2, caught.ratio, caught.ratio_error),
        Bar("random confounded worlds, median ratio to TS", 1.0, float(median), float(errors[0])),
        Bar("random confounded worlds, 90th percentile of the ratios", 1.3, float(ninetieth), float(errors[1])),
        Bar("random confounded worlds, 99th percentile of the ratios", 1.9, float(last), float(errors[2])),
    )


def ratio_of_means(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """The ratio of two means of paired runs, and its standard error by the delta method."""
    ratio = float(ours.mean() / theirs.mean())
    return ratio, Mean.of(ours - ratio * theirs).error / float(theirs.mean())


def _bootstrap(pairs: Sequence[tuple[FloatArray, FloatArray]]) -> FloatArray:
    """The Monte Carlo error of the quantiles: the runs of each world are drawn again, the worlds stay."""
    rng = stream(0, "bootstrap")
    found = np.empty((BOOTSTRAPS, len(QUANTILES)))
    for i in range(BOOTSTRAPS):
        ratios = []
        for ours, theirs in pairs:
            again = rng.integers(ours.shape[1], size=ours.shape)
            means = [np.take_along_axis(each, again, axis=1).mean(axis=1) for each in (ours, theirs)]
            ratios.append(means[0] / means[1])
        found[i] = np.quantile(np.concatenate(ratios), QUANTILES)
    return np.asarray(found.std(axis=0, ddof=1))
