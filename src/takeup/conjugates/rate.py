"""Outcomes that are counts over an exposure, or times to an event: a rate, with a gamma distribution."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln

from takeup.checks import FloatArray
from takeup.conjugates.base import Conjugate
from takeup.conjugates.quadrature import Function, Variables, gammas
from takeup.evidence import Index, at_context
from takeup.families import Exponentials, Poissons
from takeup.outcomes import Count, Time
from takeup.outcomes.base import Statistic
from takeup.randomness import Random


@dataclass(frozen=True, slots=True, eq=False)
class GammaRate(Conjugate):
    """λ ~ Gamma(events, exposure) for each action: after e events in an exposure of t, Gamma(events + e, exposure + t).

    Counts are Poisson(λ exposure); times are exponential with rate λ, censored or not.

    Attributes:
        events: the shape[x, a].
        exposure: the rate[x, a], in the units of exposure or time.
        outcome: what is counted, or when it comes, and what that is worth.
    """

    events: FloatArray
    exposure: FloatArray
    outcome: Count | Time

    @property
    def shape(self) -> tuple[int, ...]:
        """(.., X, K)."""
        return self.events.shape

    def at(self, context: Index) -> "GammaRate":
        """The parameters of one context."""
        events, exposure = (at_context(each, context, trailing=2) for each in (self.events, self.exposure))
        return replace(self, events=events, exposure=exposure)

    def apart(self, groups: int) -> "GammaRate":
        """The same parameters for each of several groups."""
        events, exposure = (np.repeat(x[..., np.newaxis, :], groups, axis=-2) for x in (self.events, self.exposure))
        return replace(self, events=events, exposure=exposure)

    def plus(self, statistic: Statistic) -> "GammaRate":
        """More events, in more time."""
        events, steps = statistic[..., -2], statistic[..., -1]
        return replace(self, events=self.events + events, exposure=self.exposure + steps * self.outcome.step)

    def sample(self, rng: Random, repeat: tuple[int, ...] = ()) -> Poissons | Exponentials:
        """A rate for each action."""
        return self.family(self.draw(rng, repeat))

    def draw(self, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
        """Rates."""
        return np.asarray(rng.standard_gamma(self.events, size=(*repeat, *self.shape)) / self.exposure)

    def mean(self) -> Poissons | Exponentials:
        """At events / exposure."""
        return self.family(self.events / self.exposure)

    def sample_rewards(self, rng: Random, repeat: tuple[int, ...] = ()) -> FloatArray:
        """What an outcome is worth on average, in draws of the rate."""
        return self.sample(rng, repeat).mean_worth()

    def log_evidence(self, statistic: Statistic) -> FloatArray:
        """Log Γ(events') / Γ(events) + events log exposure - events' log exposure'."""
        after = self.plus(statistic)
        return np.asarray(_log_constant(after) - _log_constant(self))

    def variables(self) -> Variables | None:
        """Of gammas: a count is worth its rate, a time its mean within the longest watch, or the negative of either."""
        outcome = self.outcome
        sign = 1.0 if outcome.better == "higher" else -1.0
        if isinstance(outcome, Count):
            return self._gammas(lambda t: sign * np.exp(t), lambda value: _log(sign * value), rising=sign > 0)
        longest = outcome.longest
        return self._gammas(
            lambda t: -sign * np.exp(-t) * np.expm1(-longest * np.exp(t)),
            lambda value: log_rate(sign * value / longest) - np.log(longest),
            rising=sign < 0,
        )

    def _gammas(self, value: Function, scale: Function, *, rising: bool) -> Variables | None:
        return gammas(self.events[..., 0, :], self.exposure[..., 0, :], value, scale, rising=rising)

    def family(self, rate: FloatArray) -> Poissons | Exponentials:
        """The distributions with these rates."""
        outcome = self.outcome
        return Poissons(rate, outcome) if isinstance(outcome, Count) else Exponentials(1 / rate, outcome)


def _log_constant(block: GammaRate) -> FloatArray:
    return np.asarray(gammaln(block.events) - block.events * np.log(block.exposure))


def _log(value: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.maximum(value, 0.0)))


def log_rate(mean: FloatArray) -> FloatArray:
    """Log r where the mean time within a watch of length one, (1 - exp(-r)) / r, is this; by halving."""
    low, high = np.full(mean.shape, -45.0), np.full(mean.shape, 700.0)
    for _ in range(64):
        middle = (low + high) / 2
        longer = -np.expm1(-np.exp(middle)) * np.exp(-middle) > mean
        low, high = np.where(longer, middle, low), np.where(longer, high, middle)
    return np.asarray(np.where(mean >= 1, -np.inf, np.where(mean <= 0, np.inf, low)))
