"""Outcomes that are counts: relapses, visits, falls."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, get_args

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.outcomes.base import MOST_CODES, Better, Outcome, Shown, Statistic
from takeup.outcomes.binned import Binned
from takeup.outcomes.grid import Bins, Grid, from_zero, grid, number_in

BINS = 20


@dataclass(frozen=True, slots=True)
class Count(Binned):
    """How many events there were, over an exposure that may differ: 3 relapses in 90 days.

    A decision adds one to the bin of its count, the events, and the exposure in steps. It is worth its rate, events
    by exposure, or the negative where fewer are better.

    Attributes:
        most: the greatest count; what is above is refused.
        exposure: what exposure is measured in, such as "days"; empty where everybody has the same, which is then 1.
        longest: the greatest exposure.
        step: how finely exposure is kept.
        unit: what is counted, for people.
        better: whether more or fewer are good.
    """

    kind: ClassVar[str] = "count"
    most: int = 100
    exposure: str = ""
    longest: float = 1.0
    step: float = 1.0
    unit: str = ""
    better: Better = "lower"

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", checks.whole("most", self.most, least=1, most=1_000_000))
        checks.label("exposure", self.exposure)
        checks.label("unit", self.unit)
        checks.one_of("better", self.better, get_args(Better))
        if not self.exposure and (self.longest, self.step) != (1.0, 1.0):
            hint = 'say what it is measured in, as in exposure="days"'
            raise InputError("exposure", "none", "a unit where longest or step is given", hint)
        points = from_zero(self.longest, self.step, "exposure", self.exposure)
        if self.exposure and points.size == 2:
            hint = "say how long the longest is; leave exposure out where everybody has the same"
            raise InputError("longest", f"{points.high:g}", f"more than one step of {points.step:g}", hint)
        object.__setattr__(self, "longest", points.high)
        object.__setattr__(self, "step", points.step)
        if self.size > MOST_CODES:
            allowed = f"at most {MOST_CODES:,} combinations of count and exposure"
            raise InputError("step", f"{self.size:,} combinations", allowed, "choose larger steps of exposure")

    @property
    def time(self) -> Grid:
        """The exposures that there can be."""
        return grid(0.0, self.longest, self.step, "exposure", self.exposure)

    @property
    def size(self) -> int:
        """Counts times exposures; without exposures, counts."""
        return (self.most + 1) * self._exposures

    @property
    def _exposures(self) -> int:
        return self.time.size - 1 if self.exposure else 1

    def _bins(self) -> Bins:
        return Grid(0, self.most, 1).bins(BINS)

    @property
    def sums(self) -> tuple[str, ...]:
        """Events, and exposure in steps."""
        return "events", "exposure"

    def code(self, given: object) -> int:
        """A count; or a table with `events` and `exposure`, or a text such as "3/90"."""
        if not self.exposure:
            return self._events(given)
        if isinstance(given, str) and given.count("/") == 1:
            given = dict(zip(("events", "exposure"), given.split("/"), strict=True))
        if not isinstance(given, Mapping) or set(given) != {"events", "exposure"}:
            allowed = f"events and exposure, as in {{'events': 3, 'exposure': {self.longest:g}}}"
            raise InputError("outcome", checks.shown(given), allowed)
        steps = self.time.index(given["exposure"])
        if steps == 0:
            allowed = f"more than {self.step / 2:g} {self.exposure}, at most {self.longest:g}"
            hint = "who was not watched has no outcome, and can be declared missing"
            raise InputError("exposure", checks.shown(given["exposure"]), allowed, hint)
        return self._events(given["events"]) * self._exposures + steps - 1

    def _events(self, given: object) -> int:
        what = "events" if self.exposure else "outcome"
        allowed = f"a whole number from 0 to {self.most} {self.unit}".rstrip()
        number = number_in(what, given, allowed)
        if not 0 <= number <= self.most or number != number.to_integral_value():
            raise InputError(what, checks.shown(given), allowed)
        return int(number)

    def plain(self, code: int) -> int | dict[str, float | bool]:
        """The count, with its exposure where they differ."""
        if not self.exposure:
            return code
        events, steps = divmod(code, self._exposures)
        return {"events": events, "exposure": self.time.point(steps + 1)}

    @property
    def sentence(self) -> str:
        """What is counted, over what, and the good end."""
        unit = f" of {self.unit}" if self.unit else ""
        over = f" over at most {self.longest:g} {self.exposure}" if self.exposure else ""
        good = "more" if self.better == "higher" else "fewer"
        return f"a count{unit}, at most {self.most}{over}; {good} is better"

    def flat(self, code: int) -> str | int:
        """The count, or as 3/90 with its exposure."""
        plain = self.plain(code)
        return f"{plain['events']}/{plain['exposure']}" if isinstance(plain, dict) else plain

    def text(self, code: int) -> str:
        """The count, with its exposure where they differ."""
        events, steps = divmod(code, self._exposures)
        over = f" in {self.time.point(steps + 1)} {self.exposure}" if self.exposure else ""
        return f"{events} {self.unit}".rstrip() + over

    def _worths(self) -> FloatArray:
        """The rate of each outcome, or its negative."""
        events, steps = np.divmod(np.arange(self.size), self._exposures)
        rate = events / (self.step * (steps + 1)) if self.exposure else events.astype(np.float64)
        return np.asarray(rate if self.better == "higher" else -rate)

    @property
    def shown(self) -> Shown:
        """The mean count; where exposures differ the rate, with decimals for a few events in the longest one."""
        sign = 1.0 if self.better == "higher" else -1.0
        if not self.exposure:
            return Shown("mean", self.unit, sign)
        per = f"{self.unit or 'events'}/{self.exposure}"
        return Shown("rate", per, sign, 2 + max(0, math.ceil(math.log10(self.longest))))

    @property
    def lowest(self) -> float:
        """The least that an outcome may be worth."""
        return 0.0 if self.better == "higher" else -self._greatest

    @property
    def highest(self) -> float:
        """The most that an outcome may be worth."""
        return self._greatest if self.better == "higher" else 0.0

    @property
    def _greatest(self) -> float:
        return self.most / (self.step if self.exposure else 1.0)

    @property
    def examples(self) -> IntArray:
        """The first count of each bin, over the longest exposure."""
        return np.asarray((self.binned.starts + 1) * self._exposures - 1)

    def parts_of(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """The bin of the count; events and steps of exposure."""
        events, steps = np.divmod(codes, self._exposures)
        return self.binned.of(events), np.stack([events, steps + 1], axis=-1)

    @property
    def valued(self) -> bool:
        """Whether all have the same exposure; else short ones would count as much as long ones."""
        return not self.exposure

    def earned(self, statistic: Statistic) -> FloatArray:
        """All events, where all have the same exposure."""
        if not self.valued:
            return Outcome.earned(self, statistic)
        return np.asarray(statistic[..., self.cells] * (1.0 if self.better == "higher" else -1.0))

    @property
    def gain_line(self) -> tuple[float, float] | None:
        """The count in parts of the greatest, up or down, where all have the same exposure."""
        if not self.valued:
            return None
        return (0.0, 1 / self.most) if self.better == "higher" else (1.0, -1 / self.most)

    def score(self, codes: IntArray) -> IntArray:
        """The count, where all have the same exposure."""
        return codes if self.valued else Outcome.score(self, codes)

    def gained(self, statistic: Statistic) -> FloatArray:
        """All events in parts of the greatest count, or what is missing to it, where all have the same exposure."""
        if not self.valued:
            return Outcome.gained(self, statistic)
        events = statistic[..., self.cells]
        return np.asarray(
            (events if self.better == "higher" else self.most * self.seen(statistic) - events) / self.most
        )
