"""The pages of the service: what people see in a browser."""

from takeup.service.pages import board, desk, log, new, sandbox, signing, steer, trials
from takeup.service.pages.page import Page

PARTS = (
    trials.pages,
    board.pages,
    new.pages,
    desk.pages,
    log.pages,
    steer.pages,
    sandbox.pages,
    signing.pages,  # last, as it takes whatever no other page is
)


def routes() -> list[Page]:
    """All pages."""
    return [route for part in PARTS for route in part.routes]
