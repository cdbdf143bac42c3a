"""`takeup simulate`: a simulation from a TOML file."""

import json
from dataclasses import asdict
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from takeup.cli.engine_line import engine_line
from takeup.cli.progress import watched
from takeup.errors import InputError, MismatchError
from takeup.simulation import blocks
from takeup.simulation.run import EngineName, Plan, plan
from takeup.simulation.spec import load
from takeup.simulation.trace import Trace


def simulate(
    spec: Annotated[Path, typer.Argument(help="A TOML file with environments, policies and a horizon.")],
    replications: Annotated[int | None, typer.Option(min=1, help="Runs of each policy, instead of the file's.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The seed, instead of the file's.")] = None,
    engine: Annotated[EngineName, typer.Option(help="What runs it; auto takes what is fastest here.")] = "auto",
    scheduler: Annotated[str | None, typer.Option(help="The address of a Dask scheduler.")] = None,
    out: Annotated[Path | None, typer.Option(help="A Parquet file; if it is there already, goes on with it.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Simulate policies in environments that a TOML file describes.

    Ctrl-C keeps the finished blocks of replications; the same command with --out goes on where it stopped. One line
    on standard error says what runs it and about how long that takes; with --json there is none.
    """
    simulation = load(spec)
    runs = simulation.replications if replications is None else replications
    chosen = simulation.seed if seed is None else seed
    planned = plan(**simulation.arguments, seed=chosen, engine=engine, scheduler=scheduler)
    if out is not None and not out.parent.is_dir():
        raise InputError("--out", out, "a file in a folder that is there", f"make {out.parent} first")
    if out is not None and out.suffix != ".parquet":
        raise InputError("--out", out, "a name that ends in .parquet", "polars.read_parquet(..).write_csv(..) converts")
    finished = Trace.read(str(out)) if out is not None and out.exists() else None
    if finished is not None:
        planned = planned.like(finished.setup.engines)
        _check(finished, planned, out)
    trace, stopped = _run(planned, runs, finished, quiet=as_json)
    if trace is None:
        raise typer.Abort
    if out is not None:
        trace.write(str(out))
    if as_json:
        figures = {env: {p: asdict(s) for p, s in trace.summary(env).items()} for env in trace.setup.environments}
        typer.echo(json.dumps({"simulation": {"spec": trace.setup.spec(), "regret": figures}}))
    else:
        Console().print(_table(trace))
    if stopped:
        done = trace.replications.size
        kept = f"kept in {out}; the same command goes on from there" if out else "not kept; --out FILE would keep them"
        typer.echo(f"stopped after {done:,} of {runs:,} replications, {kept}", err=True)
        raise typer.Exit(130)


def _check(finished: Trace, planned: Plan, out: Path | None) -> None:
    """An error that names the file, if what is in it is another simulation."""
    try:
        finished.setup.check_same(planned.setup)
    except MismatchError as error:
        raise MismatchError(f"{out} holds another simulation: {error}; choose another --out") from None


def _run(planned: Plan, runs: int, finished: Trace | None, *, quiet: bool) -> tuple[Trace | None, bool]:
    """What is finished by the end or by Ctrl-C, and whether it was the latter."""
    parts = [] if finished is None else [finished]
    setup = planned.setup
    each = len(setup.environments) * len(setup.policies) * setup.horizon
    done = runs - sum(map(len, blocks.missing(finished, runs)))
    try:
        if done < runs:
            with watched("measuring", 1):
                planned = planned.picked(runs - done, device=finished is None)
            if not quiet:
                typer.echo(engine_line(planned, runs - done), err=True)
        with watched("simulating", each * runs, each * done, decisions=True) as (report, _):
            for part in blocks.run(planned, runs, finished, report):
                parts.append(part)
    except KeyboardInterrupt:
        return (reduce(add, parts) if parts else None), True
    return reduce(add, parts), False


def _table(trace: Trace) -> Table:
    """Final regret, a row a policy in an environment."""
    setup, runs = trace.setup, trace.replications.size
    engines = " and ".join(sorted(set(setup.engines)))
    unit = setup.space.outcome.shown.unit
    regret = f"Regret in {unit}" if unit else "Regret"
    table = Table(title=f"{regret} after {setup.horizon:,} decisions, {runs:,} runs, seed {setup.seed}, {engines}")
    for name in ("environment", "policy", "mean", "error", "sd", "5 %", "median", "95 %"):
        table.add_column(name, justify="left" if name in ("environment", "policy") else "right")
    for environment in setup.environments:
        for policy, s in trace.summary(environment).items():
            figures = (s.mean, s.standard_error, s.sd, s.quantiles[0.05], s.median, s.quantiles[0.95])
            table.add_row(environment, policy, *(f"{figure:.3f}" for figure in figures))
        table.add_section()
    return table
