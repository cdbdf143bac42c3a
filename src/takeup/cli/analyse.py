"""`takeup analyse`: what may be concluded from a trial, live or past."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from takeup import charts, folders
from takeup.cli.command import command
from takeup.cli.log_source import OPTIONS, cuts_of, in_options, read, shown
from takeup.cli.progress import watched
from takeup.errors import InputError
from takeup.frames.columns import meant
from takeup.outcomes import Better
from takeup.trial.design import Design
from takeup.trial.spec import load

if TYPE_CHECKING:
    from takeup.analysis.results import Analysis

STAGES = 4
COLUMNS = "A file of somebody else"
"""What options are about that name columns."""


def analyse(
    source: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL", help="A database, or a file: .csv, .parquet or .jsonl, takeup's export or anybody's."
        ),
    ],
    trial: Annotated[str | None, typer.Option(help="Of a database: which trial; the only one where left out.")] = None,
    assigned: Annotated[
        str | None, typer.Option(help="The column of what was offered.", rich_help_panel=COLUMNS)
    ] = None,
    taken: Annotated[str | None, typer.Option(help="The column of what was taken.", rich_help_panel=COLUMNS)] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of what came of it.", rich_help_panel=COLUMNS)] = None,
    better: Annotated[
        str | None,
        typer.Option(
            metavar="[higher|lower]",
            help="Which outcomes are good where they are numbers, or no and yes; higher where left out.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    level_of: Annotated[
        list[str] | None,
        typer.Option(
            "--outcome-level",
            help="A level of the outcome, from worst to best; repeatable.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            help="A column by which people were told apart before, such as the site; repeatable.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    probability: Annotated[
        list[str] | None,
        typer.Option(
            help="The column of the probability of what was offered, one number such as 0.5 where all are drawn evenly,"
            " or LABEL=COLUMN or LABEL=SHARE for each label;"
            " estimated where left out, as of randomisation that never changed.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="The column of whom each row is about.", rich_help_panel=COLUMNS)
    ] = None,
    exposure: Annotated[
        str | None,
        typer.Option(help="Of counts: the column of how long each was watched.", rich_help_panel=COLUMNS),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(
            help="A column of what else was known of each before, such as the age; repeatable.",
            rich_help_panel=COLUMNS,
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(help="Of a CSV file that is not UTF-8, such as cp1252.", rich_help_panel=COLUMNS),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(help="What the others are compared with; that of the plan, or else the first."),
    ] = None,
    plan: Annotated[
        Path | None, typer.Option(help="A TOML file whose \\[analysis] leads; a trial of a database has its own.")
    ] = None,
    promise: Annotated[
        float | None,
        typer.Option(min=0, help="Takers and refusers differ by at most this without what they are offered."),
    ] = None,
    level: Annotated[
        float | None, typer.Option(min=0.5, max=0.9999, help="Of intervals; that of the plan, or else 0.95.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="[uniform|stabilised|batch]",
            help="How decisions count in intention to treat; as planned, or else uniform.",
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="[complete|weighted]",
            help="Whether those whose outcome is missing are left out, or others like them count for them, too.",
        ),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option(help="Of times: up to when they are compared; as planned, or as long as all were watched."),
    ] = None,
    cut: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=NUMBER,..",
            help="Where the groups of a covariate begin, as age=65,80; thirds where left out; repeatable.",
        ),
    ] = None,
    replays: Annotated[
        int | None, typer.Option(min=1, help="How often re-randomisation replays the trial; 10,000 or 1,000.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The seed.")] = 0,
    out: Annotated[Path | None, typer.Option(help="A folder for all figures and the report.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Analyse a trial: effects, tests, bounds and checks that hold after adaptive allocation with noncompliance.

    What the plan names as its analysis leads; everything else is called explored. What cannot be concluded is not shown
    as if it could, and says why.
    """
    from takeup.analysis.analyse import analyse as run

    if out is not None:
        folders.check(out)
    if better not in (None, *get_args(Better)):
        raise InputError("--better", repr(better), f"one of {', '.join(get_args(Better))}")
    columns = {
        "assigned": assigned,
        "taken": taken,
        "outcome": outcome,
        "better": better,
        "levels": level_of,
        "context": context,
        "probability": probability,
        "unit": unit,
        "exposure": exposure,
        "covariates": covariate,
        "encoding": encoding,
    }
    given = {name: value for name, value in columns.items() if value}
    asked = {"control": control, "promise": promise, "level": level, "weights": weights, "missing": missing}
    asked |= {"until": until, "replays": replays}
    told = None if plan is None else Design.of(load(plan), plan.name, new=False)
    with watched("reading the log", STAGES + 1) as (report, say), in_options():
        say("reading the log")
        found = read(source, trial, given, told)
        if control is not None and control not in (names := found.log.space.proposals):
            raise InputError("--control", repr(control), f"one of {', '.join(names)}", meant(control, names))

        if not found.log.finished and (weights or missing):
            option = "--weights" if weights else "--missing"
            raise InputError(option, repr(weights or missing), "nothing while the trial runs")

        def stage(words: str) -> None:
            report(1)
            say(words)

        analysis = run(
            found.log,
            plan=told,
            own=found.design,
            cuts=cuts_of(cut or []),
            **asked,  # type: ignore[arg-type]  # each of its own kind
            seed=seed,
            name=found.name,
            command=_again(
                source, {"trial": trial, **columns, **asked, "cut": cut, "plan": plan, "seed": seed or None}
            ),
            stage=stage,
        )
    _tell(analysis, out, as_json)


def _again(source: str, given: Mapping[str, Any]) -> str:
    """The command that gives the same figures; a password of a database is not in it."""
    options: list[str] = []
    for name, value in given.items():
        for each in value if isinstance(value, list) else [] if value is None else [value]:
            options += [OPTIONS.get(name, f"--{name}"), str(each)]
    return command("analyse", shown(source), *options)


def _tell(analysis: "Analysis", out: Path | None, as_json: bool) -> None:
    if out is not None:
        names = analysis.write(out)
        typer.echo(f"{out}: {', '.join(names)}", err=True)
        if not charts.available():
            typer.echo("note: the report needs pip install 'takeup[report]'", err=True)
    if as_json:
        from takeup.analysis.taken import compared_with

        for sentence in (compared_with(analysis), *analysis.log.inferred):
            typer.echo(sentence, err=True)
        typer.echo(json.dumps({"analysis": analysis.plain()}))
    else:
        from takeup.cli.analysis_tables import show

        show(analysis)
