"""Trials of two proposals with numbers, counts or times, many side by side, allocated by running means."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from takeup import Count, Log, Number, Space, Time, stream
from takeup.checks import FloatArray, IntArray

NAMES = ["usual", "new"]
PRESSURE = Space(NAMES, outcomes=Number(60, 240, step=0.5, unit="mmHg", better="lower"))
RELAPSES = Space(NAMES, outcomes=Count(60, exposure="days", longest=90, better="lower"))
SPENDING = Space(NAMES, outcomes=Number(0, 500, step=0.1, better="higher"))
DAYS = Space(NAMES, outcomes=Time(365, unit="days", better="higher"))

Drawn = tuple[IntArray, FloatArray]
"""Codes of outcomes, and how well each went, as far as the policy can see."""


@dataclass(frozen=True)
class People:
    """Whose outcomes are drawn by `draw(rng, when, z)`, `when` going from 0 to 1 over the trial."""

    space: Space
    draw: Callable[[Any, float, IntArray], Drawn]


def pressures(usual: float, new: float, sd: float = 15.0, drift: float = 0.0) -> People:
    """Blood pressure, normal around one mean each."""

    def draw(rng: Any, when: float, z: IntArray) -> Drawn:
        y = np.where(z == 1, new, usual) + drift * when + sd * rng.standard_normal(z.size)
        codes = np.clip(np.rint((y - 60) / 0.5), 0, 360).astype(np.int64)
        return codes, -y

    return People(PRESSURE, draw)


def spending(usual: float, new: float, law: Literal["some", "all"] = "some") -> People:
    """What people spend, five on average under either proposal, and the more the better.

    Of `some` these shares spend something, exponential, the others nothing; `all` are log-normal with these sigmas.
    """

    def draw(rng: Any, when: float, z: IntArray) -> Drawn:
        each = np.where(z == 1, new, usual)
        if law == "some":
            y = np.where(rng.random(z.size) < each, rng.exponential(5 / each), 0.0)
        else:
            y = 5 * np.exp(each * rng.standard_normal(z.size) - each**2 / 2)
        codes = np.clip(np.rint(y / 0.1), 0, 5_000).astype(np.int64)
        return codes, y

    return People(SPENDING, draw)


def relapses(usual: float, new: float, drift: float = 0.0, spread: float = 1.0) -> People:
    """Counts at these rates a day over 1 to 90 days, Poisson for each person, whose own rate varies (gamma)."""

    def draw(rng: Any, when: float, z: IntArray) -> Drawn:
        days = rng.integers(1, 91, z.size)
        own = rng.gamma(1 / spread, spread, z.size) * (1 + drift * when)
        count = np.minimum(rng.poisson(own * days * np.where(z == 1, new, usual)), 60)
        return count * 90 + days - 1, -count / days

    return People(RELAPSES, draw)


def times(usual: float, new: float, shape: float = 1.0, censored: float = 0.0, drift: float = 0.0) -> People:
    """Days to an event, Weibull with these scales; `censored` of people are lost at a random day before the 365th."""

    def draw(rng: Any, when: float, z: IntArray) -> Drawn:
        day = np.where(z == 1, new, usual) * (1 + drift * when) * rng.weibull(shape, z.size)
        lost = np.where(rng.random(z.size) < censored, rng.integers(1, 365, z.size), 365)
        steps = np.minimum(np.floor(day), lost).astype(np.int64)
        return 2 * steps + (np.floor(day) >= lost), steps.astype(np.float64)

    return People(DAYS, draw)


def trials(
    people: People, n: int, many: int, seed: int, floor: float, how: Literal["adaptive", "even"] = "adaptive"
) -> Log:
    """`many` trials of these people: what does better so far is proposed more often, within a floor.

    The probability of the new proposal is Φ of the difference of running means by its error, a stand-in for Thompson
    sampling that works for any kind of outcome.
    """
    rng, every = stream(seed, "adaptive kinds"), np.arange(many)
    seen, total, squares = (np.zeros((many, 2)) for _ in range(3))
    probability = np.full((many, n, 2), 0.5)
    proposal, outcome = (np.empty((many, n), dtype=np.int64) for _ in range(2))
    for t in range(n):
        if how == "adaptive" and t >= 4:
            mean = total / np.maximum(seen, 1)
            variance = (squares / np.maximum(seen, 1) - mean**2 + 1e-12) / np.maximum(seen, 1)
            lead = (mean[:, 1] - mean[:, 0]) / np.sqrt(variance.sum(axis=1))
            enough = seen.min(axis=1) >= 2
            share = np.clip(1 / (1 + np.exp(np.clip(-1.7 * lead, -50, 50))), floor, 1 - floor)
            probability[:, t, 1] = np.where(enough, share, 0.5)
            probability[:, t, 0] = 1 - probability[:, t, 1]
        z = (rng.random(many) < probability[:, t, 1]).astype(np.int64)
        codes, gain = people.draw(rng, t / n, z)
        seen[every, z] += 1
        total[every, z] += gain
        squares[every, z] += gain**2
        proposal[:, t], outcome[:, t] = z, codes
    return Log.of(people.space, proposal, probability, outcome=outcome)


def mean_days(scale: float, until: int) -> float:
    """The mean of whole days within `until` where times are exponential: Σ_k P(T >= k)."""
    return float(np.exp(-np.arange(1, until + 1) / scale).sum())


def alone(log: Log, i: int) -> Log:
    """One of the trials that are side by side."""
    return Log.of(log.space, log.proposal[i], log.probability[i], outcome=log.outcome[i])


def as_one(log: Log) -> Log:
    """All trials one after the other, as if they were one."""
    p = log.probability.reshape(-1, log.probability.shape[-1])
    return Log.of(log.space, log.proposal.reshape(-1), p, outcome=log.outcome.reshape(-1))
