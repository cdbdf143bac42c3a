"""Planning a trial in which people do not all do what they are told: sizes, boundaries, what a promise is worth."""

from takeup.design.boundaries import Boundary, obrien_fleming, pocock, spending
from takeup.design.bounded import Bounded, Cells, bounded
from takeup.design.sizes import Goal, Size, events, two_counts, two_means, two_rates

__all__ = [
    "Boundary",
    "Bounded",
    "Cells",
    "Goal",
    "Size",
    "bounded",
    "events",
    "obrien_fleming",
    "pocock",
    "spending",
    "two_counts",
    "two_means",
    "two_rates",
]
