"""By quadrature: which of several independent variables is the largest, and by how much one exceeds another.

They are integrals of the density f_j of one variable times distribution functions F_i of others. Each is taken by
Gauss-Legendre rules between points that follow every mode, spread and tail, so that the cost does not depend on the
parameters; it grows with the square of the number of those that are asked about.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betainc, expit, gammainc, gammaincc, gammaln, logit, ndtr, stdtr

from takeup.checks import FloatArray

LEAST_SHAPE = 0.1
"""Below this shape a beta or a gamma variable sits on its end to machine precision; quadrature gives way to draws."""
MOST_EXACT = 64
"""With more variables it gives way, too: here it takes a sixth of a second."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_CORE = np.array([0.0, 1.0, 2.0, 3.5, 5.0, 7.0, 10.0])
_TAIL = np.array([1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 30.0, 40.0])
_POWER = _CORE[-1] * 4.0 ** np.arange(1, 24)
"""A power tail: Student's t with one degree of freedom holds 1e-15 beyond the last."""
_TINY = 1e-20
"""What is beyond the last point that is of use."""

Function = Callable[[FloatArray], FloatArray]
OfParameters = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True, eq=False)
class Variables:
    """Independent variables V_1, .., V_K, each a monotone function of the same scale t, on which densities are smooth.

    Attributes:
        points: between which Gauss-Legendre rules are exact enough, a column for each variable.
        parameters: of the distributions, likewise.
        density: of each variable at t, up to a factor, given parameters; (points, 1) -> (points, K).
        below: P(V_k <= v(t)), likewise.
        value: v(t).
        scale: t where v(t) is this; beyond the range of the variables plus or minus infinity.
    """

    points: FloatArray
    parameters: FloatArray
    density: OfParameters
    below: OfParameters
    value: Function
    scale: Function

    def largest(self, which: Sequence[int] | None = None) -> FloatArray:
        """The probability that each is the largest, of all or of some."""
        some = self if which is None else self._only(which)
        t, weight = _rule(some.points)
        f, other = some._density(t, weight), some.below(t, some.parameters)
        before = np.cumprod(np.hstack([np.ones_like(t), other[:, :-1]]), axis=1)
        after = np.cumprod(np.hstack([np.ones_like(t), other[:, :0:-1]]), axis=1)[:, ::-1]
        largest = weight @ (f * before * after)
        return np.asarray(largest / largest.sum())

    def exceeds(self, one: int, other: int, margin: float = 0.0) -> float:
        """P(V_one - V_other > margin)."""
        first, second = self._only([one]), self._only([other])
        t, weight = _rule(self._only([one, other])._followed(margin))
        return float(weight @ (first._density(t, weight) * second._shifted(t, -margin))[:, 0])

    def within(self, which: Sequence[int], margin: float) -> float:
        """The probability that the largest and the smallest of some differ by less than a margin above zero."""
        some = self._only(which)
        t, weight = _rule(some._followed(margin))
        f = some._density(t, weight)
        between = some._shifted(t, margin) - some.below(t, some.parameters)
        total = sum(f[:, k] * np.prod(np.delete(between, k, axis=1), axis=1) for k in range(len(which)))
        return float(weight @ total)

    def _only(self, which: Sequence[int]) -> "Variables":
        """Some of them, so that what the others are like costs nothing."""
        chosen = list(which)
        return replace(self, points=self.points[:, chosen], parameters=self.parameters[:, chosen])

    def _density(self, t: FloatArray, weight: FloatArray) -> FloatArray:
        f = self.density(t, self.parameters)
        return np.asarray(f / (weight @ f))

    def _shifted(self, t: FloatArray, margin: float) -> FloatArray:
        """P(V_k <= v(t) + margin)."""
        return self.below(self.scale(self.value(t) + margin), self.parameters)

    def _followed(self, margin: float) -> FloatArray:
        """The points, and those from which the margin leads to one of them, up or down."""
        if margin == 0:
            return self.points
        value = self.value(self.points)
        moved = [self.scale(value + sign * margin) for sign in (1, -1)]
        every = np.concatenate([self.points, *moved])
        return np.asarray(every[np.isfinite(every)])


def betas(parameters: FloatArray, *, low: float = 0.0, high: float = 1.0) -> Variables:
    """Variables low + (high - low) B with B of a beta distribution, on the logit scale.

    There a Beta(a, b) density is smooth, has its mode at log(a / b), a spread near sqrt(1/a + 1/b) and tails exp(a t)
    and exp(-b t). Errors of `largest` are below 2e-12.

    Args:
        parameters: shape (K, 2), a row (a, b) for each Beta(a, b), none below 0.1.
        low: the value at B = 0.
        high: the value at B = 1.
    """
    a, b = parameters[:, 0], parameters[:, 1]
    mode, spread = np.log(a / b), np.sqrt(1 / a + 1 / b)

    def density(t: FloatArray, shapes: FloatArray) -> FloatArray:
        a, b = shapes
        from_mode = t - np.log(a / b)  # large shapes would cancel in a t - (a + b) log(1 + exp t)
        return np.asarray(np.exp(a * from_mode - (a + b) * np.log1p(a / (a + b) * np.expm1(from_mode))))

    def below(t: FloatArray, shapes: FloatArray) -> FloatArray:
        a, b = shapes
        middle = int(np.searchsorted(t[:, 0], 0.0))
        return np.concatenate([betainc(a, b, expit(t[:middle])), 1 - betainc(b, a, expit(-t[middle:]))])

    left = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / a)])
    right = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / b)])
    return Variables(
        np.concatenate([mode - left, mode + right]),
        np.stack([a, b]),
        density,
        below,
        lambda t: low + (high - low) * expit(t),
        lambda value: logit(np.clip((value - low) / (high - low), 0.0, 1.0)),
    )


def gammas(shape: FloatArray, rate: FloatArray, value: Function, scale: Function, *, rising: bool) -> Variables | None:
    """Variables that rise or fall with a gamma variable, on its log scale.

    There a Gamma(s, r) density is smooth, has its mode at log(s / r), a spread near 1 / sqrt(s) and tails exp(s t) and
    exp(-r exp t). Errors of `largest` are below 1e-11; with more than a million events below 1e-9, as scipy's gammainc
    is there. None where there are too many, or some shape is below 0.1.

    Args:
        shape: s.
        rate: r.
        value: what the variable is at t, which is the logarithm of the gamma variable.
        scale: t where it is so much.
        rising: whether it rises.
    """
    if shape.size > MOST_EXACT or shape.min() < LEAST_SHAPE:
        return None
    mode, spread = np.log(shape / rate), 1 / np.sqrt(shape)

    def density(t: FloatArray, given: FloatArray) -> FloatArray:
        shape, rate = given
        from_mode = t - np.log(shape / rate)
        return np.asarray(np.exp(shape * (from_mode - np.expm1(from_mode))))

    def below(t: FloatArray, given: FloatArray) -> FloatArray:
        shape, rate = given
        variable = np.exp(t) * rate
        return np.asarray(gammainc(shape, variable) if rising else gammaincc(shape, variable))

    left = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / shape)])
    right = np.outer(_CORE, spread)
    points = np.concatenate([mode - left, mode + right])
    return Variables(points, np.stack([shape, rate]), density, below, value, scale)


def students(centre: FloatArray, scale: FloatArray, freedom: FloatArray) -> Variables | None:
    """Variables centre + scale T, with T of Student's t distribution, with one degree of freedom at least.

    The tail beyond u is near (1 + u^2 / ν)^(-ν / 2), which says how far points need to go. Errors of `largest` are
    below 1e-11. None where there are too many.
    """
    if centre.size > MOST_EXACT:
        return None
    middle, unit = centre.mean(), scale.max()
    centre, scale = (centre - middle) / unit, scale / unit  # what is far from zero would lose its last digits

    def density(t: FloatArray, given: FloatArray) -> FloatArray:
        centre, scale, freedom = given
        u = (t - centre) / scale
        log = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom) / 2 - np.log(scale)
        return np.asarray(np.exp(log - (freedom + 1) / 2 * np.log1p(u**2 / freedom)))

    def below(t: FloatArray, given: FloatArray) -> FloatArray:
        centre, scale, freedom = given
        return np.asarray(stdtr(freedom, (t - centre) / scale))

    reach = np.sqrt(freedom * np.expm1(-2 / freedom * np.log(_TINY)))
    away = np.minimum(np.concatenate([_CORE, _POWER])[:, np.newaxis], reach) * scale
    return Variables(
        np.concatenate([centre - away, centre + away]),
        np.stack([centre, scale, freedom]),
        density,
        below,
        lambda t: middle + unit * t,
        lambda value: (value - middle) / unit,
    )


def normals(centre: FloatArray, scale: FloatArray) -> Variables | None:
    """Normal variables with these means and standard deviations. Errors of `largest` are below 1e-11.

    None where there are too many.
    """
    if centre.size > MOST_EXACT:
        return None
    middle, unit = centre.mean(), scale.max()
    centre, scale = (centre - middle) / unit, scale / unit

    def density(t: FloatArray, given: FloatArray) -> FloatArray:
        centre, scale = given
        return np.asarray(np.exp(-(((t - centre) / scale) ** 2) / 2) / scale)

    def below(t: FloatArray, given: FloatArray) -> FloatArray:
        centre, scale = given
        return np.asarray(ndtr((t - centre) / scale))

    away = np.outer(_CORE, scale)
    return Variables(
        np.concatenate([centre - away, centre + away]),
        np.stack([centre, scale]),
        density,
        below,
        lambda t: middle + unit * t,
        lambda value: (value - middle) / unit,
    )


def largest_beta(parameters: FloatArray) -> FloatArray:
    """The probability that each of several beta variables is the largest; rows (a, b), none below 0.1."""
    return betas(parameters).largest()


def _rule(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Points of (N, 1) and their weights."""
    edges = np.unique(points)
    half = np.diff(edges)[:, np.newaxis] / 2
    t = (edges[:-1, np.newaxis] + half + half * _NODES).reshape(-1, 1)
    return t, (half * _WEIGHTS).ravel()
