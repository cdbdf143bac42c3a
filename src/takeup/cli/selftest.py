"""`takeup selftest`: installation and operation qualification on this machine."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from takeup.cli.progress import watched
from takeup.qualification import Qualification, qualify
from takeup.qualification.run import digest

CODES = {"passed": 0, "failed": 1, "not run": 3}
"""Exit codes; 2 is for bad input."""
MARKS = {"passed": "[green]✓[/]", "failed": "[red]✗[/]", "not run": "[yellow]o[/]"}


def selftest(
    report: Annotated[
        Path | None, typer.Option(help="A folder for report.html, to sign and file, and report.json.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings for machines.")] = False,
) -> None:
    """Check that takeup is installed as it was built, and does on this machine what it should.

    Numbers against closed forms, error rates and intervals, a trial that is killed, audited and forged, the service.
    Each group has controls, in which a planted fault has to be found. The exit code is 0 where all checks passed,
    1 where one failed, 3 where none failed and one was not run, as without an extra, and 2 for bad input.
    """
    from takeup.qualification import report as reports

    if report is not None:
        reports.check(report)
    with _ended(), watched("checking", 1) as (progress, stage):
        found = qualify(progress, stage)
    written = None if report is None else reports.write(found, report)
    content = found.content()
    if as_json:
        typer.echo(json.dumps({"sha256": digest(content), "content": content}))
    else:
        _show(Console(), found)
        typer.echo(f"{found.said}. SHA-256 of the content: {digest(content)}")
        if written is not None:
            typer.echo(f"{written[0]} is the page to sign and file.")
    raise typer.Exit(CODES[found.verdict])


@contextmanager
def _ended() -> Iterator[None]:
    """Whoever sends SIGTERM ends what was started here as well, as Ctrl-C does."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(console: Console, found: Qualification) -> None:
    for name, value in found.facts.items():
        console.print(f"[dim]{name}:[/] {escape(value)}", highlight=False)
    table = Table(title="Checks; those called Control plant a fault that has to be found", title_justify="left")
    for column, style in (("", ""), ("what was checked", ""), ("serves", "dim"), ("", ""), ("found", "")):
        table.add_column(column, style=style, overflow="fold")
    group = ""
    for each in found.outcomes:
        if each.group != group:
            group = each.group
            table.add_section()
        said = each.found if each.verdict != "failed" else f"{each.found}; expected: {each.expected}"
        served = ", ".join(each.requirements)
        table.add_row(each.number, escape(each.title), served, MARKS[each.verdict], escape(said))
    console.print(table)
