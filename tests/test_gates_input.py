"""Gates of input, secrets and rights, a few times; their controls are for `make long`."""

import base64
import math
from pathlib import Path

import pytest
from scipy.stats import binom

import blind_worlds
import gated
import secret_day
from gates import secrets, timing
from gates.blinding import ALLOWED
from gates.gate import Gate, Run
from takeup.service import pages
from takeup.service.routes import routes

UNREAD = {"DELETE /keys/{id}", "GET /metrics", "GET /app/try", "GET /app/static/{name}"}
"""Ends a key, counts requests, plays with made-up numbers, has files of the package: nothing of any trial."""


@gated.each("blinding", "guessing", "operations", "secrets")
def test_it_holds(gate: Gate, tmp_path: Path) -> None:
    """Two gates look at the same pair of worlds, and differ in what their controls take away: it is looked at once."""
    if gate.name == "blinded-counts":
        assert gate.run is gated.gate("blinded").run
    else:
        gated.hold(gate, tmp_path, control=False)


@pytest.mark.long
@gated.each("blinding", "guessing", "operations", "secrets")
def test_its_control_does_not_hold(gate: Gate, tmp_path: Path) -> None:
    gated.fail(gate, tmp_path)


@pytest.mark.long
def test_no_secret_is_left_behind_by_a_day(tmp_path: Path) -> None:
    found = secrets.days(Run(tmp_path, times=1, seed=1))
    assert found.passed, found.figures


def test_every_operation_and_page_has_a_list_of_what_blinded_readers_may_see() -> None:
    """Forms of pages answer with another page, or with their own."""
    operations = {f"{''.join(route.methods or ())} {route.path}" for route in routes()}
    shown = {f"GET {page.path}" for page in pages.routes() if "GET" in (page.methods or ())}
    assert set(ALLOWED) == (operations | shown) - UNREAD


@pytest.mark.parametrize("count", [30, 300, 1_001, 20_000])
def test_the_interval_of_a_median_is_as_sure_as_it_says(count: int) -> None:
    """By the binomial distribution of how many of the differences are below the median."""
    low, high = timing.interval([float(each) for each in range(count)])
    below = binom(count, 0.5)
    assert below.cdf(high) - below.cdf(low) > 0.9985
    assert high - low < 4 * math.sqrt(count)


def test_a_seed_is_looked_for_in_every_form() -> None:
    seed = "5e" * 32
    for form in (seed, seed.upper(), str(int(seed, 16)), base64.b64encode(bytes.fromhex(seed)).decode()[:-1]):
        assert any(each in f"xx{form}yy".encode() for each in secret_day.forms(seed))
    assert not any(each in b"5e" * 31 for each in secret_day.forms(seed))


def test_the_worlds_of_a_pair_differ() -> None:
    """Or else it would mean nothing that they look alike."""
    both = []
    for truth in (1, 2):
        with blind_worlds.world(3, truth) as world:
            both.append(world.api.request("GET", "/trials/t/export?format=jsonl", key=world.boss).body)
    assert both[0] != both[1]
