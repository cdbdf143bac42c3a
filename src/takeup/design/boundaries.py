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
    upper, here = np.empty(at.size), _START
    for k, part in enumerate(np.diff(spent, prepend=0.0)):
        moved = here.at(float(at[k]), 0.0)

        def beyond(value: float, part: float = part, here: _Moved = moved) -> float:
            return here.outside(value, -_FAR, 1) - part

        upper[k] = brentq(beyond, -_FAR, _FAR, xtol=1e-10) if part > _LEAST else np.inf  # too early to stop
        here = moved.inside(-_FAR, float(upper[k]))
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
    found, here = np.empty(times.size), _START
    for k in range(times.size):
        moved = here.at(float(times[k]), drift)
        found[k] = moved.outside(float(upper[k]), float(lower[k]), sided)
        here = moved.inside(float(lower[k]), float(upper[k]))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _Here:
    """Trials that go on after a look: values of their statistic, and how probable each is; and when that is."""

    time: float
    points: FloatArray
    weight: FloatArray

    def at(self, time: float, drift: float) -> "_Moved":
        """The same at the next look: given Z_j, Z_k is normal with mean Z_j sqrt(t_j / t_k) + the drift of between."""
        centre = self.points * np.sqrt(self.time / time) + drift * (time - self.time) / np.sqrt(time)
        return _Moved(time, centre, float(np.sqrt(1 - self.time / time)), self.weight)


_START = _Here(0.0, np.zeros(1), np.ones(1))
"""Before the first look."""


@dataclass(frozen=True, slots=True, eq=False)
class _Moved:
    """Trials at a look that has not been judged: normal around each centre, with this deviation and probability."""

    time: float
    centre: FloatArray
    deviation: float
    weight: FloatArray

    def outside(self, upper: float, lower: float, sided: Sided) -> float:
        """How probable it is to be above, or on the other side where that counts."""
        above = ndtr((self.centre - upper) / self.deviation)
        below = ndtr((lower - self.centre) / self.deviation) if sided == 2 else 0.0
        return float(self.weight @ (above + below))

    def inside(self, lower: float, upper: float) -> _Here:
        """Those that go on."""
        points, weights = _grid(lower, max(upper, lower))
        near = _phi((points - self.centre[:, np.newaxis]) / self.deviation) / self.deviation
        return _Here(self.time, points, weights * (self.weight @ near))


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
