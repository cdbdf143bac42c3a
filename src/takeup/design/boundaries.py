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
    upper = np.empty(0)
    for k, part in enumerate(np.diff(spent, prepend=0.0)):
        so_far = upper

        def beyond(value: float, k: int = k, part: float = part, so_far: FloatArray = so_far) -> float:
            return float(_crossing(at[: k + 1], np.append(so_far, value), 1, 0.0)[-1] - part)

        found = brentq(beyond, -_FAR, _FAR, xtol=1e-10) if part > _LEAST else np.inf  # too early to stop
        upper = np.append(upper, found)
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
    mean = drift * np.sqrt(times)
    lower = -upper if sided == 2 else np.minimum(mean, 0.0) - _FAR
    found = np.empty(times.size)
    left = _outside(upper[0] - mean[0], lower[0] - mean[0], sided)
    found[0] = left
    points, weights = _grid(lower[0], max(upper[0], lower[0]))
    density = weights * _phi(points - mean[0])
    for k in range(1, times.size):
        ratio, step = np.sqrt(times[k - 1] / times[k]), np.sqrt(1 - times[k - 1] / times[k])
        centre = points * ratio + drift * (times[k] - times[k - 1]) / np.sqrt(times[k])
        found[k] = density @ _outside((upper[k] - centre) / step, (lower[k] - centre) / step, sided)
        points, weights = _grid(lower[k], max(upper[k], lower[k]))
        density = weights * (density @ (_phi((points - centre[:, np.newaxis]) / step) / step))
    return found


def _outside(above: FloatArray, below: FloatArray, sided: Sided) -> FloatArray:
    return np.asarray(ndtr(-above) + (ndtr(below) if sided == 2 else 0.0))


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
