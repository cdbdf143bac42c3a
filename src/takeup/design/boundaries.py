"""Group sequential boundaries: when a classical trial with looks stops, and how probable that is.

The statistics of all looks have the canonical joint distribution: Z_k is normal with mean θ sqrt(t_k) and variance
one, and the covariance of Z_j and Z_k is sqrt(t_j / t_k), where t is the share of the information at a look.
Probabilities of crossing come from integrating over one look after the other: Armitage, McPherson & Rowe (1969);
Jennison & Turnbull (2000), chapter 19.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError

Sided: TypeAlias = Literal[1, 2]
Spending: TypeAlias = Literal["obrien-fleming", "pocock"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_PANELS = 16
"""Panels of the region in which a trial goes on, each with 24 points: probabilities are right to 1e-12."""
_FAR = 9.0
"""Standard deviations beyond which nothing is left."""
_LEAST = 1e-15
"""A smaller error is not spent."""


@dataclass(frozen=True, slots=True, eq=False)
class _Going:
    """Trials that went on at a look, on a grid, with their statistic there or, once moved, its mean at the next.

    Attributes:
        points: the statistics.
        weights: how probable each is; they sum to the probability of going on.
        time: the share of the information.
        spread: the standard deviation about each point.
    """

    points: FloatArray
    weights: FloatArray
    time: float
    spread: float = 0.0

    def moved(self, time: float, drift: float) -> "_Going":
        """What the next look finds of them, before any stops."""
        centre = self.points * np.sqrt(self.time / time) + drift * (time - self.time) / np.sqrt(time)
        return _Going(centre, self.weights, time, np.sqrt(1 - self.time / time))

    def outside(self, upper: float, lower: float, sided: Sided) -> float:
        """The probability of stopping now."""
        below = ndtr((lower - self.points) / self.spread) if sided == 2 else 0.0
        return float(self.weights @ (ndtr((self.points - upper) / self.spread) + below))

    def inside(self, lower: float, upper: float) -> "_Going":
        """Those who go on."""
        points, weights = _grid(lower, max(upper, lower))
        density = self.weights @ (_phi((points - self.points[:, np.newaxis]) / self.spread) / self.spread)
        return _Going(points, weights * density, self.time)


_BEGIN = _Going(np.zeros(1), np.ones(1), 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Boundary:
    """When a trial stops: where Z_k is above `upper[k]`, or, if it is two-sided, below -upper[k].

    Attributes:
        times: t_k, the share of the information at each look, rising to one.
        upper: the critical value at each look.
        sided: 1 or 2.
    """

    times: FloatArray
    upper: FloatArray
    sided: Sided

    def crossing(self, drift: float = 0.0) -> FloatArray:
        """The probability of stopping at each look; `drift` is the mean of the last statistic."""
        return _crossing(self.times, self.upper, self.sided, drift)

    def error(self) -> float:
        """The probability of stopping where there is nothing to find."""
        return float(self.crossing().sum())

    def drift(self, power: float) -> float:
        """The drift at which the trial stops with this probability; sizes are as the squares of drifts."""
        power = _probability("power", power)
        if power <= self.error():
            raise InputError("power", power, f"more than the error, {self.error():.6g}")
        return float(brentq(lambda drift: self.crossing(drift).sum() - power, 0.0, _FAR, xtol=1e-10))

    def expected(self, drift: float) -> float:
        """The mean share of the information at the end, where the drift is this."""
        stops = self.crossing(drift)
        return float(stops @ self.times + (1 - stops.sum()) * self.times[-1])


def pocock(looks: int, alpha: float = 0.05, sided: Sided = 2) -> Boundary:
    """The same critical value at each of so many equally spaced looks: Pocock (1977)."""
    return _constant(looks, alpha, sided, lambda times: np.ones(times.size))


def obrien_fleming(looks: int, alpha: float = 0.05, sided: Sided = 2) -> Boundary:
    """Critical values c / sqrt(t) at equally spaced looks, which are hard to reach early: O'Brien & Fleming (1979)."""
    return _constant(looks, alpha, sided, lambda times: 1 / np.sqrt(times))


def spending(times: Sequence[float], alpha: float = 0.025, kind: Spending = "obrien-fleming") -> Boundary:
    """One-sided critical values that spend the error by a function of the information: Lan & DeMets (1983).

    Args:
        times: the share of the information at each look, rising to one.
        alpha: the error that is spent in the end.
        kind: 2 - 2 Φ(z / sqrt(t)) with z the upper α / 2 point, or α log(1 + (e - 1) t).
    """
    at, alpha = _times(times), _probability("alpha", alpha)
    checks.one_of("kind", kind, get_args(Spending))
    spent = 2 * ndtr(ndtri(alpha / 2) / np.sqrt(at)) if kind == "obrien-fleming" else alpha * np.log1p(np.expm1(1) * at)
    upper = np.empty(at.size)
    going = _BEGIN
    for k, part in enumerate(np.diff(spent, prepend=0.0)):
        here = going.moved(at[k], 0.0)

        def beyond(value: float, here: _Going = here, part: float = part) -> float:
            return here.outside(value, -_FAR, 1) - part

        upper[k] = brentq(beyond, -_FAR, _FAR, xtol=1e-10) if part > _LEAST else np.inf  # too early to stop
        going = here.inside(-_FAR, upper[k])
    return Boundary(at, upper, 1)


def _constant(looks: int, alpha: float, sided: Sided, form: Callable[[FloatArray], FloatArray]) -> Boundary:
    """Critical values of one form, times the constant that gives the error."""
    looks, alpha = checks.whole("looks", looks, least=1), _probability("alpha", alpha)
    if sided not in (1, 2):
        raise InputError("sided", repr(sided), "1 or 2")
    if alpha / sided >= 0.5:
        raise InputError("alpha", alpha, "less than a half on each side")
    times = np.arange(1, looks + 1) / looks
    shape = form(times)

    def excess(constant: float) -> float:
        return float(_crossing(times, constant * shape, sided, 0.0).sum() - alpha)

    return Boundary(times, float(brentq(excess, 0.0, _FAR, xtol=1e-10)) * shape, sided)


def _crossing(times: FloatArray, upper: FloatArray, sided: Sided, drift: float) -> FloatArray:
    """The probability of leaving the region for the first time at each look."""
    lower = -upper if sided == 2 else np.minimum(drift * np.sqrt(times), 0.0) - _FAR
    found, going = np.empty(times.size), _BEGIN
    for k, time in enumerate(times):
        here = going.moved(time, drift)
        found[k] = here.outside(upper[k], lower[k], sided)
        going = here.inside(lower[k], upper[k])
    return found


def _grid(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Points and weights of the region in which a trial goes on; what is beyond nine deviations is left out."""
    low, high = max(low, -2 * _FAR), min(high, 2 * _FAR)
    edges = np.linspace(low, high, _PANELS + 1)
    half = np.diff(edges)[:, np.newaxis] / 2
    return (edges[:-1, np.newaxis] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()


def _phi(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))


def _times(times: Sequence[float]) -> FloatArray:
    at = checks.real("times", times)
    if at.ndim != 1 or at.size == 0 or at[0] <= 0 or (np.diff(at) <= 0).any() or abs(at[-1] - 1) > checks.TOLERANCE:
        raise InputError("times", list(times), "shares of the information that rise from above 0 to 1")
    return at


def _probability(name: str, value: float) -> float:
    found = float(checks.real(name, value))
    if not 0 < found < 1:
        raise InputError(name, value, "a number between 0 and 1")
    return found
