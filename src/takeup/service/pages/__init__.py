"""The pages of the service: what people see in a browser."""

from takeup.service.pages import analysis, decide_report, log, new_trial, sandbox, sign_in, trial, trials
from takeup.service.pages.page import Page

PARTS = (
    trials.pages,
    trial.pages,
    new_trial.pages,
    decide_report.pages,
    log.pages,
    analysis.pages,
    sandbox.pages,
    sign_in.pages,  # last, as it takes whatever no other page is
)


def routes() -> list[Page]:
    """All pages."""
    return [route for part in PARTS for route in part.routes]
