"""Decisions a second with covariates: LinTS on takeup's kernels beside numpy and MABWiser, interleaved in one run.

Four proposals, ten features, compliance and outcomes by logits: d = 10, Kz = 4. All of them draw units, decide, and
draw what becomes of it, but for MABWiser, whose units and rewards are there before. Beside wall time there is the time
of processors, which tells the same on a machine that others use too.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from takeup import LinTS, LinUCB, Measure, Policy, Space, simulate, stream
from takeup.populations import CovariateEnvironment, Independent, Logit

MEASURES, ARMS = 9, 4
SPACE = Space(ARMS, covariates={f"measure {i}": Measure(0, 100) for i in range(MEASURES)})
HORIZON, REPLICATIONS = 1_000, 1_024
FloatArray = NDArray[np.float64]


def truth() -> CovariateEnvironment:
    """Those who are proposed an action mostly take it."""
    rng, d = stream(7), MEASURES + 1
    inclined = rng.normal(size=(ARMS, ARMS, d))
    inclined[..., 0] += 2 * np.eye(ARMS)
    assert SPACE.covariates is not None
    population = Independent(SPACE.covariates, {})
    return CovariateEnvironment(SPACE, population, Logit(inclined), Logit.of_success(rng.normal(size=(ARMS, d))))


TRUTH = truth()


def kernel(policy: Policy[Any], seed: int) -> int:
    """Takeup's kernel, on all cores."""
    simulate(TRUTH, policy, HORIZON, REPLICATIONS, seed, engine="cpu")
    return HORIZON * REPLICATIONS


def reference(seed: int, horizon: int = 50) -> int:
    """Takeup's reference engine."""
    simulate(TRUTH, LinTS(), horizon, 500, seed, engine="reference")
    return horizon * 500


def twin(seed: int, horizon: int = 300, many: int = 1_000) -> tuple[FloatArray, int]:
    """LinTS in numpy, many replications side by side: B^-1 by rank-one updates, a matrix product for all arms.

    So many replications as keep the arms near the processor. Returns the regret, and how many decisions it made.
    """
    rng, d, everyone = stream(seed), MEASURES + 1, np.arange(many)
    inclined = np.asarray(TRUTH.compliance.coefficients).reshape(ARMS * ARMS, d).T.copy()  # type: ignore[union-attr]
    fares = np.asarray(TRUTH.outcome.coefficients)[:, 1].T.copy()  # type: ignore[union-attr]
    inverse = np.broadcast_to(np.eye(d), (many, ARMS, d, d)).copy()
    mean, square, count = np.zeros((many, ARMS, d)), np.full((many, ARMS), 0.125), np.full((many, ARMS), 2.0)
    regret = np.zeros(many)
    v = np.ones((many, d))
    for _ in range(horizon):
        v[:, 1:] = rng.integers(101, size=(many, MEASURES)) / 100
        took = np.exp(v @ inclined).reshape(many, ARMS, ARMS)
        took /= took.sum(axis=-1, keepdims=True)
        rate = 1 / (1 + np.exp(-(v @ fares)))
        value = (took @ rate[:, :, np.newaxis])[..., 0]
        w = (inverse.reshape(many, ARMS * d, d) @ v[:, :, np.newaxis]).reshape(many, ARMS, d)
        q = (w @ v[:, :, np.newaxis])[..., 0]
        centre = (mean @ v[:, :, np.newaxis])[..., 0]
        drawn = centre + np.sqrt(q * square / (2 * rng.standard_gamma(count / 2))) * rng.standard_normal((many, ARMS))
        z = drawn.argmax(axis=-1)
        a = (rng.random((many, 1)) > took[everyone, z].cumsum(axis=-1)[:, :-1]).sum(axis=-1)
        gain = (rng.random(many) < rate[everyone, a]) - 0.5
        own, share, off = w[everyone, z], 1 / (1 + q[everyone, z]), gain - centre[everyone, z]
        scaled = own * share[:, np.newaxis]
        inverse[everyone, z] -= scaled[:, :, np.newaxis] * own[:, np.newaxis, :]
        mean[everyone, z] += scaled * off[:, np.newaxis]
        square[everyone, z] += off**2 * share
        count[everyone, z] += 1
        regret += value.max(axis=-1) - value[everyone, z]
    return regret, horizon * many


def mabwiser(seed: int, decisions: int = 500) -> int:
    """MABWiser's LinTS: a decision, and what it learns from it, one after the other."""
    library: Any = import_module("mabwiser.mab")
    rng = stream(seed)
    features = np.ones((decisions, MEASURES + 1))
    features[:, 1:] = rng.integers(101, size=(decisions, MEASURES)) / 100
    rewards = rng.integers(2, size=(decisions, ARMS))
    bandit = library.MAB(list(range(ARMS)), library.LearningPolicy.LinTS(alpha=0.4), seed=seed)
    bandit.fit(list(range(ARMS)), [0] * ARMS, features[:ARMS])
    for v, reward in zip(features, rewards, strict=True):
        z = bandit.predict([v])
        bandit.partial_fit([z], [reward[z]], [v])
    return decisions


CONTENDERS: dict[str, Callable[[int], int]] = {
    "takeup, LinTS": lambda seed: kernel(LinTS(), seed),
    "takeup, LinUCB": lambda seed: kernel(LinUCB(), seed),
    "numpy, LinTS": lambda seed: twin(seed)[1],
    "takeup's reference, LinTS": reference,
    "MABWiser, LinTS": mabwiser,
}


def main() -> None:
    """Print medians with their spread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    clocks = {"a second": time.perf_counter, "a second of a processor": time.process_time}
    speeds: dict[str, dict[str, list[float]]] = {clock: {name: [] for name in CONTENDERS} for clock in clocks}
    for run in CONTENDERS.values():
        run(0)  # compiles, imports, fills caches
    for seed in range(1, options.rounds + 1):
        for name, run in CONTENDERS.items():
            began = {clock: now() for clock, now in clocks.items()}
            decisions = run(seed)
            for clock, now in clocks.items():
                speeds[clock][name].append(decisions / (now() - began[clock]))
    for clock, found in speeds.items():
        table = Table(title=f"Decisions {clock}, {MEASURES + 1} features, {ARMS} proposals, {options.rounds} rounds")
        for column in ("who", "median", "from", "to", "LinTS on kernels is faster by"):
            table.add_column(column, justify="left" if column == "who" else "right")
        ours = next(iter(found.values()))
        for name, runs in found.items():
            ratios = sorted(mine / theirs for mine, theirs in zip(ours, runs, strict=True))
            shown = f"{statistics.median(ratios):,.1f} ({ratios[0]:,.1f} to {ratios[-1]:,.1f})"
            table.add_row(name, f"{statistics.median(runs):,.0f}", f"{min(runs):,.0f}", f"{max(runs):,.0f}", shown)
        Console(width=120).print(table)


if __name__ == "__main__":
    main()
