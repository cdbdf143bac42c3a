"""The index of an arm from its mean, its pulls and the time: UCB1, KL-UCB and Bayes-UCB, in float64."""

import math

from takeup.policies.indices import HALVINGS
from takeup.simulation.kernels.machine import Number, inlined

MOST = 100_000
"""Terms of a continued fraction; the square root of the pulls is enough."""

TINY = 1e-300


@inlined
def ucb1(mean: Number, pulls: Number, time: Number, exploration: Number) -> Number:
    """The mean and sqrt(c log(Σ n) / n)."""
    if pulls <= 0.0:
        return math.inf
    return mean + math.sqrt(exploration * math.log(max(time - 1.0, 1.0)) / pulls)


def kl_ucb(mean: Number, pulls: Number, time: Number, constant: Number) -> Number:
    """The largest q with n kl(m, q) <= log t + c log log t, by halving [m, 1]."""
    if pulls <= 0.0:
        return math.inf
    log = math.log(time)
    budget = log + constant * math.log(max(log, 1.0))
    low, high = mean, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        divergence = 0.0
        if mean > 0.0:
            divergence += mean * math.log(mean / middle)
        if mean < 1.0:
            divergence += (1.0 - mean) * math.log((1.0 - mean) / (1.0 - middle))
        if pulls * divergence <= budget:
            low = middle
        else:
            high = middle
    return low


def bayes_ucb(mean: Number, pulls: Number, time: Number, alpha: Number) -> Number:
    """The 1 - 1/t quantile of Beta(α + n m, α + n (1 - m)), by its upper tail, which does not cancel."""
    if time <= 1.0:
        return 0.0
    return 1.0 - beta_quantile(1.0 / time, alpha + pulls * (1.0 - mean), alpha + pulls * mean)


def beta_quantile(p: Number, a: Number, b: Number) -> Number:
    """The x with I_x(a, b) = p: Newton's method on log I, kept within an interval that always holds it."""
    low, high = 0.0, 1.0
    x = a / (a + b)
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    for _ in range(200):
        below = incomplete_beta(a, b, x)
        if below < p:
            low = x
        else:
            high = x
        new = 0.5 * (low + high)
        if 0.0 < x < 1.0 and below > 0.0:
            density = math.exp(constant + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x))
            if density > 0.0:
                step = x - below * math.log(below / p) / density
                if low < step < high:
                    new = step
        if abs(new - x) <= 1e-14 * x or high - low <= 1e-300:
            return new
        x = new
    return x


def incomplete_beta(a: Number, b: Number, x: Number) -> Number:
    """I_x(a, b), by the continued fraction of whichever tail it converges in."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1.0) / (a + b + 2.0):
        return math.exp(log) * _fraction(a, b, x) / a
    return 1.0 - math.exp(log) * _fraction(b, a, 1.0 - x) / b


def _fraction(a: Number, b: Number, x: Number) -> Number:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > TINY else TINY)
    value = d
    for m in range(1, MOST):
        even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        change = 1.0
        for term in (even, odd):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) > TINY else TINY)
            c = c if abs(c) > TINY else TINY
            change = c * d
            value *= change
        if abs(change - 1.0) < 1e-15:
            break
    return value
