"""The probability that each of several independent variables is the largest, by quadrature.

P(j is largest) is the integral of the density f_j times the product of the others' distribution functions F_i. It is
taken by Gauss-Legendre rules between points that follow every mode, spread and tail, so that the cost does not depend
on the parameters; it grows with the square of their number.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, expit, gammainc, gammaincc, gammaln, stdtr

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


def largest_beta(parameters: FloatArray) -> FloatArray:
    """Of beta variables, on the logit scale t.

    There a Beta(a, b) density is smooth, has its mode at log(a / b), a spread near sqrt(1/a + 1/b) and tails exp(a t)
    and exp(-b t). Errors are below 2e-12.

    Args:
        parameters: shape (K, 2), a row (a, b) for each Beta(a, b), none below 0.1.
    """
    a, b = parameters[:, 0], parameters[:, 1]
    mode, spread = np.log(a / b), np.sqrt(1 / a + 1 / b)

    def density(t: FloatArray) -> FloatArray:
        from_mode = t - mode  # large shapes would cancel in a t - (a + b) log(1 + exp t)
        return np.asarray(np.exp(a * from_mode - (a + b) * np.log1p(a / (a + b) * np.expm1(from_mode))))

    def below(t: FloatArray) -> FloatArray:
        middle = int(np.searchsorted(t[:, 0], 0.0))
        return np.concatenate([betainc(a, b, expit(t[:middle])), 1 - betainc(b, a, expit(-t[middle:]))])

    left = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / a)])
    right = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / b)])
    return _largest(np.concatenate([mode - left, mode + right]), density, below)


def largest_gamma(shape: FloatArray, rate: FloatArray, *, rising: bool) -> FloatArray | None:
    """Of gamma variables, or of their negatives where not `rising`, on the log scale t.

    There a Gamma(s, r) density is smooth, has its mode at log(s / r), a spread near 1 / sqrt(s) and tails exp(s t) and
    exp(-r exp t). Errors are below 1e-11; with more than a million events below 1e-9, as scipy's gammainc is there.
    """
    if shape.size > MOST_EXACT or shape.min() < LEAST_SHAPE:
        return None
    mode, spread = np.log(shape / rate), 1 / np.sqrt(shape)

    def density(t: FloatArray) -> FloatArray:
        from_mode = t - mode
        return np.asarray(np.exp(shape * (from_mode - np.expm1(from_mode))))

    def below(t: FloatArray) -> FloatArray:
        variable = np.exp(t) * rate
        return np.asarray(gammainc(shape, variable) if rising else gammaincc(shape, variable))

    left = np.concatenate([np.outer(_CORE, spread), _CORE[-1] * spread + np.outer(_TAIL, 1 / shape)])
    right = np.outer(_CORE, spread)
    return _largest(np.concatenate([mode - left, mode + right]), density, below)


def largest_student(centre: FloatArray, scale: FloatArray, freedom: FloatArray) -> FloatArray | None:
    """Of variables centre + scale T, with T of Student's t distribution, with one degree of freedom at least.

    The tail beyond u is near (1 + u^2 / ν)^(-ν / 2), which says how far points need to go. Errors are below 1e-11.
    """
    if centre.size > MOST_EXACT:
        return None
    middle, unit = centre.mean(), scale.max()
    centre, scale = (centre - middle) / unit, scale / unit  # what is far from zero would lose its last digits

    def density(t: FloatArray) -> FloatArray:
        u = (t - centre) / scale
        log = gammaln((freedom + 1) / 2) - gammaln(freedom / 2) - np.log(freedom) / 2 - np.log(scale)
        return np.asarray(np.exp(log - (freedom + 1) / 2 * np.log1p(u**2 / freedom)))

    def below(t: FloatArray) -> FloatArray:
        return np.asarray(stdtr(freedom, (t - centre) / scale))

    reach = np.sqrt(freedom * np.expm1(-2 / freedom * np.log(_TINY)))
    away = np.minimum(np.concatenate([_CORE, _POWER])[:, np.newaxis], reach) * scale
    return _largest(np.concatenate([centre - away, centre + away]), density, below)


def _largest(points: FloatArray, density: Function, below: Function) -> FloatArray:
    """The probabilities, from densities up to a factor and distribution functions, both of shape (points, K)."""
    edges = np.unique(points)
    half = np.diff(edges)[:, np.newaxis] / 2
    t = (edges[:-1, np.newaxis] + half + half * _NODES).reshape(-1, 1)
    weight = (half * _WEIGHTS).ravel()
    f = density(t)
    f /= weight @ f
    other = below(t)
    before = np.cumprod(np.hstack([np.ones_like(t), other[:, :-1]]), axis=1)
    after = np.cumprod(np.hstack([np.ones_like(t), other[:, :0:-1]]), axis=1)[:, ::-1]
    largest = weight @ (f * before * after)
    return np.asarray(largest / largest.sum())
