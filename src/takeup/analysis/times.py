"""Times to an event, compared between two proposals after adaptive allocation."""

from typing import Literal, TypeAlias

import numpy as np

from takeup import checks
from takeup.analysis.estimate import Estimate
from takeup.analysis.figure import Figure
from takeup.analysis.overlap import Overlap
from takeup.analysis.showing import Pair, always, compared
from takeup.analysis.survival import Watched, hazard_ratio, restricted_mean
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.outcomes import Time
from takeup.space import UNSEEN, Label

TimeMeasure: TypeAlias = Literal["hazard ratio", "difference"]
"""How times are compared."""

NO_ERROR = "all of one proposal had the same time, or there is one alone, so that its error cannot be told"
CENSORED = "Whoever was censored had the same chances as those who were watched on, under each proposal."
PROPORTIONAL = "One proposal's hazard is the same multiple of the other's at all times."


def time_effect(
    log: Log,
    one: Label,
    other: Label,
    *,
    measure: TimeMeasure = "difference",
    level: float = 0.95,
    until: float | None = None,
) -> Estimate:
    """How the times under two proposals compare, by intention to treat.

    Args:
        log: a single trial whose outcome is a time.
        one: the proposal that is compared.
        other: with which one.
        measure: the difference of the mean times that pass before the event within `until`, in the time's own unit:
            above zero where the event comes later; or the hazard ratio, below one where it does.
        level: how often such intervals hold the truth.
        until: up to when; what comes after does not count for either measure. Where left out, of hazards the longest
            watch, and of mean times as long as people of every proposal were watched, which is then said.
    """
    checks.one_of("measure", measure, ("hazard ratio", "difference"))
    which = Pair.of(log, one, other, level)
    log = which.log
    common = watched_by_all(log) if until is None and measure == "difference" else longest(log)
    cut = common < longest(log)
    until = until_of(log, common if until is None else until)
    early = cut or censored_before(log, until)
    if measure == "hazard ratio":
        ratio = log_hazard_ratio(log, which.one, which.other, until)
        return compared(
            which,
            measure,
            ratio.value,
            ratio.interval(level),
            assumes=(PROPORTIONAL, *((CENSORED,) if early else ())),
            survives_drift=False,
            nothing="no events under one of the proposals: a ratio needs some under both",
        )
    ours, theirs = (restricted_mean_under(log, policy, until) for policy in which.policies)
    difference = ours.minus(theirs)
    return compared(
        which,
        measure,
        difference.value,
        difference.interval(level) if ours.error > 0 and theirs.error > 0 else (np.array(np.nan), np.array(np.nan)),
        assumes=(*((shortened(log, until),) if cut else ()), *((CENSORED,) if early else ())),
        survives_drift=not early,
        nothing=_too_short(which, (ours, theirs), until) or NO_ERROR,
    )


def restricted_mean_under(log: Log, probability: FloatArray, until: float) -> Figure:
    """The mean time before the event within `until`, had all been proposed by these probabilities, (.., n, Kz).

    NaN where nobody who was proposed to so was watched so long.
    """
    overlap = Overlap.of(log, probability, log.outcome != UNSEEN)
    value, influence = restricted_mean(Watched.of(*watched_times(log, until)), overlap.weight, until)
    return Figure.of(value, influence, overlap.weight, log.proposal, len(log.space.proposals))


def log_hazard_ratio(log: Log, one: int, other: int, until: float) -> Figure:
    """The logarithm of the hazard ratio of two proposals, by the events within `until`."""
    known = log.outcome != UNSEEN
    ours, theirs = (Overlap.of(log, always(log, z), known).weight for z in (one, other))
    value, influence = hazard_ratio(Watched.of(*watched_times(log, until)), ours, theirs)
    return Figure.of(value, influence, ours + theirs, log.proposal, len(log.space.proposals))


def watched_times(log: Log, until: float) -> tuple[FloatArray, FloatArray]:
    """How long each decision was watched, up to `until`, and whether the event came, (.., n); zero where unknown."""
    outcome = _time(log)
    seen = log.outcome != UNSEEN
    steps, censored = np.divmod(np.where(seen, log.outcome, 1), 2)
    time = outcome.step * steps
    return np.minimum(time, until), np.where((censored == 0) & (time <= until), 1.0, 0.0)


def longest(log: Log) -> float:
    """The longest watch of a log whose outcome is a time."""
    return _time(log).longest


def watched_by_all(log: Log) -> float:
    """How long people of every proposal were watched, at most: up to then all have a mean time before the event.

    Where the longest watch of a proposal ended in the event, nobody is left, and its mean is known however long.
    """
    most = longest(log)
    time, event = watched_times(log, most)
    found = most
    for z in range(len(log.space.proposals)):
        own = (log.proposal == z) & (log.outcome != UNSEEN)
        last = float(time[own].max(initial=0.0))
        if own.any() and not event[own & (time == last)].all():
            found = min(found, last)
    return found or most


def shortened(log: Log, until: float) -> str:
    """The sentence that says up to when mean times are compared, where that is less than the longest watch."""
    unit = f" {_time(log).unit}" if _time(log).unit else ""
    told = f"Mean times are those before the event within {until:g}{unit}"
    return f"{told}, as long as people of every proposal were watched."


def _time(log: Log) -> Time:
    if not isinstance(log.space.outcome, Time):
        raise UnsuitableError(f"the outcome is a {log.space.outcome.kind}, and this needs a time")
    return log.space.outcome


def until_of(log: Log, until: float | None) -> float:
    """Up to when: the longest watch where nobody says."""
    most = longest(log)
    if until is None:
        return most
    given = checks.real("until", until)
    if given.ndim or not 0 < given <= most:
        raise InputError("until", checks.shown(until), f"a time above 0, at most the longest watch, {most:g}")
    return float(given)


def censored_before(log: Log, until: float) -> bool:
    """Whether anybody was censored before that."""
    time, event = watched_times(log, until)
    return bool(((log.outcome != UNSEEN) & (event == 0) & (time < until)).any())


def _too_short(which: Pair, figures: tuple[Figure, Figure], until: float) -> str:
    """Why there is no mean within `until`: up to when people were watched, in words; empty where there is one."""
    time, _ = watched_times(which.log, until)
    last = {
        name: float(time[(which.log.proposal == z) & which.known].max(initial=0.0))
        for name, z, figure in zip(which.names(), (which.one, which.other), figures, strict=True)
        if np.isnan(figure.value)
    }
    if not last:
        return ""
    name = min(last, key=lambda each: last[each])
    return f"nobody who was offered {name} was watched up to {until:g}; choose until={last[name]:g} or less"
