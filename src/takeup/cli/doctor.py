"""`takeup doctor`: what live trials would run on here."""

import platform
from typing import Annotated

import typer

from takeup.cli.serve import DATABASE_VARIABLE
from takeup.errors import TakeupError
from takeup.qualification.needs import EXTRAS, missing
from takeup.version import __version__


def doctor(
    database: Annotated[
        str | None, typer.Argument(envvar=DATABASE_VARIABLE, help="A SQLite file or a URL to look at as well.")
    ] = None,
) -> None:
    """Say which versions and which SQLite there are, and whether a database is in order.

    The exit code is 1 where something is wrong.
    """
    typer.echo(f"takeup {__version__} on Python {platform.python_version()}, {platform.platform()}")
    for extra in EXTRAS:
        lacking = missing(extra)
        typer.echo(f"extra {extra}: {'installed' if not lacking else 'lacks ' + ', '.join(lacking)}")
    try:
        from takeup.store.sqlite import library

        typer.echo(str(library()))
        problems = [] if database is None else _database(database)
    except TakeupError as error:
        problems = [str(error)]
    for problem in problems:
        typer.echo(f"PROBLEM: {problem}")
    if problems:
        raise typer.Exit(1)


def _database(database: str) -> list[str]:
    """What is wrong with a database."""
    from takeup.store import looking
    from takeup.store.checkup import checkup

    with looking(database) as connection:
        found = checkup(connection)
    for line in found.facts:
        typer.echo(line)
    return found.problems
