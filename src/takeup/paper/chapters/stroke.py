"""The stroke trial: what adaptive proposals would have gained, by the model and with the patients as they are."""

from takeup import charts
from takeup.charts.document import Judged, ReportFigure, ReportTable
from takeup.datasets import ATTRIBUTION, Outcome
from takeup.paper.agreement import STANDARD_ERRORS
from takeup.paper.document import Chapter, Checked, figure, with_error
from takeup.paper.rules import Claim
from takeup.paper.stroke import HORIZON, StrokeResult, StrokeSetting
from takeup.paper.stroke_claims import StrokeClaim

SOURCES = {
    "paper": "the compliance and success rates that the paper prints",
    "recomputed": "the same rates from the patients, in the paper's coding",
    "as-treated": "the rates where heparin not recorded as given counts as not given",
    "patients": "the patients as they are, whose outcome depends on the proposal too",
}

WHAT = (
    f"Excess successes over uniform exploration in trials of {HORIZON:,} patients. STS is survival to discharge or 14 "
    "days, LTS survival to six months, LTR full recovery at six months."
)

ROBUST = "fewer of TS-Robust, which is not of the paper and runs with the patients as they are alone"


def chapter(result: StrokeResult) -> Chapter:
    """Excess successes, the model beside the patients, and the claims under each set of parameters."""
    claims = [claim for setting in result.settings for claim in setting.claims]
    apart = [prediction for prediction in result.predictions if not prediction.agrees]
    return Chapter(
        title="The International Stroke Trial (excess successes)",
        verdict=f"{sum(claim.holds for claim in claims)} of {len(claims)} claims hold; {len(apart)} of "
        f"{len(result.predictions)} predictions of the model do not survive the patients.",
        text=(
            f"{WHAT} {result.replications:,} trials; {ROBUST}.",
            "Truths: " + "; ".join(f"{name}: {what}" for name, what in SOURCES.items()) + ".",
            ATTRIBUTION,
        ),
        checked=tuple(
            Checked(f"What the text says, with the truth {setting.parameters!r}", tuple(map(_claim, setting.claims)))
            for setting in result.settings
        ),
        tables=(_excess(result), _predictions(result)),
        figures=(
            ReportFigure(
                "stroke",
                "Excess successes over uniform exploration with intervals of two Monte Carlo errors, by the truth that "
                "patients are drawn from.",
                "; ".join(
                    f"{setting.parameters}, {row.outcome}, {row.policy}: {row.mean:.0f}"
                    for setting in result.settings
                    for row in setting.excess
                ),
                lambda: charts.excess(
                    [
                        {
                            "parameters": setting.parameters,
                            "outcome": row.outcome,
                            "policy": row.policy,
                            "mean": row.mean,
                            "mcse": row.mcse,
                        }
                        for setting in result.settings
                        for row in setting.excess
                    ]
                ),
            ),
        ),
    )


def _excess(result: StrokeResult) -> ReportTable:
    policies = list(dict.fromkeys(row.policy for setting in result.settings for row in setting.excess))
    rows = tuple(
        (
            setting.parameters,
            best.outcome,
            *(_cell(setting, best.outcome, policy) for policy in policies),
            figure(best.excess),
            best.proposal,
        )
        for setting in result.settings
        for best in setting.best
    )
    columns = ("truth", "outcome", *policies, "at most", "best proposal")
    return ReportTable(
        "Excess successes: mean ± Monte Carlo error, and what always proposing the best would give", columns, rows, 2
    )


def _cell(setting: StrokeSetting, outcome: Outcome, policy: str) -> str:
    """Empty where the policy was not run."""
    rows = (row for row in setting.excess if (row.outcome, row.policy) == (outcome, policy))
    return next((with_error(row.mean, row.mcse) for row in rows), "")


def _predictions(result: StrokeResult) -> ReportTable:
    rows = tuple(
        (c.parameters, c.outcome, c.policy, figure(c.predicted), Judged(figure(c.patients), c.agrees), figure(c.error))
        for c in result.predictions
    )
    return ReportTable(
        "What the model predicts beside what the patients would have given; they agree within "
        f"{STANDARD_ERRORS:g} standard errors of the difference",
        ("model's rates", "outcome", "policy", "model", "patients", "error"),
        rows,
        words=3,
    )


def _claim(claim: StrokeClaim) -> Claim:
    shown = (f"{f.name}: {f.value:.4g}" + (f" ± {f.error:.2g}" if f.error else "") for f in claim.figures)
    return Claim(claim.claim, claim.rule, claim.holds, "; ".join(shown))
