"""The charts of a trial's page, each with a table and a sentence that say the same."""

from collections.abc import Callable, Iterable
from typing import Any

from takeup import charts
from takeup.charts.trial import MOST_ARMS
from takeup.live.estimates import Estimate
from takeup.live.findings import Findings
from takeup.live.learnt import Learnt
from takeup.live.model_checks import Withheld
from takeup.live.summary import ActionSummary, GroupSummary
from takeup.live.time_series import TimePoint
from takeup.outcomes import Levels, Shown
from takeup.service.pages.learnt_charts import learnt_charts
from takeup.service.pages.outcome_charts import outcome_charts
from takeup.service.pages.page_chart import PageChart, Rows, drawn
from takeup.service.pages.templates import count, decimal, percent, probability
from takeup.trial.spec import WordsTable
from takeup.trial.stopping import FEW, chance


def page_charts(found: Findings, how: Shown | None = None, words: WordsTable = WordsTable()) -> list[PageChart]:
    """The charts that have something to show.

    Args:
        found: what is known of the trial.
        how: what values are called; as the outcome itself says where left out.
        words: of the trial.
    """
    made: list[PageChart] = []
    with charts.unchecked():
        if found.time_series.overall:
            made += [_best(found), _allocation(found)]
        if found.summary.progress.outcomes_counted:
            made.append(_values(found, how or found.space.outcome.shown))
            if isinstance(found.learnt, Learnt):
                decisions = found.summary.progress.decisions
                made += learnt_charts(found.learnt, found.space, how or found.space.outcome.shown, decisions, words)
        overall = found.summary.overall
        if not isinstance(overall.compliance, Withheld):
            made.append(_compliance(found))
        by_action, counted = not isinstance(overall.implemented, Withheld), found.summary.progress.outcomes_counted
        if counted and not isinstance(found.space.outcome, Levels):
            made += outcome_charts(found, by_action=by_action)
        elif counted and by_action:
            made.append(_outcomes(found))
    return made


def interval(estimate: Estimate, how: Shown = Shown(), *, share: bool = False) -> str:
    """0.42 (0.38 to 0.46); of shares 42 % (38 % to 46 %)."""
    seen, share = estimate.shown(how), share or how.share
    mean, low, high = (percent(x) if share else decimal(x, how.digits) for x in (seen.mean, seen.low, seen.high))
    return f"{mean} ({low} to {high})"


def _shown(found: Findings) -> list[int]:
    """The proposals that are shown: all, or those that are most probably best."""
    proposals = found.summary.overall.proposals
    order = sorted(range(len(proposals)), key=lambda z: -proposals[z].probability_best)
    return sorted(order[:MOST_ARMS])


def _left_out(found: Findings) -> str:
    rest = len(found.space.proposals) - MOST_ARMS
    return f" {rest} proposals that are less probably best are left out; the tables have all." if rest > 0 else ""


def _record(estimate: Estimate, say: str, **labels: object) -> dict[str, Any]:
    """A mark of a chart."""
    return {**labels, "mean": estimate.mean, "low": estimate.low, "high": estimate.high, "say": say}


def _now(found: Findings) -> str:
    """Where it stands what the policy believes now."""
    if not found.personal:
        return "what is believed now stands above"
    return "of each unit by its covariates, so that it changes with who comes, too"


def _over_time(found: Findings, cells: Callable[[TimePoint], Iterable[str]]) -> tuple[tuple[str, ...], Rows]:
    """The columns and the rows of a table over time, a row a point."""
    rows = [(f"{count(p.first)} to {count(p.last)}", *cells(p)) for p in found.time_series.overall]
    return ("decisions", *found.time_series.proposals), rows


def _best(found: Findings) -> PageChart:
    labels, points, shown = found.time_series.proposals, found.time_series.overall, _shown(found)
    records = [
        {
            "decision": point.last,
            "proposal": labels[z],
            "probability": point.best[z],
            "say": f"At decision {count(point.last)} the policy believed that {labels[z]} was best with probability"
            f" {chance(point.best[z])}",
        }
        for point in points
        for z in shown
    ]
    chart = charts.probability_best_over_time(records, [labels[z] for z in shown])
    last = points[-1]
    told = "; ".join(f"{labels[z]} {chance(last.best[z])}" for z in shown)
    return PageChart(
        "best",
        "What the policy believed over time",
        "The probability of being best by which it decided, before limits and burn-in, on average over the decisions of"
        f" each point. It is what was believed then, by the policy's own model: {_now(found)}." + _left_out(found),
        drawn(chart, "best", f"Lines over {count(last.last)} decisions. What it believed in the last: {told}."),
        *_over_time(found, lambda point: map(chance, point.best)),
    )


def _allocation(found: Findings) -> PageChart:
    labels, shown = found.time_series.proposals, _shown(found)
    records = [
        {
            "first": point.first,
            "last": point.last,
            "proposal": labels[z],
            "share": point.proposed[z] / sum(point.proposed),
            "say": f"{labels[z]}: {count(point.proposed[z])} of {count(sum(point.proposed))} proposals,"
            f" decisions {count(point.first)} to {count(point.last)};"
            f" mean probability {probability(point.probability[z])}",
        }
        for point in found.time_series.overall
        for z in shown
    ]
    chart = charts.allocation_over_time(records, [labels[z] for z in shown])
    n = found.summary.overall.decisions
    told = "; ".join(f"{labels[z]} {percent(found.summary.overall.proposals[z].decisions / n)}" for z in shown)
    return PageChart(
        "allocation",
        "Allocation over time",
        "Which share of the proposals was which." + _left_out(found),
        drawn(chart, "allocation", f"Stacked bars over {count(n)} decisions. Altogether: {told}."),
        *_over_time(found, lambda point: map(count, point.proposed)),
    )


NAIVE = (
    "They are what is believed, not corrected for adaptive allocation: naive, and too short after it. Those that"
    " survive it are under Analysis."
)
"""What is said of intervals of a model that does not know how its data were gathered."""


def _assumed(found: Findings) -> str:
    """What values rest on where outcomes have no levels."""
    if isinstance(found.space.outcome, Levels):
        return ""
    family = {"number": "normal", "count": "Poisson", "time": "exponential"}[found.space.outcome.kind]
    return f" They hold if outcomes have the distribution that the policy assumes; {family} where it assumes none."


def _values(found: Findings, how: Shown) -> PageChart:
    kinds: list[tuple[str, str]] = [("value", "by intention to treat")]
    overall = found.summary.overall
    best = [("probability_best", BEST)]
    if found.modelled:
        kinds.append(("model_value", f"by {found.summary.policy}'s model"))
        best.append(("model_probability_best", f"best, by {found.summary.policy}'s model"))
    records = [
        _record(
            estimate.shown(how),
            f"{proposal.label}, {name}: {interval(estimate, how)}, from {count(estimate.n)} outcomes",
            label=proposal.label,
            kind=name,
        )
        for proposal in overall.proposals
        for field, name in kinds
        for estimate in [getattr(proposal, field)]
    ]
    told = "; ".join(f"{each.label} {interval(each.value, how)}" for each in overall.proposals)
    return PageChart(
        "values",
        "Value of each proposal",
        f"The {how.what} where it is proposed, with 95 % credible intervals. {NAIVE}" + _assumed(found),
        drawn(charts.intervals(records, how.title, share=how.share), "values", f"By intention to treat: {told}."),
        ("proposal", *_counted(found), *(name for _, name in kinds), *(name for _, name in best)),
        [
            (
                each.label,
                counted,
                *(interval(getattr(each, field), how) for field, _ in kinds),
                *(_chance(overall, getattr(each, field)) for field, _ in best),
            )
            for each, counted in zip(overall.proposals, _raw(found, overall), strict=True)
        ],
    )


BEST = "best, by intention to treat"


def _chance(group: GroupSummary, probability: float) -> str:
    """How probably something is best, where enough is known to say so."""
    return chance(probability) if known_in(group) >= FEW else "too early"


def known_in(group: GroupSummary) -> int:
    """How many outcomes are known there."""
    return sum(each.value.n for each in group.proposals)


def _counted(found: Findings) -> tuple[str]:
    """What the column of counts is called."""
    outcome = found.space.outcome
    return (f"{outcome.good}, as counted",) if isinstance(outcome, Levels) and outcome.good else ("outcomes",)


def _raw(found: Findings, group: GroupSummary) -> list[str]:
    """Of each proposal how many fared well of those of whom it is known, or how many those are."""
    if found.space.outcome.shown.share:
        return [f"{count(good)} of {count(known)}" for good, known in found.fared(group.context)]
    return [count(each.value.n) for each in group.proposals]


def _compliance(found: Findings) -> PageChart:
    space, table = found.space, found.summary.overall.compliance
    assert not isinstance(table, Withheld)  # the caller has looked
    taken = found.taken()
    records: list[dict[str, Any]] = []
    rows: Rows = []
    for z, proposal in enumerate(space.proposals):
        for a, action in enumerate(space.implemented):
            cell, n = table[z][a], sum(taken[z])
            intended = space.intended is not None and space.intended[z] == a
            share, counted = interval(cell, share=True), count(taken[z][a])
            say = f"{proposal} was proposed, {action} was done: {counted} of {count(n)}, {share}"
            place = {"proposal": proposal, "implemented": action, "intended": intended}
            records.append(_record(cell, say, **place, count=taken[z][a], total=n))
            rows.append((proposal, action, counted, count(n), share))
    told = "; ".join(
        f"{space.proposals[z]}: {count(taken[z][a])} of {count(sum(taken[z]))} did {space.implemented[a]}"
        for z, a in enumerate(space.intended or ())
    )
    return PageChart(
        "compliance",
        "Compliance",
        f"What was done after each proposal, with 95 % credible intervals. Frames mark what was proposed. {NAIVE}",
        drawn(charts.compliance_matrix(records), "compliance", f"A table of shares. {told}."),
        ("proposed", "done", "count", "of", "believed share"),
        rows,
    )


def _outcomes(found: Findings) -> PageChart:
    """Outcome shares by action; of two levels only the better one is shown."""
    space, actions = found.space, found.summary.overall.implemented
    assert not isinstance(actions, Withheld)  # the caller has looked
    levels = list(range(len(space.outcomes)))
    levels_shown = [int(space.reward.argmax())] if len(levels) == 2 else levels
    seen = found.evidence.implemented_outcomes.sum(axis=0)

    def share(action: ActionSummary, a: int, y: int) -> str:
        raw = f"{count(int(seen[a, y]))} of {count(action.outcomes[y].n)}"
        return f"{raw}, believed {interval(action.outcomes[y], share=True)}"

    records: list[dict[str, Any]] = [
        _record(
            action.outcomes[y],
            f"{space.outcomes[y]} after {action.label}: {share(action, a, y)}",
            label=action.label,
            kind=space.outcomes[y],
        )
        for a, action in enumerate(actions)
        for y in levels_shown
    ]
    title = f"share with outcome “{space.outcomes[levels_shown[0]]}”" if len(levels_shown) == 1 else "share"
    told = "; ".join(str(record["say"]) for record in records)
    return PageChart(
        "outcomes",
        "Outcomes by what was done",
        f"With 95 % credible intervals. They say what an action does only where compliance is ignorable. {NAIVE}",
        drawn(charts.intervals(records, title, share=True), "outcomes", f"{told}."),
        ("done", *space.outcomes),
        [(each.label, *(share(each, a, y) for y in levels)) for a, each in enumerate(actions)],
    )


def readings(found: Findings, group: GroupSummary) -> tuple[tuple[str, ...], Rows]:
    """The readings side by side, a row a proposal: the columns and the rows. Those that are withheld are left out."""
    intended, actions, how = found.space.intended, group.implemented, found.space.outcome.shown
    both = intended is not None and not isinstance(actions, Withheld)
    others = ("as treated", "complied only") if both else ()
    rows: Rows = []
    counted = _raw(found, group) if how.share else []
    for z, proposal in enumerate(group.proposals):
        cells = [proposal.label, *counted[z : z + 1], interval(proposal.value, how)]
        if intended is not None and not isinstance(actions, Withheld):
            complied = proposal.complied_value
            cells += [interval(actions[intended[z]].value, how), "" if complied is None else interval(complied, how)]
        rows.append((*cells, _chance(group, proposal.probability_best)))
    return ("proposal", *(_counted(found) if how.share else ()), "intention to treat", *others, BEST), rows


def unread(found: Findings) -> str | None:
    """Why there is one reading alone, where there is."""
    actions = found.summary.overall.implemented
    if isinstance(actions, Withheld):
        return actions.reason
    if found.space.intended is None:
        return "the trial does not say which action each proposal intends"
    return None
