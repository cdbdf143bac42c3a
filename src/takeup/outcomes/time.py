"""Outcomes that are times to an event, which may be censored."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.outcomes.base import Better, Shown
from takeup.outcomes.binned import Binned
from takeup.outcomes.grid import Bins, Grid, decimals, from_zero, grid

BINS = 40


@dataclass(frozen=True, slots=True)
class Time(Binned):
    """Days to discharge, or to death: a time, and whether the event came or the watch ended before it.

    A decision adds one to the bin of its time, among the events or among the censored, and its time in steps. It is
    worth the time that passes until the event within the longest watch (the restricted mean time), or the negative
    where sooner is better.

    Attributes:
        longest: the longest watch; whoever is watched so long without an event is censored then.
        unit: what time is measured in.
        step: how finely it is kept.
        censored: whether times may be censored before; if not, only at the longest watch.
        better: whether late ("higher") or soon ("lower") is good.
    """

    kind: ClassVar[str] = "time"
    longest: float
    unit: str = ""
    step: float = 1.0
    censored: bool = True
    better: Better = "higher"

    def __post_init__(self) -> None:
        if not isinstance(self.censored, bool):
            raise InputError("censored", repr(self.censored), "true or false")
        checks.label("unit", self.unit)
        checks.one_of("better", self.better, get_args(Better))
        points = from_zero(self.longest, self.step)
        object.__setattr__(self, "longest", points.high)
        object.__setattr__(self, "step", points.step)

    @property
    def grid(self) -> Grid:
        """The times that there can be."""
        return grid(0.0, self.longest, self.step, unit=self.unit)

    @property
    def size(self) -> int:
        """Every time twice: with the event, and censored."""
        return 2 * self.grid.size

    @property
    def cells(self) -> int:
        """Every bin twice."""
        return 2 * self.binned.size

    def _bins(self) -> Bins:
        return self.grid.bins(BINS)

    @property
    def sums(self) -> tuple[str, ...]:
        """Events, and time in steps."""
        return "events", "time"

    def code(self, given: object) -> int:
        """A time; a text such as "90+" where it is censored; or a table with `time` and `censored`."""
        censored: object = False
        if isinstance(given, Mapping):
            told = {"censored": False, **given}
            if set(told) != {"time", "censored"}:
                raise InputError("outcome", repr(given), "time and censored, as in {'time': 90, 'censored': true}")
            given, censored = told["time"], told["censored"]
        elif isinstance(given, str) and given.rstrip().endswith("+"):
            given, censored = given.rstrip()[:-1], True
        elif isinstance(given, list | tuple):
            raise InputError("outcome", checks.shown(given), """a time, "90+" or {'time': 90, 'censored': true}""")
        if not isinstance(censored, bool | np.bool_):
            raise InputError("censored", repr(censored), "true or false")
        steps = self.grid.index(given, above=f'whoever is watched for longer is "{self.longest:g}+"')
        if censored and not self.censored and steps < self.grid.size - 1:
            allowed = f"a time with its event, or one censored at {self.longest:g} {self.unit}".rstrip()
            raise InputError("outcome", f"{given}+", allowed, "the outcome says that none is censored before")
        return 2 * steps + int(censored)

    def plain(self, code: int) -> dict[str, float | bool]:
        """The time, and whether it is censored."""
        return {"time": self.grid.point(code // 2), "censored": bool(code % 2)}

    @property
    def sentence(self) -> str:
        """The longest watch, and the good end."""
        good = "late is better" if self.better == "higher" else "soon is better"
        return f"the time to an event, watched for {self.longest:g} {self.unit}".rstrip() + f"; {good}"

    def flat(self, code: int) -> str:
        """The time, with a plus where it is censored."""
        return f"{self.grid.point(code // 2)}{'+' if code % 2 else ''}"

    def text(self, code: int) -> str:
        """The time, with a plus where it is censored."""
        return f"{self.flat(code)} {self.unit}".rstrip()

    def _worths(self) -> FloatArray:
        """The time that was seen to pass, or its negative."""
        seen = np.repeat(self.grid.points, 2)
        return seen if self.better == "higher" else -seen

    @property
    def shown(self) -> Shown:
        """The mean time within the longest watch."""
        sign = 1.0 if self.better == "higher" else -1.0
        return Shown("mean time within the watch", self.unit, sign, decimals(self.step) + 1)

    @property
    def examples(self) -> IntArray:
        """The first time of each bin, with the event and censored."""
        return np.concatenate([2 * self.binned.starts, 2 * self.binned.starts + 1])

    def parts_of(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The bin among events or censored; whether it is an event, and the time in steps."""
        steps, censored = np.divmod(codes, 2)
        cell = self.binned.of(steps) + censored * self.binned.size
        return cell, np.stack([1 - censored, steps], axis=-1)

    @property
    def lowest(self) -> float:
        """The least that a time may be worth."""
        return 0.0 if self.better == "higher" else -self.longest

    @property
    def highest(self) -> float:
        """The most that a time may be worth."""
        return self.longest if self.better == "higher" else 0.0

    @property
    def valued(self) -> bool:
        """None: a censored time says what was seen, not what it is worth."""
        return False
