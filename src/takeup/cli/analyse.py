"""`takeup analyse`: what may be concluded from a trial, live or past."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from takeup import charts, folders
from takeup.cli.command import command
from takeup.cli.progress import watched
from takeup.errors import InputError
from takeup.log import Log
from takeup.log.files import ENDINGS, read_log
from takeup.trial.design import Design
from takeup.trial.spec import load

if TYPE_CHECKING:
    from takeup.analysis.results import Analysis

STAGES = 4
COLUMNS = ("assigned", "taken", "outcome", "context", "probability", "unit")


class _Source(NamedTuple):
    """A log, the design that it is of, and its name."""

    log: Log
    design: Design | None
    name: str
    finished: bool = True


def analyse(
    source: Annotated[
        str,
        typer.Argument(
            metavar="TRIAL", help="A database, or a file: .csv, .parquet or .jsonl, takeup's export or anybody's."
        ),
    ],
    trial: Annotated[str | None, typer.Option(help="Of a database: which trial; the only one where left out.")] = None,
    assigned: Annotated[str | None, typer.Option(help="The column of what was offered.")] = None,
    taken: Annotated[str | None, typer.Option(help="The column of what was taken.")] = None,
    outcome: Annotated[str | None, typer.Option(help="The column of what came of it.")] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="A column by which people were told apart before, such as the site; repeatable."),
    ] = None,
    probability: Annotated[
        list[str] | None,
        typer.Option(
            help="The column of the probability of what was offered, or LABEL=COLUMN or LABEL=SHARE for each label;"
            " estimated where left out, as of randomisation that never changed."
        ),
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The column of whom each row is about.")] = None,
    level_of: Annotated[
        list[str] | None,
        typer.Option("--outcome-level", help="A level of the outcome, from worst to best; repeatable."),
    ] = None,
    control: Annotated[
        str | None, typer.Option(help="What the others are compared with; that of the plan, or else the first.")
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
    columns = dict(zip(COLUMNS, (assigned, taken, outcome, context, probability, unit), strict=True))
    given = {name: value for name, value in columns.items() if value} | ({"levels": level_of} if level_of else {})
    told = None if plan is None else Design.of(load(plan), plan.name, new=False)
    with watched("reading the log", STAGES + 1) as (report, say):
        say("reading the log")
        found = _file(source, given, told) if _is_file(source) else _database(source, trial, given)

        def stage(words: str) -> None:
            report(1)
            say(words)

        analysis = run(
            found.log,
            plan=told or found.design,
            control=control,
            promise=promise,
            level=level,
            replays=replays,
            seed=seed,
            finished=found.finished,
            name=found.name,
            command=_again(source, trial, columns, level_of, control, plan, promise, level, replays, seed),
            stage=stage,
        )
    _tell(analysis, out, as_json)


def _is_file(source: str) -> bool:
    return "://" not in source and Path(source.removesuffix(".gz")).suffix.lower() in ENDINGS


def _file(source: str, given: Mapping[str, object], plan: Design | None) -> _Source:
    """A log of columns; with a plan, of its space."""
    options: dict[str, object] = dict(given)
    if "probability" in options:
        options["probability"] = _probability(options["probability"])  # type: ignore[arg-type]  # a list of texts
    contexts = options.get("context")
    if isinstance(contexts, list) and len(contexts) == 1:
        options["context"] = contexts[0]
    if plan is not None and "levels" not in options:
        options["space"] = plan.space
    name = Path(source).stem if plan is None else plan.spec.name
    return _Source(read_log(source, **options), plan, name)  # type: ignore[arg-type]  # read_log checks them


def _database(source: str, trial: str | None, given: Mapping[str, object]) -> _Source:
    if given:
        raise InputError(f"--{next(iter(given))}", "a database", "columns of a file; a trial's log has its own")
    from takeup.live import Trial

    if "://" not in source and not Path(source).is_file():
        raise InputError("TRIAL", repr(_shown(source)), f"a database, or a file that ends in {', '.join(ENDINGS)}")
    with Trial.open(source, trial) as opened:
        return _Source(opened.log(), opened.design, opened.design.spec.name, opened.progress().over)


def _probability(given: list[str]) -> "str | dict[str, str | float]":
    """A column, or a column or a share for each label."""
    if len(given) == 1 and "=" not in given[0]:
        return given[0]
    parts = [each.rpartition("=") for each in given]
    for each, (label, _, _) in zip(given, parts, strict=True):
        if not label:
            raise InputError("--probability", repr(each), "one column, or LABEL=COLUMN or LABEL=SHARE for each label")
    return {label: _number(column) for label, _, column in parts}


def _number(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _again(source: str, trial: str | None, columns: Mapping[str, object], *rest: object) -> str:
    """The command that gives the same figures; a password of a database is not in it."""
    names = ("outcome-level", "control", "plan", "promise", "level", "replays", "seed")
    options: list[str] = []
    for name, value in ({"trial": trial, **columns} | dict(zip(names, rest, strict=True))).items():
        for each in value if isinstance(value, list) else [value]:
            options += [] if each is None or (name, each) == ("seed", 0) else [f"--{name}", str(each)]
    return command("analyse", source if _is_file(source) else _shown(source), *options)


def _shown(database: str) -> str:
    from takeup.store.opening import shown

    return shown(database)


def _tell(analysis: "Analysis", out: Path | None, as_json: bool) -> None:
    if out is not None:
        names = analysis.write(out)
        typer.echo(f"{out}: {', '.join(names)}", err=True)
        if not charts.available():
            typer.echo("note: the report needs pip install 'takeup[report]'", err=True)
    if as_json:
        typer.echo(json.dumps({"analysis": analysis.plain()}))
    else:
        from takeup.cli.analysis_tables import show

        show(analysis)
