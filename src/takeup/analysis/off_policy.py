"""What another policy would have been worth, from the log of the one that ran.

Decision t counts π_t(z_t) / p_t(z_t), how much more often the other policy would have proposed what was: inverse
probability weighting (IPW), divided by the sum of weights. Or it counts Σ_z π_t(z) Γ_t(z), by scores, which use what is
known of proposals that were not made (AIPW). Both hold after adaptive allocation, as p is what was logged.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.analysis import targets
from takeup.analysis.effects import COMPLETE, LOGGED, SEPARATE
from takeup.analysis.estimate import Estimate, honest
from takeup.analysis.figure import Figure, difference_of_positives
from takeup.analysis.overlap import HOPELESS_SHARE_OF_TIMES, Overlap
from takeup.analysis.rates import rate_under
from takeup.analysis.scores import scores
from takeup.analysis.showing import LARGE, always
from takeup.analysis.times import CENSORED, censored_before, restricted_mean_under, until_of
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.outcomes import Levels, Time
from takeup.space import UNSEEN

Method: TypeAlias = Literal["aipw", "ipw"]
"""By scores, or by weights alone."""

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""The lower end of an interval, and the upper one."""

READING = "value of a policy"
SAME = "People would have come, and answered each proposal, as they did."
DID = "what the trial did"


@dataclass(frozen=True, slots=True)
class PolicyValue:
    """What a policy would have been worth: the mean outcome in its own units, a rate, or a restricted mean time.

    Attributes:
        estimate: its value.
        gain: how much more than what the trial did; below zero where the mean would have been lower.
        effective_size: how many decisions the log is worth for this policy.
        warning: what to beware of, in a sentence; empty where there is nothing.
        proposals: for a policy of fixed proposals, which one in each context; else empty.
    """

    estimate: Estimate
    gain: Estimate
    effective_size: float
    warning: str = ""
    proposals: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "estimate": self.estimate.plain(),
            "gain": self.gain.plain(),
            "effective_size": self.effective_size,
            "warning": self.warning or None,
            "proposals": list(self.proposals),
        }


def policy_value(
    log: Log,
    probability: ArrayLike,
    *,
    level: float = 0.95,
    method: Method | None = None,
    until: float | None = None,
    name: str = "the other policy",
    adjusted: bool | None = None,
) -> PolicyValue:
    """The value of another policy for those who came, by intention to treat.

    Args:
        log: a single trial.
        probability: with which the other policy makes each proposal: one row for all, (Kz,), one for each context,
            (X, Kz), or one for each decision, (n, Kz), which may depend on earlier decisions but not on the decision's
            own outcome.
        level: how often such intervals hold the truth.
        method: "aipw" where left out; counts over an exposure and times have "ipw" alone.
        until: of times, within which the mean is; the longest watch where left out.
        name: what the policy is called.
        adjusted: whether scores guess outcomes by covariates; where left out they do if the log has covariates and
            probabilities, and "aipw" is the method.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    rows = rows_of(log, probability)
    checks.share("level", level)
    how = _method(log, method)
    overlap = Overlap.of(log, rows, log.outcome != UNSEEN)
    by = how == "aipw" and log.features is not None and not log.estimated if adjusted is None else adjusted
    value, did = (value_under(log, each, how, until, adjusted=by) for each in (rows, log.probability))
    if overlap.impossible > 0:
        value = replace(value, value=np.array(np.nan))
    reason = overlap.withheld(name) or (_never_met(log, rows) if how == "aipw" and not by else "")
    if not reason and not value.error > 0:
        reason = "all who count for it had the same outcome, or there is one alone, so that its error cannot be told"
    if not reason and np.isnan(value.value):
        reason = "nobody was watched so long under it; choose an earlier `until`"
    ends, gained = value_ends(log, value, level), gain_ends(log, value, did, level)
    estimate = _estimate(log, value.value, ends, name, "mean", level, reason, until)
    if isinstance(log.space.outcome, Time):
        reason = reason or overlap.withheld(name, HOPELESS_SHARE_OF_TIMES)
    gain = _estimate(log, value.value - did.value, gained, f"{name} - {DID}", "difference", level, reason, until)
    return PolicyValue(estimate, gain, float(overlap.size), overlap.warning(name))


def best_fixed(
    log: Log,
    *,
    level: float = 0.95,
    method: Method | None = None,
    until: float | None = None,
    first: float = 0.5,
) -> PolicyValue:
    """The value of always proposing what is best in each context.

    What looks best in a log looks better there than it is. So the proposals are chosen from the first decisions alone,
    and their value is that for those who came after.

    Args:
        log: a single trial.
        level: how often such intervals hold the truth.
        method: as in `policy_value`.
        until: likewise.
        first: the share of decisions from which proposals are chosen.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    cut = round(checks.share("first", first) * len(log))
    chosen = [
        _best(log.only((np.arange(len(log)) < cut) & (log.context == x)), until) for x in range(len(log.space.contexts))
    ]
    later = log.only(slice(cut, None))
    name = "the best proposal" + (" in each context" if len(chosen) > 1 else "") + f" by the first {cut} decisions"
    rows = np.eye(len(log.space.proposals))[chosen]
    found = policy_value(later, rows, level=level, method=method, until=until, name=name)
    return PolicyValue(
        found.estimate, found.gain, found.effective_size, found.warning, tuple(log.space.proposals[z] for z in chosen)
    )


def value_under(
    log: Log, rows: FloatArray, method: Method, until: float | None = None, *, adjusted: bool = False
) -> Figure:
    """The value of a policy with these probabilities, (.., n, Kz); leading axes are trials side by side."""
    outcome = log.space.outcome
    if isinstance(outcome, Time):
        return restricted_mean_under(log, rows, until_of(log, until))
    if not outcome.valued:
        return rate_under(log, rows)
    return mean_under(log, rows, method, adjusted=adjusted)


def value_ends(log: Log, value: Figure, level: float) -> Ends:
    """The ends of the interval of a value; of a rate it is made on the log scale."""
    if not _is_rate(log):
        return value.interval(level)
    low, high = value.log().interval(level)
    return np.exp(low), np.exp(high)


def gain_ends(log: Log, value: Figure, did: Figure, level: float) -> Ends:
    """The ends of the interval of the difference of two values; none where it is of a policy from itself."""
    difference = value.minus(did)
    low, high = difference_of_positives(value, did, level) if _is_rate(log) else difference.interval(level)
    same = difference.error == 0
    return np.where(same, difference.value, low), np.where(same, difference.value, high)


def _is_rate(log: Log) -> bool:
    return not log.space.outcome.valued and not isinstance(log.space.outcome, Time)


def mean_under(log: Log, rows: FloatArray, method: Method, *, adjusted: bool = False) -> Figure:
    """The mean outcome under a policy, where every outcome has a value of its own; NaN where no decision counts."""
    target, proposals = targets.outcome(log.space), len(log.space.proposals)
    value = target.values(log)
    known, score = ~np.isnan(value), np.zeros(0)
    if method == "aipw":
        score = scores(log, target, adjusted=adjusted).score
        known = np.asarray(~(np.isnan(score) & (rows > 0)).any(axis=-1))
    filled, weight = np.where(known, value, 0.0), Overlap.of(log, rows, known).weight
    total = (known if method == "aipw" else weight).sum(axis=-1, keepdims=True)
    total = np.where(total > 0, total, np.nan)
    if method == "aipw":
        each, share = np.where(known, np.einsum("...z,...z->...", np.nan_to_num(score), rows), 0.0), known / total
    else:
        each, share = filled, weight / total
    mean = np.einsum("...t,...t->...", share, each)
    figure = Figure.of(mean, share * (each - mean[..., np.newaxis]), weight, log.proposal, proposals)
    if not isinstance(log.space.outcome, Levels):
        return figure
    return _unseen_ends(figure, filled, weight, total, (target.low, target.high))


def _unseen_ends(
    figure: Figure, value: FloatArray, weight: FloatArray, total: FloatArray, ends: tuple[float, float]
) -> Figure:
    """As if two more of each proposal had come, one with each end of the range; they move the error, not the estimate.

    Else a rare level that happened not to be seen leaves no error at all (Agresti & Coull 1998 add two of each).
    """
    influence, proposal = [figure.influence], [figure.proposal]
    for z in range(figure.sizes.shape[-1]):
        own = np.where(figure.proposal == z, weight, 0.0)
        sums = np.maximum(own.sum(axis=-1, keepdims=True), 1e-300)
        usual = np.einsum("...t,...t->...", own, own)[..., np.newaxis] / sums
        mean = np.einsum("...t,...t->...", own, value)[..., np.newaxis] / sums
        influence += [usual / total * (end - mean) for end in ends]
        proposal += [np.full(mean.shape, z)] * 2
    return replace(figure, influence=np.concatenate(influence, axis=-1), proposal=np.concatenate(proposal, axis=-1))


def _never_met(log: Log, rows: FloatArray) -> str:
    """What a policy would propose in a context in which nobody has an outcome of it, where that is all there is."""
    if not log.fixed:
        return ""
    for x, context in enumerate(log.space.contexts):
        here = log.context == x
        for z, name in enumerate(log.space.proposals):
            if rows[here, z].any() and not (here & (log.proposal == z) & (log.outcome != UNSEEN)).any():
                return f"nobody in {context} who was offered {name} has an outcome"
    return ""


def rows_of(log: Log, probability: ArrayLike) -> FloatArray:
    """The probabilities of every decision, (n, Kz), of a single trial."""
    given = checks.probabilities("probability", probability)
    proposals = len(log.space.proposals)
    checks.shaped("probability", given, (proposals,), "proposal")
    if given.ndim == 1:
        return np.broadcast_to(given, log.probability.shape)
    if given.shape == (len(log.space.contexts), proposals):
        return np.asarray(given[log.context])
    checks.shaped("probability", given, log.probability.shape, "decision, proposal")
    return given


def _method(log: Log, method: Method | None) -> Method:
    weighed = not log.space.outcome.valued
    if method is None:
        return "ipw" if weighed else "aipw"
    checks.one_of("method", method, ("aipw", "ipw"))
    if weighed and method == "aipw":
        raise UnsuitableError(f"a {log.space.outcome.kind} has no scores; leave out the method, or say 'ipw'")
    return method


def _best(log: Log, until: float | None) -> int:
    """The proposal that did best in these decisions."""
    found = [float(value_under(log, always(log, z), "ipw", until).value) for z in range(len(log.space.proposals))]
    if np.isnan(found).all():
        raise InputError("first", f"{len(log)} decisions of a context", "some with an outcome", "choose a larger share")
    return int(np.nanargmax(log.space.outcome.shown.sign * np.array(found)))


def _estimate(
    log: Log,
    value: FloatArray,
    ends: Ends,
    contrast: str,
    measure: Literal["mean", "difference"],
    level: float,
    reason: str,
    until: float | None,
) -> Estimate:
    low, high = (np.nan, np.nan) if reason else (float(end) for end in ends)
    n = int((log.outcome != UNSEEN).sum())
    early = isinstance(log.space.outcome, Time) and censored_before(log, until_of(log, until))
    return honest(
        log,
        Estimate(
            READING,
            contrast,
            measure,
            float(value),
            low,
            high,
            level,
            (SAME, *((CENSORED,) if early else ()), *((COMPLETE,) if n < len(log) else ()), LARGE, SEPARATE, LOGGED),
            survives_adaptation=not reason,
            survives_drift=not early and not reason and n == len(log),
            n=n,
            missing=len(log) - n,
            withheld=reason,
        ),
    )
