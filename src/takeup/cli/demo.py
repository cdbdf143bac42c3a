"""`takeup demo`: the paper's table 2, beside its figures."""

import json
from typing import Annotated

import typer
from rich.console import Console

from takeup.cli import document
from takeup.cli.progress import staged
from takeup.paper import contextual
from takeup.paper.agreement import REPLICATIONS
from takeup.paper.chapters import table2


def demo(
    replications: Annotated[int, typer.Option(min=2, help="Runs of each policy in each environment.")] = REPLICATIONS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Run the four policies of Stirn & Jebara (2019) in their four environments, beside their figures."""
    with staged("simulating", contextual.work(replications)) as (progress, _):
        cells = contextual.table(replications, seed, progress=progress)
    if as_json:
        typer.echo(json.dumps({"table2": {"replications": replications, "seed": seed, **table2.as_json(cells)}}))
        return
    console = Console()
    console.print(document.rich(table2.table(cells)))
    agree, total = contextual.agreeing(cells)
    console.print(
        f"{agree} of {total} figures agree with the paper: within four standard errors of both sides.\n"
        "Environments: 1 everyone complies, 2 everyone does the opposite, 3 most comply, 4 most do the opposite."
    )
