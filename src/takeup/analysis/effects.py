"""Intention to treat, each proposal's value and compliance, with intervals that survive adaptive allocation.

An interval is shown where each proposal that it is about was offered to at least five people, effectively; see `LEAST`
in `takeup.analysis.mean_intervals`.
"""

from typing import NamedTuple

import numpy as np

from takeup import checks
from takeup.analysis import targets
from takeup.analysis.estimate import Estimate, Measure, honest
from takeup.analysis.lacking import Lacking, lacking
from takeup.analysis.mean_intervals import LEAST, Intervals, Method, intervals
from takeup.analysis.scores import HowMissing, Scores, scores
from takeup.analysis.targets import Target
from takeup.analysis.weights import Weights
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label

COMPLETE = (
    "Whether something was never reported has nothing to do with what was offered, when, or what would have come of it."
)
AT_RANDOM = "Within a context and a proposal, those of whom it was never reported are like those of whom it was."
SEPARATE = "What becomes of one person does not depend on what others were offered."
LOGGED = "The logged probabilities are those that proposals were drawn with."
AROUND = (
    "It is about those who came, with the covariates that they had; how much outcomes vary around the model of them is"
    " much the same for everybody, as far as shares do not say it."
)
CAME = "It is about those who came, in the mixture of contexts that they came in."
LIKELY = (
    "Contexts count by how likely what is compared was there, too: where they differ, it is not about the mixture of"
    " them that came."
)
CONSTANT: dict[Measure, str] = {
    "mean": "The mean of a context is the same throughout the trial.",
    "difference": "The difference in a context is the same throughout the trial; both may rise or fall together.",
    "ratio": "The ratio in a context is the same throughout the trial; both may rise or fall together.",
    "odds ratio": "The odds ratio in a context is the same throughout the trial.",
}
ADJUSTED = "intention to treat, adjusted for covariates"
ALIKE = "all outcomes are the same, so that it cannot be told how much they vary"
PLAIN = "the plain method is too short after adaptive allocation: ask for method='score'"


def effect(
    log: Log,
    one: Label,
    other: Label,
    *,
    measure: Measure = "difference",
    weights: Weights = "uniform",
    level: float = 0.95,
    context: Label | None = None,
    of: Target | Scores | None = None,
    method: Method = "score",
    missing: HowMissing = "complete",
    adjusted: bool = False,
) -> Estimate:
    """By intention to treat: how much better it is to offer one proposal than another, whoever takes it.

    Args:
        log: a single trial.
        one: the proposal in question.
        other: what it is compared with.
        measure: difference, ratio or odds ratio of the two means.
        weights: whom it is about: everybody the same ("uniform"), or whoever came while both were likely more
            ("stabilised", "batch"), which is shorter and assumes an effect that does not change.
        level: how often such intervals hold the truth.
        context: in one context alone; over everybody who came where left out.
        of: what is compared; the outcome where left out. Scores that are at hand need not be made again.
        method: "score", or the plain one, which is shown to be compared with.
        missing: decisions whose outcome is missing are left out ("complete"), or those of the same context and proposal
            stand for them ("weighted").
        adjusted: whether covariates are adjusted for: a model of earlier decisions guesses each outcome, and the
            interval is the shorter the better it guesses. The estimate is of the same effect, and does not need the
            model to be right. Every decision counts the same then.
    """
    pair = log.space.index("proposal", other), log.space.index("proposal", one)
    if pair[0] == pair[1]:
        raise InputError("other", repr(other), f"another proposal than {log.space.proposals[pair[0]]}")
    checks.one_of("measure", measure, ("difference", "ratio", "odds ratio"))
    sign = " - " if measure == "difference" else " / "
    names = sign.join(log.space.proposals[z] for z in reversed(pair))
    reading = ADJUSTED if adjusted else "intention to treat"
    what = _Asked(reading, names, pair, measure, weights, level, context, method)
    return _estimate(log, of, what, missing, adjusted=adjusted)


def value(
    log: Log,
    proposal: Label,
    *,
    weights: Weights = "uniform",
    level: float = 0.95,
    context: Label | None = None,
    of: Target | Scores | None = None,
    method: Method = "score",
    missing: HowMissing = "complete",
    adjusted: bool = False,
) -> Estimate:
    """What comes of offering one proposal to everybody: the mean of the outcome, or of another target."""
    z = log.space.index("proposal", proposal)
    what = _Asked("value", log.space.proposals[z], (z,), "mean", weights, level, context, method)
    return _estimate(log, of, what, missing, adjusted=adjusted)


def compliance(
    log: Log,
    proposal: Label,
    action: Label | None = None,
    *,
    weights: Weights = "uniform",
    level: float = 0.95,
    context: Label | None = None,
    method: Method = "score",
    missing: HowMissing = "complete",
) -> Estimate:
    """How many take an action where a proposal is made: the one that complying with it means, where left out."""
    z = log.space.index("proposal", proposal)
    a = log.space.complying("compliance")[z] if action is None else log.space.index("implemented", action)
    name = f"{log.space.implemented[a]} where {log.space.proposals[z]} is proposed"
    what = _Asked("compliance", name, (z,), "mean", weights, level, context, method)
    return _estimate(log, targets.took(log.space, a), what, missing)


def left_out(log: Log) -> str:
    """What has to be true where those of whom something was never reported are left out.

    Leaving out decisions of one proposal alone changes how often it is met. Plain means, of fixed randomisation, do not
    mind; scores are then weighted by probabilities that are no longer right.
    """
    return AT_RANDOM if log.fixed else COMPLETE


class _Asked(NamedTuple):
    """What is asked of a log."""

    reading: str
    contrast: str
    proposals: tuple[int, ...]
    measure: Measure
    weights: Weights
    level: float
    context: Label | None
    method: Method


def _estimate(
    log: Log, what: Target | Scores | None, asked: _Asked, missing: HowMissing, *, adjusted: bool = False
) -> Estimate:
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial; `intervals` takes many")
    proposals, weights, method = asked.proposals, asked.weights, asked.method
    checks.one_of("weights", weights, ("uniform", "stabilised", "batch"))
    checks.one_of("method", method, ("score", "normal"))
    checks.one_of("missing", missing, ("complete", "weighted"))
    checks.share("level", asked.level)
    if weights == "batch" and missing == "weighted":
        raise InputError("missing", repr(missing), "'complete' with weights='batch'", "or ask for weights='stabilised'")
    if adjusted and weights != "uniform":
        why = "probabilities may follow covariates, and other weights would then be about other people"
        raise InputError("weights", repr(weights), "'uniform' where covariates are adjusted for", why)
    x = None if asked.context is None else log.space.index("context", asked.context)
    of = what
    if not isinstance(of, Scores):
        of = scores(log, of or targets.outcome(log.space), missing, adjusted=adjusted)
    _comparable(of, asked.measure)
    found = intervals(of, proposals, asked.measure, weights=weights, level=asked.level, context=x, method=method)
    here = np.ones(len(log), dtype=np.bool_) if x is None else log.context == x
    lacks = lacking(of, proposals, here)
    reason = _withheld(log, found, asked, lacks)
    if not reason:
        here = here & ~lacks.rows
    n = int((here & of.known).sum())
    lost = int(here.sum()) - n
    assumed = [SEPARATE, LOGGED]
    if weights != "uniform":
        assumed.insert(0, CONSTANT[asked.measure])
    if lost:
        assumed.insert(0, AT_RANDOM if of.plain or of.missing == "weighted" else COMPLETE)
    if of.fitted is not None:
        assumed.append(AROUND)
    elif x is None and len(log.space.contexts) > 1:
        assumed.append(LIKELY if weights == "stabilised" and not of.plain else CAME)
    if lacks and not reason:
        assumed.append(f"It is about the other contexts: {lacks}.")
    ends = (np.nan, np.nan) if reason and method == "score" else (float(found.low), float(found.high))
    return honest(
        log,
        Estimate(
            asked.reading,
            asked.contrast if x is None else f"{asked.contrast} ({log.space.contexts[x]})",
            asked.measure,
            float(found.value),
            *ends,
            asked.level,
            assumes=tuple(assumed),
            survives_adaptation=not reason,
            survives_drift=not reason and not lost and weights == "uniform",
            n=n,
            missing=lost,
            withheld=reason,
            left_out="" if reason else lacks.left_out,
        ),
    )


def _comparable(of: Scores, measure: Measure) -> None:
    """Whether a target has such a measure at all."""
    if measure == "ratio" and of.target.low < 0:
        raise InputError("measure", repr(measure), f"difference, as {of.target.name} may be negative")
    if measure == "odds ratio":
        value = of.value[of.known]
        if (of.target.low, of.target.high) != (0.0, 1.0) or not np.isin(value, (0.0, 1.0)).all():
            raise InputError(
                "measure", repr(measure), f"difference or ratio, as {of.target.name} has more than two values"
            )


def _withheld(log: Log, found: Intervals, asked: _Asked, lacks: Lacking) -> str:
    """Why an interval is not to be relied upon; empty where it is."""
    weights = asked.weights
    if np.isnan(found.value) and lacks:
        return str(lacks)
    if np.isnan(found.value) and found.n and asked.measure in ("ratio", "odds ratio"):
        return f"the {asked.measure} of two means that are both at the end of their range is nothing"
    if found.n == 0:
        return "no decision has all that it needs"
    if weights == "batch" and len(log.space.contexts) > 1:
        return "batches of several contexts cannot be told apart: ask for weights='stabilised'"
    if not found.possible and weights == "batch":
        return "there are batches in which only one was offered: ask for weights='stabilised'"
    if not found.possible:
        why = str(lacks) or "some could not have been offered it: a probability was 0"
        return f"{why}; weights='stabilised' leave them out"
    if found.alike:
        return ALIKE
    few = int(np.argmin(found.effective))
    if not found.shown:
        name, many = log.space.proposals[asked.proposals[few]], float(found.effective[few])
        batch = " in batches in which all that is compared was offered" if weights == "batch" else ""
        return f"{name} was offered to too few{batch}: effectively to {many:.1f}, and an interval needs {LEAST:.0f}"
    return PLAIN if asked.method == "normal" and not log.fixed else ""
