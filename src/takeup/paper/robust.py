"""What TS-Robust costs and gains beside TS, at T = 10,000: where the model of TS-Obs holds, and where it does not.

Three kinds of worlds. The sweep is the regret bound analysis of Stirn & Jebara (2019), section 4.1, where compliance is
ignorable. In the trap of Della Penna, Reid & Balduzzi (2016) half are always-takers who do well anyway and half are
compliers whom the treatment harms. The random worlds mix all four compliance types and are confounded in any way.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from takeup import checks
from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.policies import TS, Policy, TSObs, TSRobust
from takeup.randomness import stream
from takeup.simulation import Trace, simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName
from takeup.space import Space
from takeup.world import World

HORIZON = 10_000
REPLICATIONS = 1_000
"""How many runs each cell of sweep and trap has; a random world gets a fifth of them."""

SWEEP = tuple(p / 100 for p in range(10, 50, 5))
"""The p of the sweep: how many do not comply, 0.1 to 0.45."""

WORLDS = 200
GAP = 0.02
"""The least difference between the values of the two proposals of a random world."""

HELD_OUT = 2019
"""The seed of the random worlds that decide. Nothing was tuned on them."""

TUNING = 777
"""The seed of the worlds of the trade-off curves."""

TUNING_WORLDS = 40
SHARED = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
SHARPNESS = (1.0, 2.0, 6.0, 12.0)
"""The settings of the trade-off curves; a sharpness of 3 is the default and in the first curve."""

BOOTSTRAPS = 500
RESPONSES = ((0, 0), (1, 1), (0, 1), (1, 0))
"""Never-takers, always-takers, compliers and defiers: what each does under either proposal."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The regret of a policy in an environment, and its ratio to that of TS, with Monte Carlo errors."""

    environment: str
    policy: str
    regret: float
    regret_error: float
    ratio: float
    ratio_error: float


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure that has to be at most a limit.

    Attributes:
        name: what it is.
        limit: the most it may be.
        measured: what it is.
        error: its Monte Carlo error.
    """

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
class Setting:
    """One point of a trade-off curve.

    Attributes:
        shared: the prior probability that all is shared.
        sharpness: the power of the evidence.
        bars: the four figures, the random worlds being those of the tuning seed.
    """

    shared: float
    sharpness: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class RobustResult:
    """All figures.

    Attributes:
        replications: runs of each cell of sweep and trap.
        world_replications: runs in each random world.
        seed: the seed of the simulations.
        cells: TS, TS-Obs and TS-Robust in the sweep and the trap.
        worlds: TS-Robust in each held-out world.
        bars: the four figures that have to be met.
        curve: the trade-off over the prior weight, and then over the sharpness.
    """

    replications: int
    world_replications: int
    seed: int
    cells: tuple[Cell, ...]
    worlds: tuple[Cell, ...]
    bars: tuple[Bar, ...]
    curve: tuple[Setting, ...]

    @property
    def holds(self) -> bool:
        """Whether all four are met."""
        return all(bar.met for bar in self.bars)

    def as_json(self) -> dict[str, Any]:
        """All of it as plain data, with the verdicts."""

        def judged(bars: Sequence[Bar]) -> list[dict[str, Any]]:
            return [asdict(bar) | {"met": bar.met, "clear": bar.clear} for bar in bars]

        curve = [asdict(setting) | {"bars": judged(setting.bars)} for setting in self.curve]
        return asdict(self) | {"bars": judged(self.bars), "curve": curve, "holds": self.holds}


def sweep() -> dict[str, Environment]:
    """μ = (0.75, 0.25), and a share p does the opposite of what is proposed."""
    return {
        f"p = {p:.2f}": Environment.from_world(World.bernoulli([[1 - p, p], [p, 1 - p]], [0.75, 0.25])) for p in SWEEP
    }


def trap() -> Environment:
    """Half are always-takers who do well anyway, half are compliers whom the treatment harms."""
    outcome = [[[0.25, 0.75], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]]
    return Environment.from_types(Space(2), [0.5, 0.5], RESPONSES[1:3], outcome)


def confounded_worlds(number: int = WORLDS, seed: int = HELD_OUT) -> dict[str, Environment]:
    """Two actions, four compliance types with Dirichlet(1) shares, potential outcomes with uniform rates.

    Worlds whose two values are less than GAP apart are drawn again.
    """
    rng = stream(seed, "confounded worlds")
    found: dict[str, Environment] = {}
    while len(found) < number:
        share, rate = rng.dirichlet(np.ones(len(RESPONSES))), rng.random((len(RESPONSES), 2))
        world = Environment.from_types(Space(2), share, RESPONSES, np.stack([1 - rate, rate], axis=-1))
        if world.regret().max() >= GAP:
            found[f"world {len(found)}"] = world
    return found


def robust(
    replications: int = REPLICATIONS, seed: int = 0, engine: EngineName = "auto", progress: Progress = silent
) -> RobustResult:
    """Measure TS-Robust beside TS, with verdicts, and the trade-off curves.

    Args:
        replications: runs of each cell of sweep and trap; a held-out world gets a fifth of them, as do the cells of a
            trade-off curve, and its worlds a tenth.
        seed: the seed of the simulations; that of the held-out worlds is fixed.
        engine: see `simulate`.
        progress: called with the number of decisions made.
    """
    checks.whole("replications", replications, least=20)
    fewer = replications // 5
    known = sweep() | {"trap": trap()}
    policies: list[Policy[Any]] = [TS(), TSObs(), TSRobust()]
    trace = simulate(known, policies, HORIZON, replications, seed, engine=engine, progress=progress)
    held_out = confounded_worlds()
    there = simulate(held_out, [TS(), TSRobust()], HORIZON, fewer, seed, engine=engine, progress=progress)
    default = TSRobust()
    tuning = confounded_worlds(TUNING_WORLDS, TUNING)
    curve = []
    for policy in [TSRobust(shared=s) for s in SHARED] + [TSRobust(sharpness=s) for s in SHARPNESS]:
        pair: list[Policy[Any]] = [TS(), policy]
        here, random = (
            simulate(where, pair, HORIZON, runs, seed, engine=engine, progress=progress)
            for where, runs in ((known, fewer), (tuning, fewer // 2))
        )
        curve.append(Setting(policy.shared, policy.sharpness, bars(here, random, policy.name)))
    return RobustResult(
        replications=replications,
        world_replications=fewer,
        seed=seed,
        cells=tuple(cell(trace, where, policy.name) for where in known for policy in policies),
        worlds=tuple(cell(there, where, default.name) for where in held_out),
        bars=bars(trace, there, default.name),
        curve=tuple(curve),
    )


def decisions(replications: int = REPLICATIONS) -> int:
    """How many decisions `robust` makes, for a progress bar."""
    fewer = replications // 5
    known = len(SWEEP) + 1
    settings = len(SHARED) + len(SHARPNESS)
    cells = 3 * known * replications + 2 * WORLDS * fewer
    return HORIZON * (cells + 2 * settings * (known * fewer + TUNING_WORLDS * (fewer // 2)))


def cell(trace: Trace, environment: str, policy: str) -> Cell:
    """One policy in one environment, beside TS."""
    ours, theirs = trace.final(policy, environment), trace.final("TS", environment)
    ratio, error = ratio_of_means(ours, theirs)
    return Cell(environment, policy, float(ours.mean()), _error(ours), ratio, error)


def bars(known: Trace, worlds: Trace, policy: str) -> tuple[Bar, ...]:
    """The four figures that decide, of a trace of sweep and trap and one of random worlds."""
    swept = [cell(known, where, policy) for where in known.setup.environments if where != "trap"]
    mean = float(np.exp(np.mean([np.log(each.ratio) for each in swept])))
    relative = float(np.sqrt(sum((each.ratio_error / each.ratio) ** 2 for each in swept)) / len(swept))
    trapped = cell(known, "trap", policy)
    position = list(worlds.setup.policies).index(policy)
    ours, theirs = worlds.regret[:, position, :, -1], worlds.regret[:, 0, :, -1]
    median, ninetieth = np.quantile(ours.mean(axis=1) / theirs.mean(axis=1), [0.5, 0.9])
    errors = _bootstrap(ours, theirs)
    return (
        Bar("sweep, geometric mean of the ratios to TS", 0.65, mean, mean * relative),
        Bar("trap, ratio to TS", 1.25, trapped.ratio, trapped.ratio_error),
        Bar("random confounded worlds, median ratio to TS", 1.15, float(median), float(errors[0])),
        Bar("random confounded worlds, 90th percentile of the ratios", 1.6, float(ninetieth), float(errors[1])),
    )


def ratio_of_means(ours: FloatArray, theirs: FloatArray) -> tuple[float, float]:
    """The ratio of two means of paired runs, and its standard error by the delta method."""
    ratio = float(ours.mean() / theirs.mean())
    return ratio, _error(ours - ratio * theirs) / float(theirs.mean())


def _bootstrap(ours: FloatArray, theirs: FloatArray) -> FloatArray:
    """The Monte Carlo error of median and 90th percentile: the runs of each world are drawn again, the worlds stay."""
    rng = stream(0, "bootstrap")
    number, runs = ours.shape
    found = np.empty((BOOTSTRAPS, 2))
    for i in range(BOOTSTRAPS):
        again = rng.integers(runs, size=(number, runs))
        means = [np.take_along_axis(each, again, axis=1).mean(axis=1) for each in (ours, theirs)]
        found[i] = np.quantile(means[0] / means[1], [0.5, 0.9])
    return np.asarray(found.std(axis=0, ddof=1))


def _error(sample: FloatArray) -> float:
    return float(sample.std(ddof=1) / np.sqrt(sample.size))
