"""`takeup demo`: the paper's table 2, beside its figures."""

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from takeup.cli.progress import watched
from takeup.paper import contextual
from takeup.paper.agreement import REPLICATIONS


def demo(
    replications: Annotated[int, typer.Option(min=2, help="Runs of each policy in each environment.")] = REPLICATIONS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Run the four policies of Stirn & Jebara (2019) in their four environments, beside their figures."""
    with watched("simulating", contextual.decisions(replications)) as report:
        cells = contextual.table(replications, seed, progress=report)
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
    for name in ("env.", "policy", "median", "mean", "sd", "agrees"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    last = 0
    for cell in cells:
        if last and cell.environment != last:
            table.add_section()
        figures = [
            f"{_short(getattr(cell.measured, name))} ({_short(getattr(cell.published, name))})"
            for name in ("median", "mean", "sd")
        ]
        verdict = "[green]yes[/]" if all(c.agrees for c in cell.comparisons) else "[red]no[/]"
        table.add_row("" if cell.environment == last else str(cell.environment), cell.policy, *figures, verdict)
        last = cell.environment
    return table


def _short(figure: float) -> str:
    """Two decimals as in the paper, and one from a hundred on."""
    return f"{figure:.1f}" if figure >= 100 else f"{figure:.2f}"
