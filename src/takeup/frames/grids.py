"""The grid that numbers of somebody else's table are kept on."""

from decimal import Decimal

import numpy as np

from takeup.checks import FloatArray

MOST_STEPS = 1_000_000
MOST_DECIMALS = 6


def grid_of(numbers: FloatArray) -> tuple[float, float, float]:
    """The least range and the step of a grid that holds these numbers, or nearly where they have too many digits."""
    decimals = next((d for d in range(MOST_DECIMALS) if _whole(numbers * 10.0**d)), MOST_DECIMALS)
    least = (numbers.max() - numbers.min()) / MOST_STEPS
    while 10.0**-decimals < least:
        decimals -= 1
    step = Decimal(1).scaleb(-decimals)
    low = (Decimal(repr(float(numbers.min()))) / step).to_integral_value("ROUND_FLOOR") * step
    high = (Decimal(repr(float(numbers.max()))) / step).to_integral_value("ROUND_CEILING") * step
    return float(low), float(high), float(step)


def _whole(numbers: FloatArray) -> bool:
    return bool(np.all(np.abs(numbers - np.rint(numbers)) <= 1e-9 * np.maximum(1.0, np.abs(numbers))))
