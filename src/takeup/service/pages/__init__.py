"""The pages of the service: what people see in a browser."""

from takeup.service.pages import (
    account,
    analysis,
    decide_report,
    invitation,
    keys,
    log,
    new_trial,
    past,
    people,
    sandbox,
    sign_in,
    signing,
    trial,
    trials,
    worklist,
)
from takeup.service.pages.page import Page

PARTS = (
    trials.pages,
    trial.pages,
    signing.pages,
    new_trial.pages,
    past.pages,
    decide_report.pages,
    worklist.pages,
    log.pages,
    analysis.pages,
    sandbox.pages,
    people.pages,
    keys.pages,
    account.pages,
    invitation.pages,
    sign_in.pages,  # last, as it takes whatever no other page is
)


def routes() -> list[Page]:
    """All pages."""
    return [route for part in PARTS for route in part.routes]
