"""Whether the data contradict what analyses assume: each check is one sentence for people, and its figures."""

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from takeup.analysis import targets
from takeup.analysis.check import Check, capital
from takeup.analysis.compliance_checks import LEVEL, exclusion, ignorability, seen, strength
from takeup.analysis.planned import Planned
from takeup.analysis.telling import amount, mean_of, p_value, quantity
from takeup.checks import FloatArray
from takeup.evidence import Evidence
from takeup.log import Log

STRICT = 0.01
"""The rate of false alarms of the sample ratio and of drift, which nobody expects to fail."""
LEFT_TO_CHANCE = 5.0
"""Σ p (1 - p) below this is too little for a z-score."""
SMALL = 0.05
"""Probabilities below this are called small."""


def check_all(log: Log, control: int, seed: int) -> tuple[Check, ...]:
    """Every check of a single trial."""
    evidence = Evidence.from_log(log)
    known = seen(evidence)
    return (
        sample_ratio(log),
        overlap(log),
        drift(log),
        ignorability(evidence, seed),
        exclusion(evidence),
        strength(evidence, control),
        *(() if known is None else (known,)),
    )


def looks_check(planned: Planned, finished: bool) -> Check:
    """Whether intervals for one look are looked at once."""
    name, concerns = "one look", "intervals and tests for one look; those for any time hold all the same"
    if not finished:
        alarm, said = (
            True,
            "More is to come: what holds for one look does not hold for one of many.",
        )
    elif planned.looks > 1:
        alarm, said = True, f"The trial could have ended early at any of {planned.looks} looks, by what was seen."
    else:
        return Check(
            name, False, "The trial has ended; no looks are known at which it could have ended before.", concerns
        )
    return Check(name, alarm and not planned.any_time, said, concerns)


def sample_ratio(log: Log) -> Check:
    """Whether proposals were made as often as the logged probabilities say: Σ (1{z} - p) as a z-score, see docs.

    The sum is one of chance alone whatever the policy did, so that adaptation does no harm to it.
    """
    made = log.proposal[:, np.newaxis] == np.arange(len(log.space.proposals))
    spread = np.sqrt((log.probability * (1 - log.probability)).sum(axis=0))
    name, concerns = "sample ratio", "everything: decisions are lost, or offers were not drawn as the log says"
    if log.estimated:
        why = "Probabilities are taken from how often each was offered, as nobody wrote them down."
        return Check(name, None, "Whether offers were as frequent as planned was not checked.", concerns, why)
    if spread.max() ** 2 < LEFT_TO_CHANCE:
        few = len(log) * 0.25 < LEFT_TO_CHANCE  # at even odds, too
        why = "There are too few decisions" if few else "Too little was left to chance"
        return Check(name, None, f"{why} to check how often each was offered.", concerns)
    errors = np.abs((made - log.probability).sum(axis=0)) / np.where(spread > 0, spread, np.inf)
    worst = int(errors.argmax())
    p = min(1.0, (len(log.space.proposals) - 1) * 2 * float(ndtr(-errors[worst])))
    counts = ", ".join(
        f"{label} {n:,} times ({expected:,.1f} expected)"
        for label, n, expected in zip(log.space.proposals, made.sum(axis=0), log.probability.sum(axis=0), strict=True)
    )
    said = "not as often as" if p < STRICT else "about as often as"
    return Check(
        name,
        p < STRICT,
        f"Each was offered {said} the logged probabilities say ({p_value(p)}).",
        concerns,
        f"{counts}; the furthest is {log.space.proposals[worst]}, by {errors[worst]:.2f} standard errors.",
        p,
    )


def overlap(log: Log) -> Check:
    """How small the probabilities became: weights are their inverses."""
    least = log.probability.min(axis=-1)
    share = float((least < SMALL).mean())
    effective = [_effective(log, k) for k in range(len(log.space.proposals))]
    figures = ", ".join(f"{label} {n:,.0f}" for label, n in zip(log.space.proposals, effective, strict=True))
    smallest = float(least.min())
    sentence = f"The smallest chance that anything had to be offered was {_percent(smallest)}"
    if share:
        sentence += f", and in {_percent(share)} of decisions one was below {_percent(SMALL)}"
    return Check(
        "chance for everybody",
        share > LEVEL,
        f"{sentence}.",
        "intervals in which those who got an unlikely offer count for many: few of them may then decide",
        f"As many equally likely decisions would tell as much of each: {figures}.",
    )


def drift(log: Log) -> Check:
    """Whether outcomes of the same proposal and context differ between the first and the second half of decisions."""
    name, concerns = "drift", "what assumes steady outcomes: naive intervals and the conditional exact test"
    if not log.space.outcome.valued:
        why = (
            f"People were watched for different lengths of time, so that a {log.space.outcome.kind} is no value alone."
        )
        return Check(name, None, "Whether outcomes changed over the trial was not checked.", concerns, why)
    value = targets.outcome(log.space).values(log)
    late = np.arange(len(log)) >= len(log) / 2
    early_mean, late_mean, error = _halves(log, value, late)
    if not error > 0:
        return Check(name, None, "There are too few outcomes to compare the halves of the trial.", concerns)
    errors = (late_mean - early_mean) / error
    p = 2 * float(ndtr(-abs(errors)))
    early, after = (mean_of(each, log.space) for each in (early_mean, late_mean))
    changed = "people with the same offer fared differently in the first half of the trial and in the second"
    said = capital(changed) if p < STRICT else f"Nothing shows that {changed}"
    differ = amount(late_mean - early_mean, log.space)
    return Check(
        name,
        p < STRICT,
        f"{said}: {quantity(log.space)} was {early}, then {after} ({p_value(p)}).",
        concerns,
        f"The halves differ by {differ}, which is {abs(errors):.2f} standard errors.",
        p,
    )


def _percent(share: float) -> str:
    """A share for people; small ones with the digits that tell them from none."""
    return f"{100 * share:.3g} %"


def _effective(log: Log, proposal: int) -> float:
    """(Σ w)² / Σ w² of the inverse probabilities of those who were offered it."""
    weight = 1 / log.probability[log.proposal == proposal, proposal]
    return float(weight.sum() ** 2 / (weight**2).sum()) if weight.size else 0.0


def _halves(log: Log, value: FloatArray, late: Any) -> tuple[float, float, float]:
    """Means of the two halves as if each had the same mix of contexts and proposals, and the error of the difference.

    Each context and proposal has the weight n₁ n₂ / (n₁ + n₂), as in Mantel and Haenszel's estimate.
    """
    known = ~np.isnan(value)
    cell = (log.context * len(log.space.proposals) + log.proposal)[known]
    half, seen = late[known].astype(np.int64), value[known]
    cells = len(log.space.contexts) * len(log.space.proposals)
    n, total, square = (
        np.bincount(2 * cell + half, weights, minlength=2 * cells).reshape(cells, 2)
        for weights in (None, seen, seen**2)
    )
    both = n.min(axis=1) > 0
    n, total, square = n[both], total[both], square[both]
    weight = n.prod(axis=1) / n.sum(axis=1)
    mean = total / n
    freedom = (n.sum(axis=1) - 2).sum()
    if freedom < 1:
        return math.nan, math.nan, math.nan
    spread = (square - n * mean**2).sum() / freedom
    early, after = (weight @ mean) / weight.sum()
    return float(early), float(after), float(np.sqrt(max(spread, 0.0) / weight.sum()))
