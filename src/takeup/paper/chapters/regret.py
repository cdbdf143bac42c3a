"""The sweep over noncompliance and the claims of the text."""

from dataclasses import asdict

from takeup import charts
from takeup.charts.document import ReportFigure, ReportTable
from takeup.paper.document import Chapter, Checked, figure, with_error
from takeup.paper.regret import GRID, HORIZON, SUCCESS, RegretResult
from takeup.paper.rules import FALSE_ALARM

WHAT = (
    f"Two arms with success {SUCCESS[0]:g} and {SUCCESS[1]:g}; with probability p the other arm is implemented. "
    f"{GRID.size} values of p, {HORIZON:,} patients. The paper's figure is missing from its source, so its text is "
    "checked."
)
RULE = f"A claim that is true is said to fail once in {1 / FALSE_ALARM:,.0f} runs, all its comparisons together."
CAPTION = (
    f"Mean regret after {HORIZON:,} patients over p, with bars of one standard deviation, cut at zero. At p = 0.5 both "
    "proposals are alike and the regret is zero. TS-Check beyond p = 0.5 has an axis of its own."
)


def chapter(result: RegretResult) -> Chapter:
    """The figure, its numbers and the claims."""
    hold = sum(claim.holds for claim in result.claims)
    return Chapter(
        title="Regret over noncompliance (regret bound analysis)",
        verdict=f"{hold} of {len(result.claims)} claims of the text hold.",
        text=(WHAT, RULE),
        checked=(Checked("What the text says, and whether the runs bear it out", tuple(result.claims)),),
        tables=(_points(result),),
        figures=(
            ReportFigure(
                "regret",
                CAPTION,
                _alternative(result),
                lambda: charts.regret_over_noncompliance([asdict(p) for p in result.points]),
            ),
        ),
    )


def _points(result: RegretResult) -> ReportTable:
    policies = list(dict.fromkeys(point.policy for point in result.points))
    rows = []
    for p in GRID:
        points = [point for point in result.points if point.p == p]
        means = (with_error(point.mean, point.mcse) for point in points)
        rows.append((f"{p:.2f}", *means, *(figure(point.sd) for point in points)))
    columns = ("p", *(f"{policy}, mean" for policy in policies), *(f"{policy}, sd" for policy in policies))
    return ReportTable(
        "Final regret over p: mean ± Monte Carlo error, and standard deviation", columns, tuple(rows), words=0
    )


def _alternative(result: RegretResult) -> str:
    at = {(point.policy, round(point.p, 2)): point.mean for point in result.points}
    shown = ("TS", "TS-Obs", "TS-Check")
    return "Mean regret. " + ". ".join(
        f"{policy}: " + ", ".join(f"{at[policy, p]:.1f} at p = {p:g}" for p in (0.0, 0.25, 0.45, 0.5, 0.55, 0.75, 1.0))
        for policy in shown
    )
