"""How many units a trial of two arms and fixed size needs where not all take what they are offered.

By intention to treat the arms are compared as they were offered. Where a share c of those who are offered the treatment
take it, and the others have what they would have had without it, the difference between the arms is c times that of the
treatment, and the size grows by about 1 / c^2.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import nct
from scipy.stats import t as student

from takeup import checks
from takeup.errors import InputError

FEWEST = 3.0
"""A test of two means needs three units."""
MOST = 1e12
"""More units than any trial has."""


def between(name: str, value: float) -> float:
    """A number between 0 and 1, neither of which it is."""
    found = float(checks.real(name, value))
    if not 0 < found < 1:
        raise InputError(name, value, "a number between 0 and 1")
    return found


def positive(name: str, value: float) -> float:
    """A number above 0, and no larger than any that a trial has to do with."""
    found = float(checks.real(name, value))
    if not 0 < found < MOST:
        raise InputError(name, value, f"a number above 0 and below {MOST:g}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Goal:
    """What is asked of a goal.

    Attributes:
        alpha: the error of the first kind, of both sides together where there are two.
        power: the probability of finding what is there.
        sided: 1 or 2.
        share: the share of the units that is offered the treatment.
    """

    alpha: float = 0.025
    power: float = 0.8
    sided: Literal[1, 2] = 1
    share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("alpha", "power", "share"):
            between(name, getattr(self, name))
        if self.sided not in (1, 2):
            raise InputError("sided", repr(self.sided), "1 or 2")
        if self.power <= self.alpha:
            raise InputError("power", self.power, f"more than the error, {self.alpha}")

    @property
    def critical(self) -> float:
        """The standard deviations above which a normal statistic rejects."""
        return float(-ndtri(self.alpha / self.sided))

    @property
    def allocation(self) -> tuple[float, float]:
        """The shares of the units that are offered the control and the treatment."""
        return 1 - self.share, self.share

    @property
    def margin(self) -> float:
        """By how many more its mean must lie above, for the power."""
        return float(ndtri(self.power))


@dataclass(frozen=True, slots=True)
class Size:
    """How many units all arms need together.

    Attributes:
        units: as the formula has it.
        allocation: the share of them that each arm has.
    """

    units: float
    allocation: tuple[float, ...] = (0.5, 0.5)

    @property
    def whole(self) -> int:
        """In whole units, each arm rounded up."""
        return sum(math.ceil(self.units * share) for share in self.allocation)

    @property
    def total(self) -> int:
        """In whole units of both together, as events are counted."""
        return math.ceil(self.units)


def two_rates(control: float, treated: float, *, take_up: float = 1.0, goal: Goal = Goal()) -> Size:
    """For two rates, by the normal test whose null variance is pooled: Fleiss, Levin & Paik (2003), section 4.2.

    Args:
        control: the rate without the treatment, of takers and refusers alike.
        treated: the rate of those who take it.
        take_up: the share of those offered it who take it.
        goal: error, power, sides and shares.
    """
    low, high = between("control", control), between("treated", treated)
    offered = low + _share(take_up) * (high - low)
    if offered == low:
        raise InputError("treated", treated, f"another rate than that of the control, {control}")
    share = goal.share
    mean = share * offered + (1 - share) * low
    null = math.sqrt(mean * (1 - mean) / (share * (1 - share)))
    true = math.sqrt(offered * (1 - offered) / share + low * (1 - low) / (1 - share))
    return Size(((goal.critical * null + goal.margin * true) / (offered - low)) ** 2, goal.allocation)


def two_means(difference: float, sd: float = 1.0, *, take_up: float = 1.0, goal: Goal = Goal()) -> Size:
    """For two means with one standard deviation, by Student's t test."""
    effect = abs(_share(take_up) * _nonzero("difference", difference)) / positive("sd", sd)
    share = goal.share

    def lacking(units: float) -> float:
        freedom = units - 2
        centre = effect * math.sqrt(units * share * (1 - share))
        critical = student.isf(goal.alpha / goal.sided, freedom)
        found = nct.sf(critical, freedom, centre)
        return float(found) - goal.power

    # Student's t needs a little more than the normal distribution
    least = ((goal.critical + goal.margin) / effect) ** 2 / (share * (1 - share))
    fewest = max(least, FEWEST)
    return Size(
        fewest if lacking(fewest) >= 0 else float(brentq(lacking, fewest, 2 * fewest + 20, xtol=1e-9)), goal.allocation
    )


def two_counts(
    control: float, treated: float, *, exposure: float = 1.0, take_up: float = 1.0, goal: Goal = Goal()
) -> Size:
    """For two rates of events over an exposure, by the logarithm of their ratio.

    Args:
        control: events in a unit of exposure without the treatment.
        treated: the same of those who take it.
        exposure: of each unit.
        take_up: the share of those offered it who take it.
        goal: error, power, sides and shares.
    """
    low, high = positive("control", control), positive("treated", treated)
    offered = low + _share(take_up) * (high - low)
    if offered == low:
        raise InputError("treated", treated, f"another rate than that of the control, {control}")
    events = 1 / (goal.share * offered) + 1 / ((1 - goal.share) * low)
    variance = events / positive("exposure", exposure)
    return Size(((goal.critical + goal.margin) / math.log(offered / low)) ** 2 * variance, goal.allocation)


def events(ratio: float, *, take_up: float = 1.0, goal: Goal = Goal()) -> Size:
    """How many events two survival curves need whose hazards have this ratio, by the log-rank test: Schoenfeld (1981).

    Where some refuse, the hazards of the arms are in the ratio 1 - c (1 - ratio), as long as events are rare.
    """
    offered = 1 - _share(take_up) * (1 - positive("ratio", ratio))
    if offered == 1:
        raise InputError("ratio", ratio, "another number than 1")
    found = ((goal.critical + goal.margin) / math.log(offered)) ** 2 / (goal.share * (1 - goal.share))
    return Size(found, goal.allocation)


def _share(take_up: float) -> float:
    found = float(checks.real("take_up", take_up))
    if not 0 < found <= 1:
        raise InputError("take_up", take_up, "a share above 0 and up to 1")
    return found


def _nonzero(name: str, value: float) -> float:
    found = float(checks.real(name, value))
    if found == 0 or not np.isfinite(found):
        raise InputError(name, value, "a number other than 0")
    return found
