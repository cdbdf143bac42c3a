"""Gates of input, secrets and rights, a few times."""

from pathlib import Path

import pytest

import gated
from gates import secrets
from gates.blinding import ALLOWED
from gates.gate import Gate, Run
from takeup.service import pages
from takeup.service.routes import routes

UNREAD = {"DELETE /keys/{id}", "GET /metrics", "GET /app/try", "GET /app/static/{name}"}
"""Ends a key, counts requests, plays with made-up numbers, has files of the package: nothing of any trial."""


@gated.each("blinding", "guessing", "operations", "secrets")
def test_it_holds_and_its_control_does_not(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path)


@pytest.mark.long
def test_no_secret_is_left_behind_by_a_day(tmp_path: Path) -> None:
    found = secrets.days(Run(tmp_path, times=1, seed=1))
    assert found.passed, found.figures


def test_every_operation_and_page_has_a_list_of_what_blinded_readers_may_see() -> None:
    """Forms of pages answer with another page, or with their own."""
    operations = {f"{''.join(route.methods or ())} {route.path}" for route in routes()}
    shown = {f"GET {page.path}" for page in pages.routes() if "GET" in (page.methods or ())}
    assert set(ALLOWED) == (operations | shown) - UNREAD
