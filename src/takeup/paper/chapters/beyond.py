"""Beyond the paper: audits, pilots, drift, TS-Robust, and other outcomes of the stroke trial."""

from takeup import charts
from takeup.charts.document import Entry, Judged, ReportFigure, ReportTable
from takeup.paper.beyond import BeyondResult
from takeup.paper.beyond_claims import claims
from takeup.paper.chapters import stroke_outcomes
from takeup.paper.document import Chapter, Checked, with_error
from takeup.paper.drift import CHANGE, EPOCH, HALF_LIFE
from takeup.paper.regret_curve import RegretCurve
from takeup.paper.robust import HORIZON, Bar, RatioCell

AUDITS = (
    "Audits: compliance of each decision is seen with one probability, whatever was done and came out of it: missing "
    "completely at random. Pilots: patients of the same environment, proposals at random, everything seen; their table "
    "is the prior of a trial that sees no compliance."
)
AUDITED = "What it is worth to see compliance: regret after {:,} patients ± Monte Carlo error"
PILOTED = "What a pilot is worth where the trial sees no compliance: regret after {:,} patients"
ROBUST = (
    f"TS-Robust at T = {HORIZON:,}, beside TS on the same patients. The gain is one of finite horizons: a policy that "
    "is consistent over every joint law of action and outcome pays the constant of TS in log T."
)


def chapter(result: BeyondResult) -> Chapter:
    """A table for each experiment, the claims, and the chart of the audits."""
    checked = claims(result)
    drifting = (
        f"Drift: compliance changes after {CHANGE:,} decisions; half-life {HALF_LIFE}, epochs of {EPOCH}. "
        "Environments that change run in the numpy reference."
    )
    runs = (
        f"{result.audited.replications:,} runs of the audits, pilots, drift and stroke patients; of TS-Robust "
        f"{result.robust.replications:,} at each p, four times that in the trap, "
        f"{result.robust.world_replications:,} in each of the random worlds."
    )
    return Chapter(
        title="Beyond the paper: audits, pilots, drift, TS-Robust and other outcomes",
        verdict=f"{sum(claim.holds for claim in checked)} of {len(checked)} claims hold.",
        text=(runs, AUDITS, drifting, ROBUST, stroke_outcomes.TEXT),
        checked=(Checked("What is said of these policies, and whether the runs bear it out", checked),),
        tables=(
            _regrets(AUDITED.format(result.audited.horizon), "audited", result.audited),
            _regrets(PILOTED.format(result.piloted.horizon), "patients of the pilot", result.piloted),
            _drift(result),
            _cells(result),
            *((_curve(result),) if result.robust.curve else ()),
            _patients(result),
            *stroke_outcomes.tables(result.outcomes),
        ),
        figures=(
            ReportFigure(
                "audits",
                f"Mean regret after {result.audited.horizon:,} patients over the share of decisions whose compliance "
                "is seen, with bars of two Monte Carlo errors.",
                "; ".join(
                    f"environment {p.environment}, {p.at:.0%} audited, {p.policy}: {p.mean:.1f}"
                    for p in result.audited.points
                ),
                lambda: charts.regret_over_audits(result.audited.records()),
            ),
            *stroke_outcomes.figures(result.outcomes),
        ),
    )


def _regrets(caption: str, quantity: str, curve: RegretCurve) -> ReportTable:
    """A row for each value of the quantity in an environment, a column for each policy."""
    rows: dict[tuple[int, float], list[str]] = {}
    for point in curve.points:
        rows.setdefault((point.environment, point.at), []).append(with_error(point.mean, point.mcse))
    shown = "{:.0%}" if curve.quantity == "fraction" else "{}"
    policies = dict.fromkeys(point.policy for point in curve.points)
    return ReportTable(
        caption,
        ("env.", quantity, *policies),
        tuple((str(number), shown.format(at), *regrets) for (number, at), regrets in rows.items()),
        words=1,
    )


def _drift(result: BeyondResult) -> ReportTable:
    rows = tuple((c.policy, c.where, *_regret_and_ratio(c)) for c in result.drift.costs)
    return ReportTable(
        "Compliance that changes half-way", ("policy", "phase", "regret", "ratio to the base"), rows, words=2
    )


def _cells(result: BeyondResult) -> ReportTable:
    rows = tuple((c.where, c.policy, *_regret_and_ratio(c)) for c in result.robust.cells)
    return ReportTable(
        "TS-Robust in the sweep and the trap", ("world", "policy", "regret", "ratio to TS"), rows, words=2
    )


def _regret_and_ratio(cell: RatioCell) -> tuple[str, str]:
    return with_error(cell.regret, cell.regret_error), with_error(cell.ratio, cell.ratio_error)


def _curve(result: BeyondResult) -> ReportTable:
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (f"{point.shared:g}", f"{point.sharpness:g}", *map(_bar, point.bars)) for point in result.robust.curve
    )
    columns = ("shared", "sharpness", *(bar.name for bar in result.robust.bars))
    return ReportTable(
        "The trade-off over the prior weight and the sharpness, on worlds of its own", columns, rows, words=0
    )


def _patients(result: BeyondResult) -> ReportTable:
    rows = tuple(
        (g.outcome, g.policy, with_error(g.excess, g.error), with_error(g.over_ts, g.over_ts_error))
        for g in result.patients.gains
    )
    return ReportTable(
        "Excess successes on the stroke patients", ("outcome", "policy", "over Uniform", "over TS"), rows, 2
    )


def _bar(bar: Bar) -> Judged:
    return Judged(with_error(bar.measured, bar.error), bar.met)
