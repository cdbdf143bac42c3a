"""Rates: events by exposure, under each proposal and compared, after adaptive allocation.

The rate of a proposal is all events by all exposure, had everybody been offered it. Each decision counts 1 / p of what
was proposed, so that this holds after any allocation; after an even one it is the events by the exposure that were
seen. The mean of each person's own rate is another thing, in which a day counts as much as a year.
"""

from typing import Literal, TypeAlias

import numpy as np

from takeup import checks
from takeup.analysis import targets
from takeup.analysis.estimate import Estimate
from takeup.analysis.figure import Figure, difference_of_positives
from takeup.analysis.overlap import Overlap
from takeup.analysis.showing import Pair, compared
from takeup.checks import FloatArray
from takeup.log import Log
from takeup.outcomes import Time
from takeup.space import Label

RateMeasure: TypeAlias = Literal["rate ratio", "difference"]
"""How two rates are compared."""

CONSTANT = "The hazard of each proposal is constant over time; else the ratio depends on how long people are watched."


def rate_effect(
    log: Log, one: Label, other: Label, *, measure: RateMeasure = "rate ratio", level: float = 0.95
) -> Estimate:
    """How the rates of two proposals compare: events by exposure, by intention to treat.

    Args:
        log: a single trial whose outcome is a count or a time; a time has one event at most, and its exposure is how
            long it was watched.
        one: the proposal that is compared.
        other: with which one.
        measure: the ratio, whose interval is made on the log scale; or the difference, in events a unit of exposure.
        level: how often such intervals hold the truth.
    """
    checks.one_of("measure", measure, ("rate ratio", "difference"))
    which = Pair.of(log, one, other, level)
    log = which.log
    ours, theirs = (rate_under(log, each) for each in which.policies)
    if measure == "rate ratio":
        ratio = ours.log().minus(theirs.log())
        value, ends = ratio.value, ratio.interval(level)
    else:
        value, ends = ours.value - theirs.value, difference_of_positives(ours, theirs, level)
    steady = not isinstance(log.space.outcome, Time)
    return compared(
        which,
        measure,
        value,
        ends,
        assumes=() if steady else (CONSTANT,),
        survives_drift=steady,
        nothing="one of the proposals has no events, so that it cannot be told how sure its rate is",
    )


def rate_under(log: Log, probability: FloatArray) -> Figure:
    """Events a unit of exposure, had all been proposed by these probabilities, (.., n, Kz)."""
    events, exposure = (of(log.space).values(log) for of in (targets.events, targets.exposure))
    known = ~np.isnan(events)
    overlap = Overlap.of(log, probability, known)
    events, exposure = (np.where(known, each, 0.0) for each in (events, exposure))
    watched = overlap.weight * exposure
    total = watched.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(total > 0, (overlap.weight * events).sum(axis=-1) / total, np.nan)
        moved = (overlap.weight * events - rate[..., np.newaxis] * watched) / total[..., np.newaxis]
    return Figure.of(rate, moved, watched, log.proposal, len(log.space.proposals))
