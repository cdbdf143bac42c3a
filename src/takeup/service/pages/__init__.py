"""The pages of the service: what people see in a browser."""

from takeup.service.pages import board, signing, trials
from takeup.service.pages.page import Page

PARTS = (trials.pages, board.pages, signing.pages)


def routes() -> list[Page]:
    """All pages."""
    return [route for part in PARTS for route in part.routes]
