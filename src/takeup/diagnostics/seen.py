"""Is compliance missing at random? Whether those whose action was seen fare as those whose action was not.

If being seen depends on context and proposal alone, the outcomes of both are the same within each context and proposal,
whatever people do and however the policy adapts.
"""

from dataclasses import dataclass, replace

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.diagnostics import strata, tables
from takeup.diagnostics.cases import Cases, seen_and_unseen
from takeup.diagnostics.ignorable import BINS, GroupMean
from takeup.evidence import Evidence
from takeup.outcomes import Count, Levels, Number, Outcome, Time

LEAST = 10
"""There must be so many of either kind where there are both, for anything to be said."""


@dataclass(frozen=True, slots=True)
class SeenShare:
    """Those with one proposal whose outcome is known.

    Attributes:
        proposal: its label.
        seen: those whose action was seen.
        unseen: those whose action was not.
    """

    proposal: str
    seen: GroupMean
    unseen: GroupMean

    @property
    def share(self) -> float:
        """Of how many of them the action was seen; nan where there are none."""
        size = self.seen.patients + self.unseen.patients
        return self.seen.patients / size if size else float("nan")


@dataclass(frozen=True, slots=True)
class SeenByOutcome:
    """What the data say about whether an action is seen or not by the outcome.

    Attributes:
        seen: all whose action and outcome are known. Means are of worth where outcomes have levels, of numbers in their
            unit, and rates, events by time, of counts and times.
        unseen: all of whom the outcome alone is known.
        proposals: the same by proposal.
        difference: the mean outcome of the seen less that of the unseen, at equal context and proposal; of two levels
            the difference of shares. nan of counts and times, and where there is nothing to compare.
        lower: its lower limit, for one look.
        upper: its upper limit.
        p_value: that both fare the same, for a single look.
        log_e_value: against that, after any number of looks.
        pending: decisions without an outcome, which are left out.
        level: the rate of false alarms; the limits hold with probability 1 - level.
        outcome: what came out.
        reason: why nothing can be said; empty where it can.
    """

    seen: GroupMean
    unseen: GroupMean
    proposals: tuple[SeenShare, ...]
    difference: float
    lower: float
    upper: float
    p_value: float
    log_e_value: float
    pending: int
    level: float
    outcome: Outcome
    reason: str = ""

    @property
    def used(self) -> int:
        """How many decisions it rests on."""
        return self.seen.patients + self.unseen.patients

    @property
    def depends(self) -> bool:
        """Whether p is at most the level: for one look."""
        return self.p_value <= self.level

    @property
    def depends_at_any_time(self) -> bool:
        """Whether the e-value has reached 1 / level: for as many looks as one likes."""
        return bool(self.log_e_value >= -np.log(self.level))

    def compared(self, known: str = "Of those whose action was seen", others: str = "of the others") -> str:
        """How both fared, in a sentence; by the words for either."""
        how, outcome = self.outcome.shown, self.outcome
        if how.share and isinstance(outcome, Levels):
            first, last = (f"{round(each.mean * each.patients):,} of {each.patients:,}" for each in self._both)
            return f"{known} {first} had the outcome {outcome.good}, {others} {last}."
        what = "rate" if isinstance(outcome, Count | Time) else how.what if isinstance(outcome, Levels) else "mean"
        unit = f" {outcome.unit}".rstrip() if isinstance(outcome, Number) else ""
        first, last = (f"{each.mean:,.{max(how.digits, 2)}f}{unit} ({each.patients:,})" for each in self._both)
        return f"{known} the {what} was {first}, {others} {last}."

    @property
    def _both(self) -> tuple[GroupMean, GroupMean]:
        return self.seen, self.unseen

    def by_how_much(self, equal: str = "At equal context and proposal") -> str:
        """The difference, with its limits, in a sentence; empty where there is none. `equal` is among whom."""
        if np.isnan(self.difference):
            return ""
        limits = f"{100 * (1 - self.level):g} % limits"
        if self.outcome.shown.share:
            middle, low, high = (f"{100 * each:+.0f}" for each in (self.difference, self.lower, self.upper))
            return f"{equal} that is {middle} points ({limits} {low} to {high})."
        digits = max(self.outcome.shown.digits, 2)
        middle, low, high = (f"{each:+,.{digits}f}" for each in (self.difference, self.lower, self.upper))
        return f"{equal} they differ by {middle} ({limits} {low} to {high})."

    def summary(self) -> str:
        """What it means, in plain language."""
        who = (
            f"{self.used:,} decisions with the outcome seen: the action of {self.seen.patients:,} was seen, that of"
            f" {self.unseen.patients:,} was not; {self.pending:,} without an outcome left out."
        )
        if self.reason:
            return f"{who}\nNot compared: {self.reason}."
        told = [
            f"{each.proposal} {100 * each.share:.0f} % of {each.seen.patients + each.unseen.patients:,}"
            for each in self.proposals
            if each.seen.patients + each.unseen.patients
        ]
        lines = [who, f"Action seen by proposal: {', '.join(told)}."]
        lines.append(f"{self.compared()} {self.by_how_much()}".rstrip())
        lines.append(f"p = {self.p_value:.2g}, e-value {np.exp(min(self.log_e_value, 700.0)):.3g}.")
        if self.depends or self.depends_at_any_time:
            looks = "at several looks, too, by simulations" if self.depends_at_any_time else "if this was the only look"
            lines.append(
                f"Whether an action is seen depends on the outcome, or on what goes with it, such as the action itself"
                f" ({looks}). What is read by action from the seen alone is off. To fill in by proposal and outcome, as"
                " TS-Robust does, is right if nothing but the outcome decides; this cannot tell. What is read by"
                " proposal needs none of it."
            )
        else:
            lines.append(
                "Nothing says that being seen depends on the outcome. That is no proof. That it depends on the action"
                " itself would show through the action's outcomes alone: where actions have the same outcomes, never."
            )
        lines.append(
            "It takes all decisions of one context and proposal to be alike: where a site, or a time, writes down less"
            " and fares worse, that shows as well."
        )
        return "\n".join(lines)


def check_seen(evidence: Evidence, *, level: float = 0.05) -> SeenByOutcome:
    """Compare, within each context and proposal, outcomes of decisions whose action was seen and was not.

    The p-value is that of a permutation test, given how many were seen and all outcomes: of the mean outcome, exact
    where there are two levels, by the normal distribution elsewhere; of counts and times it is one over the e-value. It
    is for one look. It is exact, too, where a policy adapts to outcomes alone.

    The e-value is a likelihood ratio given the same margins, with a normal prior of the log odds ratio; elsewhere
    Robbins' mixture, averaged with universal inference over levels or bins, which alone is that of counts and times. At
    one look its mean is one, exactly where p is exact. That it seldom reaches 20 at any of many looks, and after
    policies that adapt to what was seen, is proven for counts and times alone and measured for the others
    (docs/robust.md). A report that comes late moves a decision from one kind to the other; that is another look.

    It says whether being seen depends on the outcome. That it depends on the action can only show through outcomes.

    Args:
        evidence: the table; decisions with the outcome seen are used.
        level: the rate of false alarms, and that of the limits.
    """
    cases = seen_and_unseen(evidence, BINS[0])
    level, space, outcome = checks.share("level", level), evidence.space, evidence.space.outcome
    statistic = cases.statistic
    by_proposal = statistic.sum(axis=0)
    seen, unseen = _pair(by_proposal.sum(axis=0), outcome)
    proposals = tuple(
        SeenShare(label, *_pair(rows, outcome)) for label, rows in zip(space.proposals, by_proposal, strict=True)
    )
    flat = statistic.reshape(-1, *statistic.shape[2:])
    flat = flat[(outcome.seen(flat) > 0).all(axis=1)]
    nan, reason = float("nan"), _too_few(flat, seen, unseen, outcome)
    nothing = SeenByOutcome(seen, unseen, proposals, nan, nan, nan, 1.0, 0.0, cases.left_out, level, outcome, reason)
    if reason:
        return nothing
    anywhere = _log_e_value(cases, flat)
    if isinstance(outcome, Count | Time):
        return replace(nothing, p_value=float(np.exp(-max(anywhere, 0.0))), log_e_value=anywhere)
    moments = _moments(flat, outcome)
    if isinstance(outcome, Levels) and outcome.size == 2 and (hits := strata.Hits.of(flat)) is not None:
        p, log_e = hits.p_value, hits.log_e_value
    else:
        score = strata.score(*moments)
        p, log_e = strata.normal_p(score), strata.normal_log_e(score, moments[0])
        if not (isinstance(outcome, Levels) and outcome.size == 2):
            log_e = float(tables.average(np.array([log_e, anywhere])))
    middle, low, high = strata.difference(*moments, level)
    if outcome.shown.share:
        low, high = max(low, -1.0), min(high, 1.0)
    return replace(nothing, difference=middle, lower=low, upper=high, p_value=p, log_e_value=log_e)


def _too_few(flat: IntArray, seen: GroupMean, unseen: GroupMean, outcome: Outcome) -> str:
    """Why nothing can be said; empty where it can."""
    for group in (seen, unseen):
        if not group.patients:
            return f"there is no decision with the outcome known whose action was {group.label}"
    both = np.asarray(outcome.seen(flat)).sum(axis=0)
    if both.min() < LEAST:
        return (
            f"where there are both kinds, {both[0]:,} actions were seen and {both[1]:,} were not;"
            f" there should be {LEAST} of each at least"
        )
    return ""


def _log_e_value(cases: Cases, flat: IntArray) -> float:
    """Of all strata: each is doubted by half, so that one that says nothing costs a factor of two at most."""
    ways = [cases, *(cases.in_bins(many) for many in BINS[1:] if cases.bins)]
    return float(tables.average(np.array([tables.somewhere(tables.log_e_value(way.by_level(flat))) for way in ways])))


def _moments(flat: IntArray, outcome: Outcome) -> tuple[IntArray, FloatArray, FloatArray]:
    """How many, the sum of their outcomes and that of the squares."""
    n = np.asarray(outcome.seen(flat), dtype=np.int64)
    if isinstance(outcome, Number):
        steps, squares = flat[..., outcome.cells].astype(float), flat[..., outcome.cells + 1].astype(float)
        return n, outcome.step * steps, outcome.step**2 * squares  # from low on, which differences do not show
    assert isinstance(outcome, Levels)
    return n, flat @ outcome.worths, flat @ outcome.worths**2


def _pair(rows: IntArray, outcome: Outcome) -> tuple[GroupMean, GroupMean]:
    """The seen and the unseen."""
    return _group("seen", rows[0], outcome), _group("unseen", rows[1], outcome)


def _group(label: str, row: IntArray, outcome: Outcome) -> GroupMean:
    """Who they are, of their statistic: by the outcome itself, not by its worth, where it is a number."""
    n = int(outcome.seen(row))
    if not n:
        return GroupMean(label, 0, float("nan"))
    if isinstance(outcome, Number):
        return GroupMean(label, n, outcome.low + outcome.step * float(row[outcome.cells]) / n)
    if isinstance(outcome, Count | Time):
        events, steps = row[-2:]
        return GroupMean(label, n, float(events / (outcome.step * steps)) if steps else float("nan"))
    return GroupMean(label, n, float(outcome.earned(row) / n))
