"""`takeup create`: a trial in a database, which may take over a running one."""

from pathlib import Path
from typing import Annotated, Any

import typer

from takeup.cli.log_source import in_options, probability_of
from takeup.cli.serve import DATABASE, Database
from takeup.errors import InputError

COLUMNS = "Columns of --past"


def create(
    spec: Annotated[Path, typer.Argument(help="The trial's spec, a TOML or JSON file.")],
    database: Database = DATABASE,
    trial: Annotated[
        str | None, typer.Option(help="The trial's identifier; made from its name where left out.")
    ] = None,
    past: Annotated[
        Path | None,
        typer.Option(help="A table of those who were assigned before, a row each: .csv, .parquet or .jsonl."),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Whom each row is about; unit where left out.", rich_help_panel=COLUMNS)
    ] = None,
    assigned: Annotated[
        str | None, typer.Option(help="What was offered; assigned where left out.", rich_help_panel=COLUMNS)
    ] = None,
    taken: Annotated[
        str | None, typer.Option(help="What was taken; not known where left out.", rich_help_panel=COLUMNS)
    ] = None,
    outcome: Annotated[
        str | None, typer.Option(help="What came of it; outcome where left out.", rich_help_panel=COLUMNS)
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="What people were told apart by before, as the site; repeatable.", rich_help_panel=COLUMNS),
    ] = None,
    probability: Annotated[
        list[str] | None,
        typer.Option(
            help="The probability of what was offered, or LABEL=COLUMN or LABEL=SHARE for each label; not known where"
            " left out.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    exposure: Annotated[
        str | None, typer.Option(help="Of counts: how long each was watched.", rich_help_panel=COLUMNS)
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="When each was assigned; rows are in its order.", rich_help_panel=COLUMNS)
    ] = None,
    occasion: Annotated[
        str | None, typer.Option(help="Which of a unit's decisions, where it has many.", rich_help_panel=COLUMNS)
    ] = None,
) -> None:
    """Create a trial, in draft. With --past it takes over a running one: all of the table, or there is no trial.

    A service that uses the same database shows it at once.
    """
    columns: dict[str, Any] = {
        "unit": unit,
        "assigned": assigned,
        "taken": taken,
        "outcome": outcome,
        "context": context[0] if context and len(context) == 1 else context,
        "probability": probability_of(probability) if probability else None,
        "exposure": exposure,
        "time": time,
        "occasion": occasion,
    }
    given = {name: value for name, value in columns.items() if value is not None}
    if past is None and given:
        raise InputError(f"--{next(iter(given))}", "a column", "nothing without --past, a table that has it")
    from takeup.live import Past, Trial

    with in_options(frame="--past", path="--past"):
        made = Trial.create(
            database, spec, trial=trial, by="command line", past=None if past is None else Past(past, **given)
        )
    with made:
        progress = made.progress()
        taken_over = f", with {progress.past:,} past assignments" if progress.past else ""
        typer.echo(f"{made.id}: a draft{taken_over}")
