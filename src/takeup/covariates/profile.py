"""What is met before a decision."""

from dataclasses import dataclass

from takeup.checks import IntArray
from takeup.covariates.features import Features


@dataclass(frozen=True, slots=True)
class Profile:
    """A unit as it is met: its context and its features; or many, one in each replication.

    Policies that use covariates are given one where others are given the context alone.

    Attributes:
        context: x, an index, or an array of them, (..).
        features: v, whole thousandths from 0 to 1,000, (.., d).
    """

    context: "int | IntArray"
    features: Features
