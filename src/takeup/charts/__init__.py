"""Charts: plain records in, Altair charts out, drawn offline as SVG and PNG.

Needs the extra `report`. Functions take a polars frame or a sequence of records; what a record must have is said with
each. One policy has one colour and one shape everywhere, told apart by those who do not see red and green as well.
"""

from takeup.charts.audits import regret_over_audits
from takeup.charts.draw import inline, png, svg, unchecked
from takeup.charts.excess import excess
from takeup.charts.extra import available
from takeup.charts.forest import forest
from takeup.charts.learnt import difference_by_level, difference_over_measure
from takeup.charts.plans import allocation_ranges, ends_by_look, over_promise, over_take_up, size_distribution
from takeup.charts.regret import regret_over_noncompliance
from takeup.charts.related import agreement
from takeup.charts.shares import regret_over_people, shares
from takeup.charts.table import distances, distributions
from takeup.charts.theory import bounds_and_slopes, probabilities
from takeup.charts.tipping import over_difference
from takeup.charts.trial import (
    allocation_over_time,
    compliance_matrix,
    intervals,
    probability_best_over_time,
    survival_curves,
)

__all__ = [
    "agreement",
    "allocation_over_time",
    "allocation_ranges",
    "available",
    "bounds_and_slopes",
    "compliance_matrix",
    "difference_by_level",
    "difference_over_measure",
    "distances",
    "distributions",
    "ends_by_look",
    "excess",
    "forest",
    "inline",
    "intervals",
    "over_difference",
    "over_promise",
    "over_take_up",
    "png",
    "probabilities",
    "probability_best_over_time",
    "regret_over_audits",
    "regret_over_noncompliance",
    "regret_over_people",
    "shares",
    "size_distribution",
    "survival_curves",
    "svg",
    "unchecked",
]
