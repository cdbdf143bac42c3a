"""`takeup paper`: everything that the paper reports, measured again, with verdicts."""

import json
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer
from rich.console import Console

from takeup.cli import document
from takeup.cli.progress import watched
from takeup.paper import report
from takeup.paper.reproduction import LATENT_REPLICATIONS, PARTS, PaperSettings, Reproduction, reproduce, work
from takeup.simulation.run import EngineName

PartName: TypeAlias = Literal["table2", "regret", "stroke", "theory", "related", "beyond", "all"]

FOLDER = Path("takeup-paper")

DRAWING = 0.1
"""The share of the bar that drawing takes."""


def paper(
    part: Annotated[PartName, typer.Argument(help="What to measure again.")] = "all",
    replications: Annotated[int, typer.Option(min=2, help="Runs of each cell.")] = 500,
    latent_replications: Annotated[
        int, typer.Option(min=0, help="At most so many runs of table 2's TS-Lat rows; 0 leaves them out.")
    ] = LATENT_REPLICATIONS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")] = 0,
    engine: Annotated[EngineName, typer.Option(help="What runs it.")] = "auto",
    scheduler: Annotated[str | None, typer.Option(help="The address of a Dask scheduler.")] = None,
    with_latent: Annotated[bool, typer.Option("--with-latent", help="TS-Lat in the stroke trial too.")] = False,
    out: Annotated[
        Path | None, typer.Option(help=f"Where the report goes; {FOLDER} for all, else none unless named.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Measure what Stirn & Jebara (2019) report again, and say result by result whether it agrees.

    Table 2, the regret sweep, the theory, the stroke trial, the papers that it compares itself with, and what lies
    beyond it; `all` writes a report with charts as well, with fewer runs of the last two.
    """
    parts: list[str] = list(PARTS) if part == "all" else [part]
    folder = FOLDER if out is None and part == "all" and not as_json else out
    if folder is not None:
        report.check(folder)
    settings = PaperSettings(
        replications, latent_replications, seed, engine, scheduler, with_latent, brief=part == "all"
    )
    made, page = _run(parts, settings, folder)
    if as_json:
        typer.echo(json.dumps(made.as_json()))
        return
    console = Console()
    for chapter in made.chapters().values():
        document.show(console, chapter)
    if page is not None:
        console.print(f"report: {page}", soft_wrap=True, highlight=False)


def _run(parts: list[str], settings: PaperSettings, folder: Path | None) -> tuple[Reproduction, Path | None]:
    """Measures, and writes the report where one is wanted, under one bar."""
    simulating = work(parts, settings)
    drawing = simulating * DRAWING if folder is not None else 0
    with watched("starting", simulating + drawing) as (progress, stage):
        made = reproduce(parts, settings, progress, stage)
        if folder is None:
            return made, None
        stage("drawing")
        return made, report.write(made, folder, lambda share: progress(share * drawing))
