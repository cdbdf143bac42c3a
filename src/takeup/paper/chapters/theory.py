"""The theory: statements checked, the conjecture measured, and the bound for observed noncompliance beside slopes."""

from typing import Any

from takeup import charts
from takeup.charts.document import ReportFigure, ReportTable
from takeup.paper.document import Chapter, Checked, figure, with_error
from takeup.paper.rules import Claim
from takeup.paper.theory import BoundRow, TheoryResult

BOUND = "lower bound, T to infinity"
KNOWN = "at these T, all but the worse row known"

STATEMENTS = "Statements of the paper as printed and as they hold, checked on random worlds or by a counter-example."
CONJECTURE = (
    "The conjecture is that harmful noncompliance, which raises the bound of Agrawal and Goyal, is far more probable "
    "than helpful where compliance is uniformly random."
)
OPEN_PROBLEM = (
    "The open problem is a bound for TS-Obs: here the least regret per ln T that observed noncompliance allows, beside "
    "measured slopes. It is a limit for T to infinity, and slopes at smaller T may lie below it."
)


def chapter(result: TheoryResult) -> Chapter:
    """Which statements hold, the bounds beside measured slopes, and the conjecture."""
    hold = sum(check.holds for check in result.checks)
    start, stop = result.horizons[0], result.horizons[-1]
    return Chapter(
        title="Theory: theorems, conjecture and the open problem",
        verdict=f"{hold} of {len(result.checks)} statements hold as they are put.",
        text=(STATEMENTS, CONJECTURE, OPEN_PROBLEM),
        checked=(
            Checked(
                "Lemma 1, the theorems and what the paper says around them",
                tuple(Claim(f"{c.source}: {c.claim}", "by computation", c.holds, c.evidence) for c in result.checks),
            ),
        ),
        tables=(_bounds(result), _conjecture(result)),
        figures=(
            ReportFigure(
                "bounds",
                "Regret per ln T over p, in the sweep of the regret figure. Lines: what theory says. Points: measured "
                f"slopes from T = {start:,} to {stop:,} with two errors.",
                _alternative(result),
                lambda: charts.bounds_and_slopes(_lines(result), _points(result)),
            ),
            ReportFigure(
                "conjecture",
                "The probability that uniformly random noncompliance is harmful, with 95 % intervals.",
                "; ".join(f"{row.arms} arms: {row.probability:.3f}" for row in result.conjecture),
                lambda: charts.probabilities(
                    [
                        {"arms": row.arms, "probability": row.probability, "low": row.low, "high": row.high}
                        for row in result.conjecture
                    ]
                ),
            ),
        ),
    )


def _bounds(result: TheoryResult) -> ReportTable:
    rows = tuple(
        (
            f"{row.p:.2f}",
            figure(row.ts),
            _slope(row, "TS"),
            figure(row.ts_obs),
            "" if row.known is None else figure(row.known),
            _slope(row, "TS-Obs"),
        )
        for row in result.bounds
    )
    columns = ("p", "TS, bound", "TS, slope", "TS-Obs, bound", "at these T", "TS-Obs, slope")
    return ReportTable(
        "Regret per ln T: the bound, what a TS-Obs that knows all but the worse row has at these T, and the measured "
        "slope ± its error",
        columns,
        rows,
        words=0,
    )


def _slope(row: BoundRow, policy: str) -> str:
    slopes = [s for s in row.slopes if s.policy == policy]  # none at p = 0.5, where there is nothing to regret
    return with_error(slopes[-1].slope, slopes[-1].error) if slopes else ""


def _conjecture(result: TheoryResult) -> ReportTable:
    rows = tuple(
        (str(r.arms), f"{r.probability:.4f}", f"{r.error:.4f}", f"{r.low:.4f} to {r.high:.4f}", f"{r.draws:,}")
        for r in result.conjecture
    )
    columns = ("arms", "probability", "error", "95 % interval", "draws")
    return ReportTable("The probability that noncompliance is harmful", columns, rows, words=0)


def _lines(result: TheoryResult) -> list[dict[str, Any]]:
    curves = [
        [("TS", BOUND, row.ts), ("TS-Obs", BOUND, row.ts_obs), ("TS-Obs", KNOWN, row.known or 0.0)]
        for row in result.bounds
    ]
    return [
        {"policy": policy, "kind": kind, "p": row.p, "bound": bound}
        for row, curve in zip(result.bounds, curves, strict=True)
        for policy, kind, bound in curve
    ]


def _points(result: TheoryResult) -> list[dict[str, Any]]:
    return [
        {"policy": slope.policy, "p": row.p, "slope": slope.slope, "error": slope.error}
        for row in result.bounds
        for slope in row.slopes
        if slope.stop == result.horizons[-1]
    ]


def _alternative(result: TheoryResult) -> str:
    return "; ".join(
        f"p = {row.p:g}: TS bound {row.ts:.2f}, TS-Obs bound {row.ts_obs:.2f}, TS-Obs slope "
        f"{next(s.slope for s in reversed(row.slopes) if s.policy == 'TS-Obs'):.2f}"
        for row in result.bounds
        if row.p < 0.5
    )
