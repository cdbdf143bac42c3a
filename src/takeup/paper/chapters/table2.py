"""Table 2 beside its published figures."""

from typing import Any

from takeup import charts
from takeup.charts.document import Entry, Judged, ReportFigure, ReportTable
from takeup.paper.agreement import REPLICATIONS, STANDARD_ERRORS, Comparison
from takeup.paper.contextual import HORIZON, Table2Result
from takeup.paper.document import Chapter, figure, with_error

STATISTICS = ("median", "mean", "sd")

WHAT = (
    f"Final regret after {HORIZON:,} patients in two contexts. Environments: 1 everyone complies, 2 everyone does the "
    "opposite, 3 most comply, 4 most do the opposite."
)
RULE = (
    f"A figure agrees where it is within {STANDARD_ERRORS:g} standard errors of both sides together. The paper's side "
    f"is taken as {REPLICATIONS} runs: the error of its mean comes from its printed sd, those of its median and sd "
    f"from bootstrap samples of {REPLICATIONS} out of our runs."
)


def chapter(result: Table2Result) -> Chapter:
    """The table, how far each figure lies from the published one, and the distributions."""
    agree, total = result.agreeing()
    far = max((comparison for _, comparison in result.comparisons()), key=lambda c: abs(c.distance))
    return Chapter(
        title="Contextual simulations (table 2)",
        verdict=f"{agree} of {total} figures agree with the paper.",
        text=(
            WHAT,
            f"{RULE} The farthest is a {far.statistic}, {abs(far.distance):.1f} errors away.",
        ),
        tables=(table(result),),
        figures=(
            ReportFigure(
                "table2-agreement",
                "How far each measured figure lies from the published one, in standard errors of both sides together. "
                f"The band is what counts as agreement, {STANDARD_ERRORS:g} errors to either side.",
                f"{agree} of {total} points lie within the band of {STANDARD_ERRORS:g} errors; the farthest lies at "
                f"{far.distance:.1f}.",
                lambda: charts.distances(
                    [place | {"distance": c.distance} for place, c in result.comparisons()], STANDARD_ERRORS
                ),
            ),
            ReportFigure(
                "table2-distributions",
                "Final regret. Thin lines reach from the 5 % to the 95 % quantile, boxes from 25 % to 75 %; the stroke "
                "is the median, the diamond the published median. The scale is logarithmic from 3 on.",
                "; ".join(
                    f"environment {cell.environment}, {cell.policy}: median {figure(cell.measured.median)}, published "
                    f"{figure(cell.published.median)}"
                    for cell in result.cells
                ),
                lambda: charts.distributions(_quantiles(result)),
            ),
        ),
    )


def table(result: Table2Result) -> ReportTable:
    """A row for each policy in an environment: measured ± Monte Carlo error, with the published figure in brackets."""
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            str(cell.environment),
            cell.policy,
            *(_judged(comparison) for comparison in cell.comparisons),
            f"{cell.measured.replications:,}",
        )
        for cell in result.cells
    )
    return ReportTable(
        f"Regret after {HORIZON:,} patients: measured ± Monte Carlo error (published), and whether they agree",
        ("env.", "policy", *STATISTICS, "runs"),
        rows,
        words=2,
    )


def _judged(comparison: Comparison) -> Judged:
    shown = f"{with_error(comparison.measured, comparison.mcse)} ({figure(comparison.published)})"
    return Judged(shown, comparison.agrees)


def _quantiles(result: Table2Result) -> list[dict[str, Any]]:
    return [
        {
            "environment": cell.environment,
            "policy": cell.policy,
            **{f"q{100 * q:02.0f}": value for q, value in cell.measured.quantiles.items()},
            "median": cell.measured.median,
            "published": cell.published.median,
        }
        for cell in result.cells
    ]
