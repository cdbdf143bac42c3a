"""The cited algorithms as their authors tell them: one run, one decision at a time, with objects that change.

Contexts, delays and batches are not in here. Each function plays one run in an environment with one context and two
outcome levels, and returns how often each arm was proposed.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from takeup import Environment

Rng = np.random.Generator
Counts = NDArray[np.int64]


class Beta:
    """Thompson sampling with Beta(1, 1) priors and weighted rewards."""

    def __init__(self, arms: int) -> None:
        self.success, self.failure = np.ones(arms), np.ones(arms)

    def select(self, rng: Rng) -> int:
        return int(rng.beta(self.success, self.failure).argmax())

    def update(self, arm: int, reward: int, weight: float = 1.0) -> None:
        (self.success if reward else self.failure)[arm] += weight


class Weights:
    """EXP3 without mixing: w *= exp(rate r / p)."""

    def __init__(self, arms: int, rate: float) -> None:
        self.weight, self.rate = np.ones(arms), rate

    @property
    def probability(self) -> NDArray[np.float64]:
        return np.asarray(self.weight / self.weight.sum())

    def select(self, rng: Rng) -> int:
        return int(np.searchsorted(np.cumsum(self.probability)[:-1], rng.random()))

    def update(self, arm: int, reward: int) -> None:
        self.weight[arm] *= np.exp(self.rate * reward / self.probability[arm])


class Patients:
    """What follows a proposal: the implemented action and the outcome."""

    def __init__(self, environment: Environment, rng: Rng) -> None:
        _, self.arms, _, self.levels = environment.space.shape
        self.cumulative = np.cumsum(environment.response[0].reshape(self.arms, -1), axis=1)
        self.rng = rng

    def respond(self, arm: int) -> tuple[int, int]:
        cell = int(np.searchsorted(self.cumulative[arm], self.rng.random() * self.cumulative[arm, -1], side="right"))
        return cell // self.levels, cell % self.levels


def hierarchical(environment: Environment, horizon: int, rng: Rng, rate: float, recycle: bool) -> Counts:
    """EXP3 over the protocols chosen, actual and comply."""
    patients = Patients(environment, rng)
    low, high = [Beta(patients.arms) for _ in range(3)], Weights(3, rate)
    cache: list[list[int]] = [[] for _ in range(patients.arms)]
    pulls = np.zeros(patients.arms, dtype=np.int64)
    for _ in range(horizon):
        choices = [bandit.select(rng) for bandit in low]
        turn = high.select(rng)
        if recycle and turn != 0 and min(map(len, cache)) > 0:
            low[0].update(choices[0], cache[choices[0]].pop(), 1 / high.probability[0])
        z = choices[turn]
        a, y = patients.respond(z)
        if turn == 0:
            low[0].update(z, y, 1 / high.probability[0])
        else:
            cache[z].append(y)
        low[1].update(a, y)
        if a == z:
            low[2].update(z, y)
        high.update(turn, y)
        pulls[z] += 1
    return pulls


def bounded(environment: Environment, horizon: int, rng: Rng, by_means: bool, recycle: bool) -> Counts:
    """Thompson sampling that lends its undecided rounds to the protocol actual."""
    patients = Patients(environment, rng)
    certified, other = Beta(patients.arms), Beta(patients.arms)
    cache: list[list[int]] = [[] for _ in range(patients.arms)]
    pulls = np.zeros(patients.arms, dtype=np.int64)

    def weight() -> float:
        mean = certified.success / (certified.success + certified.failure)
        return 1 / float((mean**2).sum()) if by_means else 1.0

    for _ in range(horizon):
        lent = True
        z = -1
        if certified.select(rng) == certified.select(rng):
            z = certified.select(rng)
            if recycle and cache[z]:
                certified.update(z, cache[z].pop(), weight())
            else:
                lent = False
        if lent:
            z = other.select(rng)
        a, y = patients.respond(z)
        if lent:
            cache[z].append(y)
        else:
            certified.update(z, y, weight())
        other.update(a, y)
        pulls[z] += 1
    return pulls


def many(play: Callable[[Rng], Counts], runs: int, seed: int) -> Counts:
    """The pulls of many runs."""
    rng = np.random.default_rng(seed)
    return np.array([play(rng) for _ in range(runs)])


def causal(
    pays: NDArray[np.float64], observed: NDArray[np.float64], horizon: int, runs: int, seed: int
) -> NDArray[np.float64]:
    """TS^C in a casino, `pays[intent, machine]`: the regret of each run, all runs side by side.

    The table of successes and failures begins at one, and on the diagonal at the observed ones.
    """
    rng, everyone = np.random.default_rng(seed), np.arange(runs)
    success, failure = np.ones((runs, 2, 2)), np.ones((runs, 2, 2))
    for intent in range(2):
        success[:, intent, intent], failure[:, intent, intent] = observed[intent, 1], observed[intent, 0]
    regret = np.zeros(runs)
    for _ in range(horizon):
        x = rng.integers(2, size=runs)
        s, f = success[everyone, x], failure[everyone, x]
        overrule = (s / (s + f))[everyone, 1 - x]
        follow = (observed[:, 1] / observed.sum(axis=1))[x]
        weight = np.ones((runs, 2))
        weight[everyone, np.where(overrule > follow, x, 1 - x)] = 1 - abs(overrule - follow)
        z = (rng.beta(s, f) * weight).argmax(axis=1)
        y = rng.random(runs) < pays[x, z]
        success[everyone, x, z] += y
        failure[everyone, x, z] += ~y
        regret += pays[x].max(axis=1) - pays[x, z]
    return regret
