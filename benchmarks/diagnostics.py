"""False alarms and power of the diagnostics, on data that adaptive policies gathered, at one look and at many.

Usage: python benchmarks/diagnostics.py [--runs 1000]
"""

import argparse
from typing import Any

import numpy as np

from takeup import TS, Environment, Evidence, Policy, Space, TSLat, TSObs, Uniform, World, simulate
from takeup.checks import IntArray
from takeup.diagnostics import check_exclusion, check_ignorable, exclusion, tables
from takeup.paper import contextual

HORIZON = 1000
LOOKS = tuple(range(20, HORIZON + 1, 20))
LEVEL = 0.05

TWO = Space(2)


def joint(response: list[list[list[float]]]) -> Environment:
    """An environment from p(a, y given z)."""
    return Environment(TWO, np.ones(1), np.array([response]))


IGNORABLE = {
    "env. 3 of the paper": contextual.environment(3),
    "rare successes": Environment.from_world(World.bernoulli([[0.9, 0.1], [0.2, 0.8]], [0.03, 0.05])),
    "nearly all comply": Environment.from_world(World.bernoulli([[0.98, 0.02], [0.03, 0.97]], [0.5, 0.6])),
}
CONFOUNDED = {
    "trap world": Environment.from_types(
        TWO, [0.5, 0.5], [[1, 1], [0, 1]], [[[0.25, 0.75], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]]
    ),
    "as on aspirin": joint(
        [[[0.107, 0.878], [0.001, 0.014]], [[0.014, 0.067], [0.090, 0.829]]]  # rates of the stroke trial, rounded
    ),
}
BOUNDARY = {"on the boundary": joint([[[0.5, 0.2], [0.2, 0.1]], [[0.2, 0.5], [0.1, 0.2]]])}
VIOLATED = {
    "1.1 instead of 1": joint([[[0.55, 0.15], [0.2, 0.1]], [[0.15, 0.55], [0.1, 0.2]]]),
    "1.2 instead of 1": joint([[[0.6, 0.1], [0.2, 0.1]], [[0.1, 0.6], [0.1, 0.2]]]),
}
POLICIES: list[Policy[Any]] = [Uniform(), TS(), TSObs(), TSLat()]


def gathered(truth: Environment, policy: Policy[Any], replications: int) -> IntArray:
    """n[x, z, a, y] of each replication at each look."""
    trace = simulate(truth, policy, HORIZON, replications, seed=7, record="full")
    cells = int(np.prod(truth.space.shape))
    found = np.zeros((replications, len(LOOKS), cells), dtype=np.int64)
    for i, (start, stop) in enumerate(zip((0, *LOOKS), LOOKS, strict=False)):
        for j in range(start, stop):
            np.add.at(found[:, i], (np.arange(replications), trace.decisions[0, 0, :, j]), 1)
    return np.asarray(found.cumsum(axis=1).reshape(replications, len(LOOKS), *truth.space.shape))


def evidence_of(space: Space, counts: IntArray) -> Evidence:
    """A table in which everything was seen."""
    return Evidence(space, np.pad(counts, ((0, 0), (0, 0), (0, 1), (0, 1))))


def ignorable(truth: Environment, policy: Policy[Any], replications: int) -> list[float]:
    """The rates of p <= 5 % at the end and at any of ten looks, and of Bayes factor and e-value ever at 20."""
    counts = gathered(truth, policy, replications)
    by_action = counts.swapaxes(3, 4).reshape(*counts.shape[:2], -1, *counts.shape[3:4], counts.shape[5])
    bayes = tables.somewhere(tables.log_bayes_factor(by_action))
    e = tables.average(tables.log_e_value(by_action))
    checked = [
        [check_ignorable(evidence_of(truth.space, table), draws=499).cells.p_value for table in run[4::5]]
        for run in counts
    ]
    p = np.array(checked)
    bar = -np.log(LEVEL)
    return [
        (p[:, -1] <= LEVEL).mean(),
        (p <= LEVEL).any(axis=1).mean(),
        (bayes >= bar).any(axis=1).mean(),
        (e >= bar).any(axis=1).mean(),
    ]


def excluded(truth: Environment, policy: Policy[Any], replications: int) -> list[float]:
    """The rates of p <= 5 % at the end and at any of ten looks, of the e-value ever at 20, and of limits that miss."""
    counts = gathered(truth, policy, replications)
    sums = truth.response[0, 0, 0, 0] + truth.response[0, 1, 0, 1]
    found = [[check_exclusion(evidence_of(truth.space, table)) for table in run[4::5]] for run in counts]
    p = np.array([[each.p_value for each in run] for run in found])
    e = np.array([[exclusion.log_e_value(run[i]) for i in range(len(LOOKS))] for run in counts])
    missed = np.mean([not run[-1].lower <= sums <= run[-1].upper for run in found])
    return [
        (p[:, -1] <= LEVEL).mean(),
        (p <= LEVEL).any(axis=1).mean(),
        (e >= -np.log(LEVEL)).any(axis=1).mean(),
        float(missed),
    ]


def main() -> None:
    """Print all rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    runs: int = parser.parse_args().runs
    print(f"{HORIZON} decisions, {runs} runs; error of a rate of 5 %: {(0.05 * 0.95 / runs) ** 0.5:.3f}")
    print("\nignorable: p <= 5 % at the end, at any of 10 looks; Bayes factor, e-value at least 20 at any of 50 looks")
    for name, truth in {**IGNORABLE, **CONFOUNDED}.items():
        for policy in POLICIES:
            print(
                f"{name:20} {policy.name:10}", *(f"{rate:6.3f}" for rate in ignorable(truth, policy, runs)), flush=True
            )
    print("\nexclusion: p <= 5 % at the end, at any of 10 looks; e-value at least 20 at any of 50; limits that miss")
    for name, truth in {**BOUNDARY, **VIOLATED}.items():
        for policy in POLICIES:
            print(
                f"{name:20} {policy.name:10}", *(f"{rate:6.3f}" for rate in excluded(truth, policy, runs)), flush=True
            )


if __name__ == "__main__":
    main()
