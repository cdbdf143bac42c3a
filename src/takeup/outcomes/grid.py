"""A grid of numbers: what is reported is rounded to its nearest point, a whole number of steps from the low end.

Points are decimal fractions as people write them, so that 0.1 + 0.2 is 0.3 here, and rounding is the same everywhere.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_UP, Context, Decimal, InvalidOperation
from functools import lru_cache

import numpy as np

from takeup.checks import FloatArray, IntArray, real, shown
from takeup.errors import InputError
from takeup.outcomes.base import MOST_CODES

MOST_STEPS = (MOST_CODES - 1) // 2
FARTHEST = 1e12
"""How far from zero a grid may be."""
FINEST = 1e-9
"""The least step. It is at least 1e-12 of the farthest number, too, so that points stay apart as floats."""

_EXACT = Context(prec=40)
"""Whatever precision a program has chosen for its own decimals."""
_UPWARDS = Context(prec=2, rounding=ROUND_UP)
"""For the least of which people are told: what they are told is allowed."""
_HALF, _BEYOND = Decimal("0.5"), Decimal(2 * FARTHEST)
_NUMBERS = (int, float, np.integer, np.floating, Decimal, str)
_COMMA, _UNIT = re.compile(r"[-+]?\d[\d.]*,[\d.,]*"), re.compile(r"[-+]?\d[\d.]*[^\d.,]+")


@dataclass(frozen=True, slots=True)
class Grid:
    """The points low, low + step, .., high.

    Attributes:
        low: the lowest point.
        high: the highest.
        step: how far they are apart.
        what: what errors call a number on it.
        unit: what it is measured in; may be empty.
    """

    low: float
    high: float
    step: float
    what: str = "outcome"
    unit: str = ""

    def __post_init__(self) -> None:
        for name in ("low", "high", "step"):
            given = getattr(self, name)
            if isinstance(given, bool) or np.ndim(given):
                raise InputError(name, repr(given), "one number")
            object.__setattr__(self, name, float(real(name, given)))
        farthest = max(abs(self.low), abs(self.high))
        for name in ("low", "high"):
            if farthest > FARTHEST and abs(getattr(self, name)) == farthest:
                raise InputError(name, repr(getattr(self, name)), f"a number from {-FARTHEST:g} to {FARTHEST:g}")
        if not self.step > 0:
            raise InputError("step", repr(self.step), "a number above 0")
        if not self.high > self.low:
            raise InputError("high", repr(self.high), f"a number above low, which is {self.low}")
        least = max(FINEST, 1e-12 * farthest)
        if self.step < least:
            enough = float(_UPWARDS.create_decimal(repr(least)))
            raise InputError("step", repr(self.step), f"at least {enough:g}", "finer ones are lost in rounding")
        steps = _EXACT.divide(_EXACT.subtract(decimal(self.high), decimal(self.low)), decimal(self.step))
        if steps != steps.to_integral_value():
            hint = f"it goes {steps:.6g} times into it; choose another step, or another end"
            raise InputError("step", repr(self.step), f"a step that divides {self.low} to {self.high} evenly", hint)
        if steps > MOST_STEPS:
            hint = f"a step of {(self.high - self.low) / MOST_STEPS:.2g} or more has so few"
            raise InputError("step", repr(self.step), f"at most {MOST_STEPS:,} steps from low to high", hint)

    @property
    def size(self) -> int:
        """How many points there are."""
        return round((self.high - self.low) / self.step) + 1

    @property
    def points(self) -> FloatArray:
        """All of them."""
        return self.at(np.arange(self.size))

    def at(self, steps: IntArray) -> FloatArray:
        """The points so many steps from the low end."""
        return np.asarray(self.low + self.step * steps, dtype=np.float64)

    def index(self, given: object, above: str = "") -> int:
        """How many steps from the low end the nearest point is; more than half a step beyond either end is too far.

        Args:
            given: the number.
            above: what to do with a number that is above the high end, if there is something to do.
        """
        unit = f" {self.unit}" if self.unit else ""
        allowed = f"a number from {self.low:g} to {self.high:g}{unit}"
        number = number_in(self.what, given, allowed)
        if not -_BEYOND < number < _BEYOND:
            raise InputError(self.what, shown(given), allowed, above if number > 0 else "")
        steps = _EXACT.divide(_EXACT.subtract(number, decimal(self.low)), decimal(self.step))
        most = self.size - 1
        if not -_HALF <= steps <= _EXACT.add(most, _HALF):
            hint = f"check its digits and its unit; half a step of {self.step:g} beyond is rounded, no more"
            raise InputError(self.what, f"{number:.15g}{unit}", allowed, (above if steps > 0 else "") or hint)
        return min(max(int(steps.to_integral_value(ROUND_HALF_EVEN)), 0), most)

    def point(self, index: int) -> int | float:
        """The point so many steps from the low end, as people would write it."""
        exact = _EXACT.fma(decimal(self.step), index, decimal(self.low))
        return int(exact) if exact == exact.to_integral_value() else float(exact)

    def bins(self, many: int, *, logarithmic: bool = False) -> "Bins":
        """So many bins of equal width over the points, or of equal ratio; fewer where there are fewer points."""
        edges = np.arange(min(many, self.size))
        if logarithmic:
            share = self.low * (self.high / self.low) ** (edges / edges.size)
            # The nudge keeps a point that is on an edge but for rounding in one bin on every machine.
            starts = np.ceil((share - self.low) / self.step - 1e-9).astype(np.int64)
        else:
            starts = -(-edges * self.size // edges.size)
        return Bins(np.unique(starts), self)


class Bins:
    """Bins of the points of a grid.

    Attributes:
        starts: how many steps from the low end each bin begins.
        first: the first point of each.
        last: the last point of each.
    """

    def __init__(self, starts: IntArray, grid: Grid) -> None:
        self.starts = starts
        self.first = grid.at(starts)
        self.last = grid.at(np.append(starts[1:], grid.size) - 1)

    @property
    def size(self) -> int:
        """How many there are."""
        return self.starts.size

    def of(self, steps: IntArray) -> IntArray:
        """The bins of these points."""
        return np.asarray(np.searchsorted(self.starts, steps, side="right") - 1)

    @property
    def middle(self) -> FloatArray:
        """The middle of each."""
        return np.asarray((self.first + self.last) / 2)


def from_zero(longest: float, step: float, what: str = "outcome", unit: str = "") -> Grid:
    """The grid from zero to the longest time."""
    if isinstance(longest, bool) or np.ndim(longest) or not 0 < float(real("longest", longest)) <= FARTHEST:
        raise InputError("longest", shown(longest), f"one number above 0, at most {FARTHEST:g}")
    return Grid(0.0, longest, step, what, unit)


@lru_cache(maxsize=256)
def grid(low: float, high: float, step: float, what: str = "outcome", unit: str = "") -> Grid:
    """The grid, kept for the next time: an outcome asks for it at every report."""
    return Grid(low, high, step, what, unit)


def number_in(what: str, given: object, allowed: str) -> Decimal:
    """The number that somebody gave, exactly as it was written; an InputError where it is none."""
    number = Decimal("NaN")
    if isinstance(given, _NUMBERS) and not isinstance(given, bool):
        with suppress(InvalidOperation):
            number = Decimal(given if isinstance(given, int | Decimal) else str(given).strip())
    if not number.is_finite():
        raise InputError(what, shown(given), allowed, _remedy(given))
    return number


def _remedy(given: object) -> str:
    """What to do about what is no number."""
    text = "" if given is None else str(given).strip() if isinstance(given, float | str) else "other"
    if text.lower() in ("", "nan", "na"):
        return "leave it out while it is unknown, and declare it missing if it stays so"
    if _COMMA.fullmatch(text):
        return "write a decimal point, as in 12.5, and nothing between thousands"
    return "give the number alone, without a unit" if _UNIT.fullmatch(text) else ""


def decimals(step: float) -> int:
    """How many decimals a step is written with."""
    return max(0, -int(_EXACT.normalize(decimal(step)).as_tuple().exponent))


@lru_cache(maxsize=256)
def decimal(number: float) -> Decimal:
    """The decimal fraction that a number is written as; kept, as an outcome asks for its ends at every report."""
    return Decimal(repr(float(number)))
