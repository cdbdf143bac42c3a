"""Simulation-based calibration of every conjugate posterior of numbers, counts and times.

As in `test_calibration.py`: truth is drawn from the prior, the policy gathers the data adaptively, and the rank of the
truth among posterior draws is uniform. Ranks are of the value of each proposal, and of the spread where there is one.
They are held against 20 equal bins by chi-square tests at the level `LEVEL`: together fewer than 1e-4 false alarms.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from takeup import (
    TS,
    Bootstrap,
    Count,
    Event,
    Exponential,
    LogNormal,
    Normal,
    Number,
    Poisson,
    Space,
    Time,
    TSCheck,
    TSObs,
    stream,
)
from takeup.outcomes import Outcome

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Draw = Callable[[Any, IntArray, np.random.Generator], IntArray]
"""Codes of the outcomes of these actions, one in each replication's own world."""

REPLICATIONS = 2_000
HORIZON = 25
BINS = 20
LEVEL = 1e-4 / 60
"""Bonferroni over at most 60 tests in this file."""
EVERYONE = np.arange(REPLICATIONS)
CONTEXT = np.zeros(REPLICATIONS, dtype=np.int64)

NUMBER = Number(-500_000, 500_000, 1)
MONEY = Number(0.001, 1000, 0.001, scale="log")
COUNT = Count(9_999, exposure="weeks", longest=20, step=0.1)
TIME = Time(100, step=0.001)
BINNED = Number(0, 9, 1, bins=5)


def normal(family: Any, a: IntArray, rng: np.random.Generator) -> IntArray:
    """To the nearest of steps that are a thousandth of the spread; next to nothing is beyond 400 of it."""
    y = family.mean[EVERYONE, 0, a] + family.sd[EVERYONE, 0, a] * rng.standard_normal(REPLICATIONS)
    return np.asarray(np.clip(np.rint((y - NUMBER.low) / NUMBER.step), 0, NUMBER.size - 1).astype(np.int64))


def lognormal(family: Any, a: IntArray, rng: np.random.Generator) -> IntArray:
    y = family.median[EVERYONE, 0, a] * family.spread[EVERYONE, 0, a] ** rng.standard_normal(REPLICATIONS)
    return np.asarray(np.clip(np.rint((y - MONEY.low) / MONEY.step), 0, MONEY.size - 1).astype(np.int64))


def poisson(family: Any, a: IntArray, rng: np.random.Generator) -> IntArray:
    """Everybody has another exposure."""
    steps = rng.integers(1, 201, size=REPLICATIONS)
    return np.asarray(rng.poisson(family.rate[EVERYONE, 0, a] * steps * COUNT.step) * 200 + steps - 1)


def exponential(family: Any, a: IntArray, rng: np.random.Generator) -> IntArray:
    """A third is lost from sight at some time, whatever would have come; the others are watched to the end."""
    time = family.mean[EVERYONE, 0, a] * rng.standard_exponential(REPLICATIONS)
    watch = np.where(rng.random(REPLICATIONS) < 1 / 3, rng.uniform(0, 100, REPLICATIONS), 100.0)
    steps = np.rint(np.minimum(time, watch) / TIME.step).astype(np.int64)
    return np.asarray(2 * steps + (time > watch))


def categories(family: Any, a: IntArray, rng: np.random.Generator) -> IntArray:
    """A bin by its probability, and one of its two points."""
    share = np.cumsum(family.probability[EVERYONE, 0, a], axis=-1)[:, :-1]
    return np.asarray(2 * (rng.random((REPLICATIONS, 1)) >= share).sum(axis=-1) + rng.integers(2, size=REPLICATIONS))


CASES: dict[str, tuple[Any, Outcome, Draw]] = {
    "normal": (TS(likelihood=Normal(mean=[0.0, 500.0, 0.0], sd=[900.0, 1000.0, 2000.0], freedom=5)), NUMBER, normal),
    "normal, few complied": (TSCheck(likelihood=Normal(mean=0.0, sd=1000.0, weight=2, freedom=8)), NUMBER, normal),
    "normal, observed": (TSObs(likelihood=Normal(mean=0.0, sd=1000.0, weight=0.5, freedom=5)), NUMBER, normal),
    "lognormal": (TS(likelihood=LogNormal(median=5.0, spread=1.3, weight=2, freedom=12)), MONEY, lognormal),
    "poisson": (TS(likelihood=Poisson(rate=[2.0, 2.5, 1.0], weight=[1.0, 2.0, 0.4])), COUNT, poisson),
    "poisson, observed": (TSObs(likelihood=Poisson(rate=2.0, weight=1.0)), COUNT, poisson),
    "exponential": (TS(likelihood=Exponential(mean=[30.0, 60.0, 20.0], weight=[2.0, 3.0, 1.5])), TIME, exponential),
    "exponential, observed": (TSObs(likelihood=Exponential(mean=40.0, weight=2.0)), TIME, exponential),
    "bootstrap": (TS(likelihood=Bootstrap(alpha=[0.3, 1.0, 2.0, 0.5, 0.2])), BINNED, categories),
}


def uniformity(ranks: IntArray) -> float:
    return float(chisquare(np.bincount(ranks, minlength=BINS)).pvalue)


@pytest.mark.parametrize("name", CASES)
def test_every_posterior_knows_how_much_it_knows(name: str) -> None:
    """Three proposals; compliance is drawn from its prior where the policy has one. False alarms: as above."""
    policy, outcome, draw = CASES[name]
    seed = sorted(CASES).index(name)
    space = Space(3, outcomes=outcome)
    truth = policy.prior(space).sample(stream(seed, "truth"), REPLICATIONS)
    patients, rng = stream(seed, "patients"), stream(seed, "policy")
    state = policy.start(space, (REPLICATIONS,))
    follow = policy.compliance == "needed"
    for _ in range(HORIZON):
        z = policy.propose(state, CONTEXT, rng)
        share = np.cumsum(truth.compliance[EVERYONE, 0, z], axis=-1)[:, :-1]
        a = (patients.random((REPLICATIONS, 1)) >= share).sum(axis=-1) if follow else z
        if name == "normal, few complied":
            a = np.where(patients.random(REPLICATIONS) < 0.6, z, (z + 1) % 3)
        y = draw(truth.family, a, patients)
        pending = patients.random(REPLICATIONS) < 0.1
        state = policy.learn(state, Event(CONTEXT, z, a, np.where(pending, -1, y)), rng)
    believed = policy.posterior(state, rng).sample(stream(seed, "ranks"), BINS - 1)
    ranks = [(believed.value() < truth.value()).sum(axis=0)]
    for spread in ("sd", "spread"):
        if hasattr(truth.family, spread):
            ranks.append((getattr(believed.family, spread) < getattr(truth.family, spread)).sum(axis=0))
    for each in ranks:
        for column in each.reshape(REPLICATIONS, -1).T:
            assert uniformity(column) > LEVEL
