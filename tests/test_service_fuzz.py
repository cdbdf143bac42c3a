"""What `make fuzz` is made of, and that it would notice; a hundred and more of its cases are for `make long`."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from fuzzing import wire
from fuzzing.broken import broken
from fuzzing.client import Client, FailedError, Failure, Tally
from fuzzing.covariates import covariates, values, wrong
from fuzzing.furniture import Furniture
from fuzzing.raw import raw
from fuzzing.requests import BODIES, FORMS, PAGES, READS
from fuzzing.run import PLAIN, SHARES, Plan, family_of, fuzz
from fuzzing.specs import near, spec
from fuzzing.values import Dice, as_json, as_toml
from fuzzing.watching import WAITS
from takeup import InputError, Space
from takeup.errors import TakeupError
from takeup.service import pages
from takeup.service.routes import routes

NOBODY = Furniture({}, {})
LIVE = {"/app/trials/{trial}/stream"}
"""Never ends."""


@pytest.mark.long
def test_a_service_bears_what_chance_sends(tmp_path: Path) -> None:
    """How long anybody waited is not looked at: that depends on what else the machine does."""
    plan = Plan(folder=tmp_path, seed=26, cases=120, connections=8, control=0.5, patience=300, lost=300)
    result = asyncio.run(fuzz(plan))
    assert [each for each in result.failures if each.family != WAITS] == []
    assert result.cases == 120
    assert result.tallies["specs"].lived > 2  # of 15; the rest is refused
    assert result.tallies["bodies"].accepted > 5
    assert result.audited > 5


def test_every_operation_and_every_page_is_fuzzed() -> None:
    operations = {(method, route.path) for route in routes() for method in route.methods or ()}
    assert {*BODIES, *READS} == operations
    for method, known in (("GET", PAGES), ("POST", FORMS)):
        of_trials = {path.replace(f"/{trial}/", "/{trial}/") for path in known for trial in ("t", "draft", "moved")}
        shown = {page.path for page in pages.routes() if method in (page.methods or ())} - LIVE
        named = {re.sub("{(sketch|name|person|token)}", "{id}", path) for path in shown if ":path" not in path}
        assert named <= {*known, *of_trials}


def test_a_case_is_the_same_whenever_it_is_played() -> None:
    assert {family_of(number) for number in range(100)} == set(SHARES)
    twice: list[object]
    for number in range(300):
        family = family_of(number)
        if family == "specs":
            twice = [as_json(spec) + as_toml(spec) for spec in (near(Dice(1, number)), near(Dice(1, number)))]
        else:
            make: Callable[..., object] = PLAIN.get(family, broken if family == "broken" else raw)
            twice = [make(Dice(1, number), NOBODY, "mark") for _ in range(2)]
        assert twice[0] == twice[1]
    assert as_json(near(Dice(1, 1))) != as_json(near(Dice(2, 1)))


def test_covariates_are_in_the_specs_and_their_values_are_as_they_should_be() -> None:
    """Of what the grammar makes most is a space; good values are taken, and of wrong ones at most an error says so."""
    spaces = 0
    for number in range(150):
        dice = Dice(1, number, "covariates")
        made = covariates(dice)
        try:
            space = Space(2, **made)
        except InputError:
            continue
        spaces += 1
        space.profile(values(dice, made["covariates"]))
        given = wrong(dice, made["covariates"])
        try:
            known = json.loads(as_json(given))
        except ValueError:
            continue
        with suppress(TakeupError):
            space.profile(known)
    assert spaces > 75
    assert sum("covariates" in spec(Dice(1, number))["space"] for number in range(200)) > 30


async def _answered(answer: bytes, ask: Callable[[Client], Awaitable[object]]) -> list[Failure]:
    """What a client has on record after a service that always answers the same."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    failures: list[Failure] = []
    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        client = Client(server.sockets[0].getsockname()[1], NOBODY, failures)
        client.begin("1:2", "bodies", Tally())
        await ask(client)
        client.close()
    return failures


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n{}", "status 500"),
        (b"HTTP/1.1 503 Oh\r\nContent-Length: 2\r\n\r\n{}", "status 503"),
        (b"", "EndedError: the connection ended without an answer"),
        (b"nonsense\r\n\r\n", "status 599"),
    ],
)
def test_what_a_service_must_not_answer_is_a_failure(answer: bytes, what: str) -> None:
    async def ask(client: Client) -> None:
        with pytest.raises(FailedError):
            await client.send(wire.request("GET", "/", {}))

    failures = asyncio.run(_answered(answer, ask))
    assert [(each.what, each.case) for each in failures] == [(what, "1:2")]


def test_what_a_service_may_answer_is_none() -> None:
    async def ask(client: Client) -> None:
        problem = b'{"type": "urn:takeup:input"}'
        assert (await client.send(wire.request("GET", "/", {}))).body == problem

    head = b"HTTP/1.1 422 Oh\r\nContent-Type: application/problem+json\r\nContent-Length: 28\r\n\r\n"
    assert asyncio.run(_answered(head + json.dumps({"type": "urn:takeup:input"}).encode(), ask)) == []
