"""What a policy has learnt about whom: the difference that a proposal makes, as it believes, over each covariate."""

from dataclasses import dataclass
from typing import Literal

from takeup.outcomes import Shown


@dataclass(frozen=True, slots=True)
class BelievedDifference:
    """What a proposal is worth more than the first one to such a unit, in the outcome's own unit, as is believed.

    Attributes:
        proposal: which.
        mean: the posterior mean.
        low: the lower end of the 95 % credible interval.
        high: its upper end.
        inner_low: the lower end of the 80 % credible interval.
        inner_high: its upper end.
        decisions: how many near there had the first proposal, and this one.
        sparse: whether either is less than `few`.
    """

    proposal: str
    mean: float
    low: float
    high: float
    inner_low: float
    inner_high: float
    decisions: tuple[int, int]
    sparse: bool


@dataclass(frozen=True, slots=True)
class LearntPoint:
    """One value of a covariate.

    Attributes:
        value: a number of a measure, a level of a category; None where it is missing.
        decisions: how many there were with this value, or with one that is nearer to it than to its neighbours.
        differences: one for each proposal but the first.
    """

    value: str | int | float | None
    decisions: int
    differences: tuple[BelievedDifference, ...]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Values in a row near which few were decided about.

    Attributes:
        proposal: which is compared with the first.
        first: the lowest value, or the one level; None where it is missing.
        last: the highest value, or the same again.
        decisions: how many from the one to the other had the first proposal, and this one.
        from_low: whether there is no value below that is not sparse.
        to_high: whether there is none above.
    """

    proposal: str
    first: str | int | float | None
    last: str | int | float | None
    decisions: tuple[int, int]
    from_low: bool = False
    to_high: bool = False


@dataclass(frozen=True, slots=True)
class LearntCovariate:
    """What is believed over one covariate, the others being those of the typical unit.

    Attributes:
        name: of the covariate.
        kind: which kind it is.
        unit: what a measure is measured in; may be empty.
        points: its values, from the low end on or level by level; a missing one is the last.
        sparse: where few were decided about.
        interacts: the covariates without which it cannot be told.
    """

    name: str
    kind: Literal["measure", "category"]
    unit: str
    points: tuple[LearntPoint, ...]
    sparse: tuple[Stretch, ...]
    interacts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LearntContext:
    """What is believed in one context.

    Attributes:
        context: its label.
        decisions: how many were made in it.
        typical: the value of each covariate of its typical unit: the mean of a measure, the commonest level.
        covariates: one entry each.
    """

    context: str
    decisions: int
    typical: dict[str, str | int | float | None]
    covariates: tuple[LearntCovariate, ...]


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a policy has learnt about whom; unblinds.

    Attributes:
        policy: whose belief it is: no effect that was shown.
        reference: the first proposal, with which the others are compared.
        shown: how people are shown values; differences are in its unit, and below zero is better where its sign is -1.
        few: below so many decisions under either proposal, what is believed is what the model assumes.
        counted: in how many decisions it was counted who was near.
        contexts: those in which decisions were made, the ones with the most first.
    """

    policy: str
    reference: str
    shown: Shown
    few: int
    counted: int
    contexts: tuple[LearntContext, ...]
