"""The theory of Stirn & Jebara (2019): its statements checked, its conjecture measured, its open problem bounded."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from takeup.paper import regret
from takeup.paper.claims import TheoremCheck, checks
from takeup.paper.runner import Runner
from takeup.policies import TS, TSObs
from takeup.randomness import stream
from takeup.simulation import Trace
from takeup.theory import expected_trials, lower_bound, probability_harmful, thompson_constant

SHARE = 8
"""One in this many of the replications asked for is run to the long horizon: 62 of 500, for slopes to about 8 %."""

HORIZONS = (10_000, 1_000_000)
"""Slopes are taken between one of these and the next."""

DRAWS = 20_000
"""Random worlds of each size that the conjecture is tried on."""

ARMS = range(2, 21)

SWEEP = tuple(round(0.05 * i, 2) for i in range(21))
"""The values of p in the paper's sweep."""


@dataclass(frozen=True, slots=True)
class ConjectureRow:
    """The share of draws with K arms, Π and μ uniform, in which noncompliance is harmful.

    `error` is its standard error, `low` to `high` its exact 95 % interval.
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

    `error` is its standard error, from the spread of the replications' own slopes.
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
        p: the probability that the other arm is implemented.
        ts: Σ f(v*, v_z), TS's constant and the least without seeing compliance.
        ts_obs: the least with observed noncompliance, a lower bound for TS-Obs.
        known: the slope from the first to the last horizon of a TS-Obs that knows all but the inferior row, which shows
            how far these horizons are from the limit. None at p = 0, 0.5 and 1, where it is not defined.
        simulated_at: the p of the simulation behind the slopes: p or 1 - p, which give the same by symmetry.
        slopes: measured, by policy and pair of horizons. None at p = 0.5, where there is nothing to regret.
    """

    p: float
    ts: float
    ts_obs: float
    known: float | None
    simulated_at: float
    slopes: tuple[Slope, ...]


@dataclass(frozen=True, slots=True)
class TheoryResult:
    """The paper's statements one by one, the conjecture by number of arms, and bounds beside slopes by p."""

    checks: tuple[TheoremCheck, ...]
    conjecture: tuple[ConjectureRow, ...]
    bounds: tuple[BoundRow, ...]
    horizons: tuple[int, ...]
    seed: int

    def as_json(self) -> dict[str, Any]:
        """The same, as dictionaries, lists and plain numbers."""
        return asdict(self)


def theory(run: Runner, horizons: Sequence[int] = HORIZONS, draws: int = DRAWS) -> TheoryResult:
    """Check the statements, try the conjecture on random worlds and measure slopes over the sweep.

    Args:
        run: how; one in eight of its replications, and at least two, is run to the last horizon.
        horizons: at least two, rising.
        draws: how many random worlds of each size.
    """
    environments = {_name(p): regret.environment(p) for p in _simulated()}
    trace = run.simulate(environments, [TS(), TSObs()], horizons[-1], _long(run.replications), steps=horizons)
    conjecture = tuple(_conjecture(arms, draws, run.seed) for arms in ARMS)
    known = {p: _known(p, horizons[0], horizons[-1]) for p in _simulated() if p > 0}
    return TheoryResult(
        checks=(*checks(run.seed), _verdict(conjecture)),
        conjecture=conjecture,
        bounds=tuple(_bound(p, trace, known) for p in SWEEP),
        horizons=tuple(horizons),
        seed=run.seed,
    )


def decisions(replications: int, horizons: Sequence[int] = HORIZONS) -> int:
    """How many decisions `theory` takes, for a progress bar."""
    return 2 * len(_simulated()) * horizons[-1] * _long(replications)


def slopes(trace: Trace, policy: str, environment: str) -> list[Slope]:
    """The slopes between each recorded step and the next, with errors from the replications' own slopes."""
    steps = [int(step) for step in trace.setup.steps]
    where = list(trace.setup.environments).index(environment), list(trace.setup.policies).index(policy)
    own = np.diff(trace.regret[where], axis=-1) / np.diff(np.log(steps))
    errors = own.std(axis=0, ddof=1) / np.sqrt(len(own))
    return [
        Slope(policy, start, stop, float(mean), float(error), len(own))
        for (start, stop), mean, error in zip(pairwise(steps), own.mean(axis=0), errors, strict=True)
    ]


def _bound(p: float, trace: Trace, known: Mapping[float, float]) -> BoundRow:
    at = min(p, round(1 - p, 2))
    policies = trace.setup.policies if at < 0.5 else ()
    return BoundRow(
        p=p,
        ts=float(thompson_constant(regret.environment(p).value()[0])),
        ts_obs=lower_bound([[1 - p, p], [p, 1 - p]], regret.SUCCESS).constant,
        known=known.get(at),
        simulated_at=at,
        slopes=tuple(slope for policy in policies for slope in slopes(trace, policy, _name(at))),
    )


def _known(p: float, start: int, stop: int) -> float:
    trials = expected_trials(p, 1 - p, [start, stop])
    return float(np.ptp(regret.environment(p).value()) * np.ptp(trials) / np.log(stop / start))


def _verdict(rows: Sequence[ConjectureRow]) -> TheoremCheck:
    least = min(rows, key=lambda row: row.probability)
    return TheoremCheck(
        "section 6",
        "under a uniform prior harmful noncompliance is far more probable than helpful",
        all(row.low > 0.5 for row in rows),
        f"K = {rows[0].arms} to {rows[-1].arms}: least probable at K = {least.arms}, "
        f"{least.probability:.3f} with standard error {least.error:.3f}",
    )


def _conjecture(arms: int, draws: int, seed: int) -> ConjectureRow:
    return ConjectureRow(arms, *probability_harmful(arms, draws, stream(seed, "conjecture", arms)))


def _long(replications: int) -> int:
    return max(2, replications // SHARE)


def _simulated() -> list[float]:
    """One p of each symmetric pair; at 0.5 there is nothing to regret."""
    return [p for p in SWEEP if p < 0.5]


def _name(p: float) -> str:
    return f"p = {p:.2f}"
