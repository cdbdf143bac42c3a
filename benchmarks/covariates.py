"""Regret of policies with covariates: LinTS-Obs and LinTS-Robust beside LinTS, where compliance depends on covariates.

Five worlds are ignorable and three are confounded; all are drawn by their seeds. The defaults of the policies were
chosen on other seeds, 101 to 105.

Usage: python benchmarks/covariates.py [horizon [replications [first seed]]]
"""

import sys
import time
from typing import Any

import numpy as np

from takeup import Category, LinTS, LinTSObs, LinTSRobust, Measure, Number, Policy, Space, simulate, stream
from takeup.populations import CovariateEnvironment, Independent, Linear, Logit

AGE, SEVERITY, SITE = Measure(18, 100), Measure(0, 100), Category(["town", "country"])
COVARIATES = {"age": AGE, "severity": SEVERITY, "site": SITE}
SHAPES = ((2, 2), (3, 3), (2, 3), (3, 2), (2, 2))
"""How many proposals and actions there are, by the seed."""
HIGH, STEP, NOISE = 100, 5, 20.0
"""Numbers are from 0 to HIGH, in steps, with so much noise."""
POLICIES: list[Policy[Any]] = [LinTS(), LinTSObs(), LinTSRobust()]


def centred(level: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Coefficients with which a unit in the middle of all covariates is at the level."""
    return np.concatenate([(level - slopes.sum(axis=-1) / 2)[..., np.newaxis], slopes], axis=-1)


def everybody(space: Space) -> Independent:
    """Every value of each covariate is as likely as any other."""
    assert space.covariates is not None
    return Independent(space.covariates, {})


def ignorable(seed: int) -> CovariateEnvironment:
    """What is done depends on what is proposed and on the covariates; how it ends on what is done and on them."""
    rng = stream(seed, "ignorable")
    proposals, actions = SHAPES[seed % 5]
    intended = [min(z, actions - 1) for z in range(proposals)]
    numbers = seed % 5 in (1, 2, 3)
    space = Space(
        proposals, actions, outcomes=Number(0, HIGH, STEP) if numbers else 2, covariates=COVARIATES, intended=intended
    )
    mean = centred(0.5 + rng.normal(0, 0.06, size=actions), rng.normal(0, 0.15, size=(actions, 3)))
    level = rng.normal(0, 0.5, size=(proposals, actions))
    level[np.arange(proposals), intended] += 1.2
    compliance = centred(level, rng.normal(0, 1.5, size=(proposals, actions, 3)))
    outcome = Linear(HIGH * mean, NOISE) if numbers else Linear(mean)
    return CovariateEnvironment(space, everybody(space), Logit(compliance), outcome)


def confounded(seed: int) -> CovariateEnvironment:
    """The drug helps everybody; half are frail, fare worse whatever they do, and alone take it when told to."""
    rng = stream(seed, "confounded")
    numbers = bool(seed % 2)
    space = Space(2, outcomes=Number(0, HIGH, STEP) if numbers else 2, covariates=COVARIATES)
    slopes = rng.normal(0, 0.15, size=3)
    levels = 0.5 + np.array([[0.175], [-0.175]]) + np.array([0.0, 0.08])
    mean = centred(levels, np.broadcast_to(slopes, (2, 2, 3)))
    took = np.zeros((2, 2, 2, 4))
    took[:, 0, 0, 0] = 2.0
    for kind, lean in enumerate((-3.0, 3.0)):
        took[kind, 1, 1] = centred(np.array(lean), rng.normal(0, 1.0, size=3))
    outcome = mean[:, np.newaxis, np.newaxis]
    return CovariateEnvironment(
        space,
        everybody(space),
        Logit(took[:, np.newaxis]),
        Linear(HIGH * outcome, NOISE) if numbers else Linear(outcome),
        share=(0.5, 0.5),
    )


def main(horizon: int = 5_000, replications: int = 200, first: int = 1) -> None:
    """A row for each world."""
    worlds = {f"ignorable {seed}": ignorable(seed) for seed in range(first, first + 5)}
    worlds |= {f"confounded {seed}": confounded(seed) for seed in range(first, first + 3)}
    print("| world | half-way, then at the end: " + " | ".join(each.name for each in POLICIES) + " | ratios to LinTS |")
    for name, world in worlds.items():
        started = time.perf_counter()
        steps = [horizon // 2, horizon]
        trace = simulate(world, POLICIES, horizon, replications, engine="reference", record="curve", steps=steps)
        regret = trace.regret[:, 0] if trace.regret.shape[0] == len(POLICIES) else trace.regret[0]
        scale = HIGH if isinstance(world.space.outcome, Number) else 1.0
        mean, error = regret.mean(axis=1) / scale, regret.std(axis=1) / scale / np.sqrt(replications)
        cells = [f"{m[0]:.1f}, {m[1]:.1f} ± {e[1]:.1f}" for m, e in zip(mean, error, strict=True)]
        ratios = ", ".join(f"{m[1] / mean[0, 1]:.2f}" for m in mean[1:])
        print(f"| {name} {world.space.shape[1:3]} | {' | '.join(cells)} | {ratios} |", flush=True)
        print(f"  {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*(int(each) for each in sys.argv[1:]))
