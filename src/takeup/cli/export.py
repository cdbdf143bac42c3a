"""`takeup export`: a trial's decisions as a file, or as datasets of CDISC."""

from pathlib import Path
from typing import Annotated

import typer

from takeup import folders
from takeup.cli.serve import DATABASE_VARIABLE
from takeup.errors import InputError
from takeup.trial.formats import FORMATS, format_of


def export(
    database: Annotated[
        str, typer.Argument(envvar=DATABASE_VARIABLE, help="A SQLite file or a URL: sqlite:///file.db, postgresql://..")
    ],
    file: Annotated[
        Path | None, typer.Argument(help=f"Where to; its ending says which format: .{', .'.join(FORMATS)}.")
    ] = None,
    trial: Annotated[str | None, typer.Option(help="Which trial; the only one where left out.")] = None,
    kind: Annotated[
        str | None, typer.Option("--format", help=f"One of {', '.join(FORMATS)}, whatever the file's ending.")
    ] = None,
    blinded: Annotated[
        bool, typer.Option("--blinded", help="Leave out arms, outcomes, probabilities, and when these were reported.")
    ] = False,
    cdisc: Annotated[
        Path | None,
        typer.Option(help="A folder for DM, EX, ADSL and the outcomes, as Dataset-JSON; instead of a file."),
    ] = None,
    xpt: Annotated[bool, typer.Option("--xpt", help="With --cdisc: SAS transport files beside them.")] = False,
    study: Annotated[
        str | None, typer.Option(help="With --cdisc: STUDYID; the trial's identifier where left out.")
    ] = None,
    occasion: Annotated[
        str | None, typer.Option(help="With --cdisc: which of a unit's decisions, where units have several.")
    ] = None,
    untreated: Annotated[
        str | None, typer.Option(help="With --cdisc: the action that means that nothing was taken.")
    ] = None,
    zone: Annotated[str, typer.Option(help="With --cdisc: the time zone of dates, such as Europe/Berlin.")] = "UTC",
) -> None:
    """Write a trial's decisions, a row each, to a file; or to a folder as datasets of CDISC.

    Nothing is written to the database.
    """
    if (file is None) == (cdisc is None):
        raise InputError("FILE and --cdisc", "neither" if file is None else "both", "a file, or a folder with --cdisc")
    if cdisc is None:
        _refuse("with --cdisc", xpt=xpt, study=study, occasion=occasion, untreated=untreated, zone=zone != "UTC")
        format_of(file, kind)
    else:
        _refuse("with a file: datasets of CDISC tell arms and outcomes", blinded=blinded)
        _refuse("with a file", format=kind)
        folders.check(cdisc, "--cdisc")
    from takeup.live.export import export as write_rows
    from takeup.store import looking, now, reading

    with looking(database) as connection:
        name = reading.named(connection, trial)
        if file is not None:
            write_rows(connection, name, file, kind, at=now(), blinded=blinded)
            typer.echo(file)
            return
        from takeup.cdisc import write
        from takeup.cdisc.trials import study_in

        made = study_in(connection, name, name=study, occasion=occasion, untreated=untreated, zone=zone)
        assert cdisc is not None  # or else a file
        for each in write(made, cdisc, transport=xpt):
            typer.echo(cdisc / each)


def _refuse(allowed: str, **given: object) -> None:
    for name, value in given.items():
        if value:
            raise InputError(f"--{name}", "given", allowed)
