"""Outcomes that are numbers: blood pressure, a score, money."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.outcomes.base import Better, Shown, Statistic
from takeup.outcomes.binned import Binned
from takeup.outcomes.grid import FARTHEST, FINEST, Bins, Grid, decimals, grid

Scale: TypeAlias = Literal["linear", "log"]
"""Whether differences or ratios are what counts."""

Knots: TypeAlias = Sequence[Sequence[float]]
"""Pairs (number, worth): what is between two of them is on the line that joins them, beyond the ends it stays."""

BINS = 20
MOST_BINS = 1_000
LOG_STEPS = 10_000
"""Steps of a logarithm: a ratio of 1.0001."""
WORTH_STEPS = 100_000
"""Steps from the least to the greatest worth, where numbers are mapped to worth."""
MOST_KNOTS = 100
NUDGE = 1e-6
"""What is half-way between two steps but for rounding goes to the lower one, on every machine."""


@dataclass(frozen=True, slots=True)
class Number(Binned):
    """A number on a grid: k = (y - low) / step is whole. What is reported is rounded to the grid.

    A decision adds one to the bin of its outcome, k and k^2; on a log scale also l and l^2, where l / 10,000 is
    log(y / low); with a utility also its worth, in steps of a hundred thousandth of the range.

    Attributes:
        low: the least that can be; what is below is refused.
        high: the most that can be.
        step: how finely it is kept.
        unit: what it is measured in.
        better: which end is the good one; a number is worth itself, or its negative where lower is better.
        utility: what numbers are worth, where that is not so: pairs (number, worth), straight lines in between.
        scale: "log" where ratios are what counts, as for money; low must then be above 0.
        bins: how many bins are counted, for charts and for the bootstrap.
    """

    kind: ClassVar[str] = "number"
    low: float
    high: float
    step: float = 1.0
    unit: str = ""
    better: Better = "higher"
    utility: Knots = ()
    scale: Scale = "linear"
    bins: int = BINS

    def __post_init__(self) -> None:
        points = Grid(self.low, self.high, self.step)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, getattr(points, name))
        checks.label("unit", self.unit)
        checks.one_of("better", self.better, get_args(Better))
        checks.one_of("scale", self.scale, get_args(Scale))
        object.__setattr__(self, "bins", checks.whole("bins", self.bins, least=2, most=MOST_BINS))
        if self.scale == "log" and not self.low > 0:
            raise InputError("low", f"{self.low:g}", "a number above 0, as the scale is a log scale")
        object.__setattr__(self, "utility", _knots(self.utility, points))

    @property
    def grid(self) -> Grid:
        """The grid."""
        return grid(self.low, self.high, self.step, unit=self.unit)

    @property
    def size(self) -> int:
        """How many points the grid has."""
        return self.grid.size

    def _bins(self) -> Bins:
        return self.grid.bins(self.bins, logarithmic=self.scale == "log")

    @property
    def sums(self) -> tuple[str, ...]:
        """K and k^2, and more where it is asked for."""
        return ("k", "k^2", *(("l", "l^2") if self.scale == "log" else ()), *(("w",) if self.utility else ()))

    def code(self, given: object) -> int:
        """The nearest point of the grid."""
        return self.grid.index(given)

    def plain(self, code: int) -> int | float:
        """The number."""
        return self.grid.point(code)

    @property
    def sentence(self) -> str:
        """The range, the step and the good end."""
        unit = f" {self.unit}" if self.unit else ""
        good = "worth what the utility says" if self.utility else f"{self.better} is better"
        return f"a number from {self.low:g} to {self.high:g}{unit}, in steps of {self.step:g}; {good}"

    def text(self, code: int) -> str:
        """The number and its unit."""
        return f"{self.plain(code)} {self.unit}".rstrip()

    @property
    def shown(self) -> Shown:
        """The mean in its unit; with a utility the expected worth, which has none."""
        if self.utility:
            return Shown("expected worth")
        return Shown("mean", self.unit, 1.0 if self.better == "higher" else -1.0, decimals(self.step) + 1)

    def worth(self, number: FloatArray) -> FloatArray:
        """What numbers are worth, on the grid or not."""
        if self.utility:
            knots, worths = np.array(self.utility).T
            return np.asarray(np.interp(number, knots, worths))
        return number if self.better == "higher" else -number

    def _worths(self) -> FloatArray:
        """What each point of the grid is worth."""
        return self.worth(self.grid.points)

    @property
    def examples(self) -> IntArray:
        """The first point of each bin."""
        return self.binned.starts

    def parts_of(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The bin, and what is added to the sums."""
        added = [codes, codes**2]
        if self.scale == "log":
            logs = _nearest(LOG_STEPS * np.log(self.grid.at(codes) / self.low))
            added += [logs, logs**2]
        if self.utility:
            share = (self.worth(self.grid.at(codes)) - self.lowest) / (self.highest - self.lowest)
            added.append(_nearest(WORTH_STEPS * share))
        return self.binned.of(codes), np.stack(added, axis=-1)

    @property
    def lowest(self) -> float:
        """The least that a number may be worth."""
        return min(self._ends)

    @property
    def highest(self) -> float:
        """The most that a number may be worth."""
        return max(self._ends)

    @property
    def _ends(self) -> tuple[float, ...]:
        """Where worth may be least and most: at the ends of straight lines."""
        if self.utility:
            return tuple(worth for _, worth in self.utility)
        return tuple(self.worth(np.array([self.low, self.high])).tolist())

    def earned(self, statistic: Statistic) -> FloatArray:
        """Σ worth, from Σ k or from Σ w."""
        many = self.seen(statistic)
        if self.utility:
            low, high = self.lowest, self.highest
            return np.asarray(low * many + (high - low) / WORTH_STEPS * statistic[..., self.width - 1])
        total = self.low * many + self.step * statistic[..., self.cells]
        return np.asarray(total if self.better == "higher" else -total)

    @property
    def gain_line(self) -> tuple[float, float]:
        """K in parts of the whole range, up or down; with a utility, w."""
        if self.utility:
            return 0.0, 1 / WORTH_STEPS
        most = self.size - 1
        return (0.0, 1 / most) if self.better == "higher" else (1.0, -1 / most)

    def score(self, codes: IntArray) -> IntArray:
        """K; with a utility, w."""
        return self.parts_of(codes)[1][..., -1] if self.utility else codes

    def gained(self, statistic: Statistic) -> FloatArray:
        """Σ k in parts of the whole range, or Σ w: never outside [0, 1], however far from zero the numbers are."""
        if self.utility:
            return np.asarray(statistic[..., self.width - 1] / WORTH_STEPS)
        most, total = self.size - 1, statistic[..., self.cells]
        return np.asarray((total if self.better == "higher" else most * self.seen(statistic) - total) / most)


def _nearest(steps: FloatArray) -> IntArray:
    return np.asarray(np.rint(steps - NUDGE).astype(np.int64))


def _knots(given: Knots, points: Grid) -> tuple[tuple[float, float], ...]:
    """The pairs, checked: numbers that rise, within the range, and worths that differ."""
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise InputError("utility", checks.shown(given), "a list of pairs [number, worth]")
    if not len(given):
        return ()
    if len(given) > MOST_KNOTS:
        raise InputError("utility", f"{len(given)} pairs", f"at most {MOST_KNOTS}")
    pairs = checks.real("utility", [list(each) if isinstance(each, tuple) else each for each in given])
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) < 2:
        raise InputError("utility", checks.shown(given), "at least two pairs [number, worth]")
    numbers, worths = pairs.T
    if (np.diff(numbers) < points.step * (1 - 1e-9)).any() or numbers[0] < points.low or numbers[-1] > points.high:
        allowed = f"pairs whose numbers rise by a step of {points.step:g} or more, from {points.low:g}"
        raise InputError("utility", checks.shown(given), f"{allowed} to {points.high:g}")
    if np.abs(worths).max() > FARTHEST or np.ptp(worths) < FINEST:
        hint = "else no proposal can be better"
        raise InputError("utility", checks.shown(given), f"different worths, at most {FARTHEST:g}", hint)
    return tuple((float(number), float(worth)) for number, worth in pairs)
