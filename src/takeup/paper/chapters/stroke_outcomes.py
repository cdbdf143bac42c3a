"""The stroke trial with the state at six months and with days to death, as part of a chapter."""

from takeup import charts
from takeup.charts.document import ReportFigure, ReportTable
from takeup.datasets import STATES
from takeup.paper.document import figure, with_error
from takeup.paper.stroke_outcomes import HORIZON, OutcomesResult
from takeup.paper.stroke_survival import ArmSurvival, records

TEXT = (
    f"Other outcomes of the stroke trial: {HORIZON:,} patients as they are. States at six months are worth "
    + ", ".join(f"{worth:g} ({name})" for name, worth in zip(STATES.names, STATES.utility, strict=True))
    + ". Days are watched for 183, and a quarter of those who lived were last seen before. Exponential times have the "
    "same risk of death on every day."
)
LEAST_ALIVE = 0.75
"""Where the axis of survival curves begins."""


def tables(result: OutcomesResult) -> tuple[ReportTable, ...]:
    """What was gained, the arms by every criterion, and the risk of death."""
    return _gains(result), _arms(result), _periods(result)


def figures(result: OutcomesResult) -> tuple[ReportFigure, ...]:
    """Survival by what was proposed, and by what was done."""
    return (
        _curves("survival-proposed", "what was proposed", result.proposed),
        _curves("survival-done", "what was done", result.done),
    )


def _gains(result: OutcomesResult) -> ReportTable:
    rows = tuple(
        (
            row.reading,
            row.policy,
            *(with_error(*row.gains[name]) for name in result.most),
            f"{row.favourite:.0%}",
            f"{row.best.value:.0%}",
        )
        for row in result.learnt
    )
    most = ", ".join(f"{name} {figure(value)}" for name, value in result.most.items())
    return ReportTable(
        f"What is gained over uniform exploration by learning from each outcome, judged by all; at most {most}",
        ("learnt from", "policy", *result.most, "favours the best", "proposes it"),
        (*rows,),
        words=2,
    )


def _arms(result: OutcomesResult) -> ReportTable:
    rows = tuple(
        (
            arm.arm,
            f"{arm.patients:,}",
            f"{arm.alive(14):.1%}",
            f"{result.values['lives'][z]:.1%}",
            f"{result.values['worth'][z]:.3f}",
            figure(arm.mean_days),
            figure(arm.exponential_days),
        )
        for z, arm in enumerate(result.proposed)
    )
    columns = ("assigned", "patients", "alive on day 14", "at six months", "worth", "days", "by an exponential")
    return ReportTable(
        "The arms by every criterion; days are the mean within 183, by Kaplan and Meier and by an exponential model",
        columns,
        rows,
    )


def _periods(result: OutcomesResult) -> ReportTable:
    rows = tuple((f"{p.first} to {p.last}", f"{p.deaths:,}", figure(p.risk)) for p in result.periods)
    return ReportTable("The risk of death", ("days", "deaths", "by 1,000 patients and day"), rows)


def _curves(name: str, by: str, arms: tuple[ArmSurvival, ...]) -> ReportFigure:
    return ReportFigure(
        f"stroke-{name}",
        f"The share alive over the days (Kaplan-Meier), by {by}; the axis begins at {LEAST_ALIVE:.0%}.",
        "; ".join(f"{arm.arm}: {arm.alive(14):.1%} on day 14, {arm.alive(183):.1%} on day 183" for arm in arms),
        lambda: charts.survival_curves(records(arms), [arm.short for arm in arms], "days", least=LEAST_ALIVE),
    )
