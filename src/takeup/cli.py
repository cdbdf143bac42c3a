"""The command line."""

import json
import sys
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from takeup.errors import TakeupError
from takeup.paper import contextual
from takeup.paper.agreement import REPLICATIONS
from takeup.version import __version__

app = typer.Typer(
    name="takeup",
    help="Adaptive experiments in which people do not do what they are told.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
)


def main() -> None:
    """Run the command line: exit code 2 for bad input, 130 for Ctrl-C, and no traceback for either."""
    try:
        app()
    except TakeupError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {error}", highlight=False)
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"takeup {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Adaptive experiments in which people do not do what they are told."""


@app.command(
    epilog="Examples:\n\n[bold]takeup demo[/]\n\n[bold]takeup demo --replications 500 --seed 7[/]\n\n"
    "[bold]takeup demo --json > table2.json[/]"
)
def demo(
    replications: Annotated[int, typer.Option(min=2, help="Runs of each policy in each environment.")] = REPLICATIONS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Run the four policies of Stirn & Jebara (2019) in their four environments, beside their figures."""
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("simulating", total=contextual.decisions(replications))
        cells = contextual.table(replications, seed, lambda done: bar.advance(task, done))
    if as_json:
        figures = [figure for cell in cells for figure in _figures(cell)]
        typer.echo(json.dumps({"table2": {"replications": replications, "seed": seed, "cells": figures}}))
        return
    console = Console()
    console.print(_table(cells, replications, seed))
    agreeing = sum(comparison.agrees for cell in cells for comparison in cell.comparisons)
    total = sum(len(cell.comparisons) for cell in cells)
    console.print(
        f"{agreeing} of {total} medians and means agree with the paper: within four standard errors of both sides.\n"
        "Environments: 1 everyone complies, 2 everyone does the opposite, 3 most comply, 4 most do the opposite."
    )


def _figures(cell: contextual.Cell) -> list[dict[str, object]]:
    """A cell's comparisons, for machines."""
    where = {"environment": cell.environment, "policy": cell.policy}
    return [where | asdict(comparison) | {"agrees": comparison.agrees} for comparison in cell.comparisons]


def _table(cells: list[contextual.Cell], replications: int, seed: int) -> Table:
    """Final regret, a row a policy in an environment, with the published figures beside it."""
    table = Table(
        title=f"Regret after {contextual.HORIZON:,} patients, {replications} runs, seed {seed} (published in brackets)"
    )
    for name in ("environment", "policy", "median", "mean", "sd", "agrees"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    last = 0
    for cell in cells:
        if last and cell.environment != last:
            table.add_section()
        figures = [
            f"{getattr(cell.measured, name):.2f} ({getattr(cell.published, name):.2f})"
            for name in ("median", "mean", "sd")
        ]
        verdict = "[green]yes[/]" if all(c.agrees for c in cell.comparisons) else "[red]no[/]"
        table.add_row("" if cell.environment == last else str(cell.environment), cell.policy, *figures, verdict)
        last = cell.environment
    return table
