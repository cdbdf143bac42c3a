"""What "about 120, rarely outside 90 to 160" makes of a prior: the spread that has so much outside."""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from scipy.special import gammainc, stdtr

from takeup import checks
from takeup.conjugates.quadrature import LEAST_SHAPE
from takeup.errors import InputError

RARELY = 0.05
"""How often "rarely" is."""
MOST_EVENTS = 1e9
_HALVINGS = 200


def student_scale(value: float, low: float, high: float, freedom: float) -> float:
    """The scale of a Student's t around `value` that is rarely outside."""
    _between(value, low, high)

    def outside(scale: float) -> float:
        return float(stdtr(freedom, (low - value) / scale) + stdtr(freedom, (value - high) / scale))

    half = max(value - low, high - value)
    return _halved(lambda scale: outside(scale) < RARELY, 1e-6 * half, 1e3 * half)


def gamma_shape(value: float, low: float, high: float) -> float:
    """The shape of a gamma distribution of mean `value` that is rarely outside; of several, the greatest."""
    _between(value, low, high)

    def rare(shape: float) -> bool:
        inside = gammainc(shape, shape * high / value) - gammainc(shape, shape * low / value)
        return bool(inside >= 1 - RARELY)

    shapes = np.geomspace(MOST_EVENTS, LEAST_SHAPE, 400)
    if not rare(shapes[0]):
        raise InputError("rarely_outside", f"{low:g} to {high:g}", f"a wider range around {value:g}")
    for more, fewer in pairwise(shapes.tolist()):
        if not rare(fewer):
            return _halved(lambda shape: not rare(shape), fewer, more)
    hint = f"with a mean of {value:g} a rate is hardly ever outside, whatever is known of it"
    raise InputError("rarely_outside", f"{low:g} to {high:g}", f"a narrower range around {value:g}", hint)


def three(value: object, low: object, high: object, least: float | None = None) -> tuple[float, float, float]:
    """The numbers of a range, checked; `least` is what they must be above."""
    numbers = checks.real("about", [value, low, high])  # type: ignore[arg-type]  # it checks
    if numbers.shape != (3,):
        raise InputError("about", checks.shown(value), "one number, and two that it is rarely outside of")
    if least is not None and not (numbers > least).all():
        raise InputError("about", f"{numbers.tolist()}", f"numbers above {least:g}")
    about, lowest, highest = numbers.tolist()
    return about, lowest, highest


def _between(value: float, low: float, high: float) -> None:
    if not low < high:
        raise InputError("rarely_outside", f"{low:g} to {high:g}", "a lower number and then a higher one")
    if not low < value < high:
        raise InputError("about", f"{value:g}", f"a number between {low:g} and {high:g}, which it is rarely outside of")


def _halved(below: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition stops to hold that holds at the low end and not at the high one, by halving the ratio."""
    for _ in range(_HALVINGS):
        middle = float(np.sqrt(low * high))
        low, high = (middle, high) if below(middle) else (low, middle)
    return high
