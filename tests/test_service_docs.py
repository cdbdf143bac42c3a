"""docs/service.md and docs/exports.md have a line for every route and every option, and for nothing else."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperArgument, TyperGroup

import asgi
from takeup.cli import app
from takeup.service.auth import SCOPES
from takeup.service.callers import SCOPES as ALL
from takeup.service.models import MOST_KEY
from takeup.service.routes import routes

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "service.md").read_text() + (DOCS / "exports.md").read_text()
COMMANDS = (
    "serve",
    "create",
    "keys create",
    "keys list",
    "keys revoke",
    "people invite",
    "people list",
    "people deactivate",
    "audit",
    "doctor",
    "selftest",
    "export",
)


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    section = re.split(r"\n#+ ", PAGE.split(f"# {heading}\n", 1)[1])[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_every_route_has_its_line() -> None:
    described = {(method, path): scope for method, path, scope, _ in rows("Routes")}
    found = {}
    for route in routes():
        scopes = tuple((route.openapi_extra or {})[SCOPES])
        found["".join(route.methods or ()), route.path] = {(): "none", tuple(ALL): "any"}.get(scopes, ", ".join(scopes))
    assert described == found


def test_one_number_says_how_long_an_idempotency_key_may_be() -> None:
    (said,) = re.findall(r"`Idempotency-Key` with .*: any text of up to (\d+) characters", PAGE)
    with asgi.api() as running:
        described = running.request("GET", "/openapi.json").json
    found = {
        part["schema"]["maxLength"] if "maxLength" in part["schema"] else part["schema"]["anyOf"][0]["maxLength"]
        for operation in described["paths"].values()
        for method in operation.values()
        for part in method.get("parameters", ())
        if part["name"] == "idempotency-key"
    }
    assert (found, int(said)) == ({MOST_KEY}, MOST_KEY)


def test_every_scope_has_its_line() -> None:
    assert [name for name, _ in rows("Keys and scopes")] == list(ALL)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_its_line(name: str) -> None:
    command: Any = typer.main.get_command(app)
    for word in name.split():
        assert isinstance(command, TyperGroup)
        command = command.commands[word]
    options = {
        (each.name or "").upper() if isinstance(each, TyperArgument) else max(each.opts, key=len)
        for each in command.params
        if each.name != "help"
    }
    assert {option for option, _ in rows(f"takeup {name}")} == options
