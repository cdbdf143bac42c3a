"""Planning a trial in which people do not all do what they are told: error rates, power and size."""

from takeup.design.boundaries import Boundary, obrien_fleming, pocock, spending
from takeup.design.bounded import Bounded, Cells, bounded
from takeup.design.exact import Exact, exact
from takeup.design.operate import Calibration, calibrate, null_rates, operate
from takeup.design.plan import Plan
from takeup.design.report import report
from takeup.design.results import Figure, Outcomes
from takeup.design.scenarios import Scenario
from takeup.design.sizes import Goal, Size, events, two_counts, two_means, two_rates
from takeup.design.take_up import by_take_up

__all__ = [
    "Boundary",
    "Bounded",
    "Calibration",
    "Cells",
    "Exact",
    "Figure",
    "Goal",
    "Outcomes",
    "Plan",
    "Scenario",
    "Size",
    "bounded",
    "by_take_up",
    "calibrate",
    "events",
    "exact",
    "null_rates",
    "obrien_fleming",
    "operate",
    "pocock",
    "report",
    "spending",
    "two_counts",
    "two_means",
    "two_rates",
]
