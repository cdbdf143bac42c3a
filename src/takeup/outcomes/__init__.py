"""What may come of a decision: a level, a number, a count or a time."""

from takeup.outcomes.base import UNSEEN, Better, Outcome, Plain, Shown
from takeup.outcomes.count import Count
from takeup.outcomes.described import described, outcome_of
from takeup.outcomes.levels import Levels
from takeup.outcomes.number import Number
from takeup.outcomes.time import Time

__all__ = [
    "UNSEEN",
    "Better",
    "Count",
    "Levels",
    "Number",
    "Outcome",
    "Plain",
    "Shown",
    "Time",
    "described",
    "outcome_of",
]
