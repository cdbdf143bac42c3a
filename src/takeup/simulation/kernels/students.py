"""Student's t from two words, without rejection: the polar method of Bailey (1994), in float32.

As r cos θ with r^2 = -2 log u is normal, so with r^2 = ν (u^(-2 / ν) - 1) it is Student's t with ν degrees of freedom,
whatever ν is. The mean of a normal posterior is such a variable (see `normals`), and needs neither its gamma nor its
normal. The other coordinate, r sin θ, is not independent of it and is not used.

A likelihood has one degree of freedom at least. With 31 bits of u its u^(-2 / ν) is at most 2^62, which float32 holds.
"""

import math

import numpy as np

from takeup.simulation.kernels.gammas import HALF, ONE, exponential, turned
from takeup.simulation.kernels.machine import Number, fused, inlined, number_of, times

# exp(f) for |f| <= log(2) / 2, and log(2) in two parts: Cephes, single precision.
_EXP_0, _EXP_1, _EXP_2 = np.float32(1.9875691500e-4), np.float32(1.3981999507e-3), np.float32(8.3334519073e-3)
_EXP_3, _EXP_4, _EXP_5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(5.0000001201e-1)
_PER_LOG_TWO = np.float32(1 / math.log(2))
_LOG_TWO_HIGH, _LOG_TWO_LOW = np.float32(-0.693359375), np.float32(2.12194440e-4)
_BIAS, _EXPONENT = np.int32(127), np.uint32(23)


@inlined
def exp_minus_one(y: Number) -> Number:
    """Exp(y) - 1 of a float32 from 0 to 87, to a few units in the last place: 2^n e^f - 1 with f around 0."""
    n = np.int32(fused(y, _PER_LOG_TWO, HALF))
    whole = np.float32(n)
    f = fused(whole, _LOG_TWO_LOW, fused(whole, _LOG_TWO_HIGH, y))
    p = fused(_EXP_0, f, _EXP_1)
    p = fused(p, f, _EXP_2)
    p = fused(p, f, _EXP_3)
    p = fused(p, f, _EXP_4)
    p = fused(p, f, _EXP_5)
    power = number_of(np.uint32(np.uint32(n + _BIAS) << _EXPONENT))
    return fused(power, fused(p, f * f, f), power - ONE)


@inlined
def student(rate: Number, radius: Number, angle: Number) -> Number:
    """A draw of t / sqrt(ν), where rate = 2 / ν, from the words for the radius and the angle; float32."""
    square = exp_minus_one(times(rate, exponential(radius)))
    return turned(np.float32(math.sqrt(square)), angle)[0]
