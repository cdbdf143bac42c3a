"""The logarithm of Γ for arguments of at least one, by Stirling's series: a third of what the general one costs."""

import math

from takeup.simulation.kernels.machine import Number, inlined

_FAR = 10.0
"""From here on six terms of the series are enough: the next one is below 1e-15."""

_HALF_LOG_2_PI = 0.9189385332046727


@inlined
def log_gamma(x: Number) -> Number:
    """The logarithm of Γ(x), to about 4e-15 of it or 2e-14; what is below ten is moved there by Γ(x + 1) = x Γ(x)."""
    product = 1.0
    while x < _FAR:
        product *= x
        x += 1.0
    r = 1.0 / x
    q = r * r
    series = 1 / 12 - q * (1 / 360 - q * (1 / 1260 - q * (1 / 1680 - q * (1 / 1188 - q * (691 / 360360)))))
    found = (x - 0.5) * math.log(x) - x + _HALF_LOG_2_PI + r * series
    return found - math.log(product) if product != 1.0 else found
