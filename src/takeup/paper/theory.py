"""The theory of Stirn & Jebara (2019): its statements checked, its conjecture measured, its open problem bounded."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from takeup.environment import Environment
from takeup.paper.claims import TheoremCheck, checks
from takeup.policies import TS, TSObs
from takeup.randomness import stream
from takeup.simulation import simulate
from takeup.simulation.engine import Progress, silent
from takeup.simulation.run import EngineName
from takeup.simulation.trace import Trace
from takeup.theory import expected_trials, lower_bound, probability_harmful, thompson_constant
from takeup.world import World

REPLICATIONS = 500

SHARE = 8
"""One in so many of the replications asked for is run to the long horizon: 62 of 500, for slopes to about 8 %."""

HORIZONS = (10_000, 1_000_000)
"""Slopes are taken between one of these and the next."""

DRAWS = 20_000
"""How many random worlds of each size the conjecture is tried on."""

ARMS = range(2, 21)

SWEEP = tuple(round(0.05 * i, 2) for i in range(21))
"""The values of p in the paper's sweep."""

_SUCCESS = (0.75, 0.25)


@dataclass(frozen=True, slots=True)
class ConjectureRow:
    """How probable harmful noncompliance is with K arms, Π and μ uniform.

    Attributes:
        arms: K.
        probability: the share of draws in which Thompson sampling's bound rises.
        error: its standard error.
        low: the lower end of the exact 95 % interval.
        high: its upper end.
        draws: how many random worlds there were.
    """

    arms: int
    probability: float
    error: float
    low: float
    high: float
    draws: int


@dataclass(frozen=True, slots=True)
class Slope:
    """A measured slope dR / d ln T: the mean over replications of (R(stop) - R(start)) / ln(stop / start).

    Attributes:
        policy: "TS" or "TS-Obs".
        start: from which T.
        stop: to which T.
        slope: the mean.
        error: its standard error, from the spread of the replications' own slopes.
        replications: how many there were.
    """

    policy: str
    start: int
    stop: int
    slope: float
    error: float
    replications: int


@dataclass(frozen=True, slots=True)
class BoundRow:
    """Regret per ln T at one p of the sweep.

    Attributes:
        p: the probability of doing the other thing.
        ts: Σ f(v*, v_z), TS's constant and the least without seeing compliance.
        ts_obs: the least with observed noncompliance, a lower bound for TS-Obs.
        known: the slope from the first to the last horizon of a TS-Obs that knows everything but the inferior row; what
            is asymptotic about the constant. None at p = 0, 0.5 and 1, where it is not defined.
        simulated_at: the p of the simulation behind the slopes: p or 1 - p, which give the same by symmetry.
        slopes: measured, by policy and pair of horizons. At p = 0.5 they are 0 and were not measured.
    """

    p: float
    ts: float
    ts_obs: float
    known: float | None
    simulated_at: float
    slopes: tuple[Slope, ...]


@dataclass(frozen=True, slots=True)
class TheoryResult:
    """What `takeup paper theory` computes.

    Attributes:
        checks: the paper's statements, one by one.
        conjecture: a row for each number of arms.
        bounds: a row for each p.
        horizons: the T between which slopes are taken.
        seed: where all of it comes from.
    """

    checks: tuple[TheoremCheck, ...]
    conjecture: tuple[ConjectureRow, ...]
    bounds: tuple[BoundRow, ...]
    horizons: tuple[int, ...]
    seed: int

    def as_json(self) -> dict[str, Any]:
        """The same, as dictionaries, lists and plain numbers."""
        return asdict(self)


def theory(
    replications: int = REPLICATIONS,
    seed: int = 0,
    engine: EngineName = "auto",
    progress: Progress = silent,
    *,
    horizons: Sequence[int] = HORIZONS,
    draws: int = DRAWS,
    scheduler: object = None,
) -> TheoryResult:
    """Check the statements, try the conjecture on random worlds and measure slopes over the sweep.

    Args:
        replications: one in eight of these, and at least two, is run to the last horizon.
        seed: any whole number of at least 0.
        engine: what runs the simulations.
        progress: called with the number of decisions made, as the work goes on.
        horizons: at least two, rising.
        draws: how many random worlds of each size.
        scheduler: for the engine "dask".
    """
    trace = simulate(
        {_name(p): _environment(p) for p in _simulated()},
        [TS(), TSObs()],
        horizons[-1],
        _long(replications),
        seed,
        engine=engine,
        record="curve",
        steps=horizons,
        scheduler=scheduler,
        progress=progress,
    )
    return TheoryResult(
        checks=tuple(checks(seed)),
        conjecture=tuple(_conjecture(arms, draws, seed) for arms in ARMS),
        bounds=tuple(_bound(p, trace) for p in SWEEP),
        horizons=tuple(horizons),
        seed=seed,
    )


def decisions(replications: int, horizons: Sequence[int] = HORIZONS) -> int:
    """How many decisions `theory` takes, for a progress bar."""
    return 2 * len(_simulated()) * horizons[-1] * _long(replications)


def _bound(p: float, trace: Trace) -> BoundRow:
    world = World.bernoulli(_compliance(p), _SUCCESS)
    at = min(p, round(1 - p, 2))
    steps = trace.setup.steps
    known = None
    if 0 < at < 0.5:
        trials = expected_trials(at, 1 - at, steps[[0, -1]])
        known = float(np.ptp(world.value()) * np.diff(trials)[0] / np.log(steps[-1] / steps[0]))
    return BoundRow(
        p=p,
        ts=float(thompson_constant(world.value()[0])),
        ts_obs=lower_bound(_compliance(p), _SUCCESS).constant,
        known=known,
        simulated_at=at,
        slopes=tuple(slope for policy in trace.setup.policies for slope in _slopes(trace, policy, at)),
    )


def _slopes(trace: Trace, policy: str, p: float) -> list[Slope]:
    steps = [int(step) for step in trace.setup.steps]
    pairs = list(pairwise(steps))
    if p == 0.5:
        return [Slope(policy, start, stop, 0.0, 0.0, 0) for start, stop in pairs]
    where = list(trace.setup.environments).index(_name(p)), list(trace.setup.policies).index(policy)
    own = np.diff(trace.regret[where], axis=-1) / np.diff(np.log(steps))
    errors = own.std(axis=0, ddof=1) / np.sqrt(len(own))
    return [
        Slope(policy, start, stop, float(mean), float(error), len(own))
        for (start, stop), mean, error in zip(pairs, own.mean(axis=0), errors, strict=True)
    ]


def _conjecture(arms: int, draws: int, seed: int) -> ConjectureRow:
    found = probability_harmful(arms, draws, stream(seed, "conjecture", arms))
    return ConjectureRow(arms, found.estimate, found.error, found.low, found.high, found.draws)


def _long(replications: int) -> int:
    return max(2, replications // SHARE)


def _simulated() -> list[float]:
    """One p of each symmetric pair; at 0.5 there is nothing to regret."""
    return [p for p in SWEEP if p < 0.5]


def _environment(p: float) -> Environment:
    return Environment.from_world(World.bernoulli(_compliance(p), _SUCCESS))


def _compliance(p: float) -> list[list[float]]:
    return [[1 - p, p], [p, 1 - p]]


def _name(p: float) -> str:
    return f"p = {p:.2f}"
