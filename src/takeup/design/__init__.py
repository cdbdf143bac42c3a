"""Planning a trial in which people do not all do what they are told: error rates, power and size."""

from takeup.design.boundaries import Boundary, obrien_fleming, pocock, spending
from takeup.design.bounded import Bounded, bounded
from takeup.design.cells import Cells
from takeup.design.classical import classical
from takeup.design.comparing import Compared, compare
from takeup.design.exact import Exact, exact
from takeup.design.operate import Calibration, calibrate, null_values, operate
from takeup.design.plan import Plan
from takeup.design.promise_trials import promise_trials
from takeup.design.promises import broken, promise_curve, promised
from takeup.design.report import report
from takeup.design.results import Figure, Outcomes
from takeup.design.scenarios import Scenario
from takeup.design.sizes import Goal, Size, events, two_counts, two_means, two_rates
from takeup.design.sizing import Sized, size
from takeup.design.take_up import by_take_up
from takeup.design.thresholds import Leading, leading

__all__ = [
    "Boundary",
    "Bounded",
    "Calibration",
    "Cells",
    "Compared",
    "Exact",
    "Figure",
    "Goal",
    "Leading",
    "Outcomes",
    "Plan",
    "Scenario",
    "Size",
    "Sized",
    "bounded",
    "broken",
    "by_take_up",
    "calibrate",
    "classical",
    "compare",
    "events",
    "exact",
    "leading",
    "null_values",
    "obrien_fleming",
    "operate",
    "pocock",
    "promise_curve",
    "promise_trials",
    "promised",
    "report",
    "size",
    "spending",
    "two_counts",
    "two_means",
    "two_rates",
]
