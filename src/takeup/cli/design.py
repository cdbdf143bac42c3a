"""`takeup design`: what a plan does before anybody is asked."""

import json
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from takeup import charts, folders
from takeup.cli.design_tables import show, show_compared
from takeup.cli.progress import watched
from takeup.design.analysed import analysed
from takeup.design.bounded import with_reading
from takeup.design.classical import classical
from takeup.design.comparing import Compared, compare
from takeup.design.cost import expected_seconds, grain
from takeup.design.exact_metrics import exact_metrics
from takeup.design.operate import Calibration, calibrate, operate
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.design.sizing import SEARCHED, Sized, size
from takeup.design.study import Study
from takeup.design.take_up import TakeUpCurve, by_take_up, changeable
from takeup.errors import InputError, TakeupError
from takeup.simulation.run import EngineName

PARTS = 20
"""In how many parts the trials of a plan are run: what Ctrl-C may cost."""
CURVE = 2_000
"""With how many trials at most the report shows power and size against take-up."""
SOON = 10
"""From how many seconds on it is said beforehand how long a plan may take."""
TRY, STOPPED = "try", 130
THIS, USUAL = "this plan", 0.05
"""What the plan is called beside classical designs, and their error where none was asked for."""


class _PlanFirst(TyperGroup):
    """What is no command's name is a plan: `takeup design PLAN.toml` beside `takeup design compare ..`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = args and args[0] in self.commands
        return super().parse_args(ctx, args if named else [TRY, *args])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == TRY else name, command, rest


design = typer.Typer(cls=_PlanFirst, help="What a plan does before anybody is asked: error rates, power and size.")
Replications = Annotated[int, typer.Option(min=2, help="Trials in each scenario.")]
Seed = Annotated[int, typer.Option(min=0, help="The seed.")]
Engine = Annotated[EngineName, typer.Option(help="What runs it.")]
Json = Annotated[bool, typer.Option("--json", help="Print the figures for machines.")]


@design.command(
    TRY,
    epilog="Examples:\n\n[bold]takeup design plan.toml[/]\n\n"
    "[bold]takeup design plan.toml --calibrate 0.05 --replications 100000[/]\n\n"
    "[bold]takeup design plan.toml --calibrate 0.05 --power 0.8 --out protocol[/]\n\n"
    "[bold]takeup design plan.toml --analyse 1000[/]\n\n"
    "[bold]takeup design plan.toml --exact --json > design.json[/]\n\n"
    "[bold]takeup design compare one.toml other.toml --classical 0.05[/]",
)
def design_plan(
    plan: Annotated[Path, typer.Argument(help="A TOML file: a trial's spec with looks, stopping rules and scenarios.")],
    replications: Replications = 10_000,
    seed: Seed = 0,
    calibrate_to: Annotated[
        float | None,
        typer.Option(
            "--calibrate",
            min=0.0001,
            max=0.9999,
            help="First find the threshold for superiority with this error in null scenarios.",
        ),
    ] = None,
    rate: Annotated[
        list[float] | None,
        typer.Option(help="With --calibrate: a null at which all proposals have this rate; repeatable."),
    ] = None,
    two_sided: Annotated[
        bool, typer.Option("--two-sided", help="With --calibrate: what is dropped as worse is an error too.")
    ] = False,
    power: Annotated[
        float | None,
        typer.Option(min=0.0001, max=0.9999, help="First find the last look with this power in all alternatives."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="No simulation: two proposals, two outcomes, up to 250 units.")
    ] = False,
    analyse: Annotated[
        int | None,
        typer.Option(min=2, help="Run the planned analysis in so many trials of each scenario, too."),
    ] = None,
    engine: Engine = "auto",
    out: Annotated[
        Path | None, typer.Option(help="A folder for the plan as tried, all figures, every trial and the report.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Try a plan thousands of times: type I error, power, size, and how many get the worse arm.

    Every figure has its Monte Carlo error. Ctrl-C shows what has been done by then.
    `takeup design compare --help` says how to put plans side by side.
    """
    chosen = Plan.load(plan)
    if calibrate_to is None and (rate or two_sided):
        raise InputError("--rate and --two-sided", "no --calibrate", "one, as they say what it counts")
    if out is not None:
        folders.check(out)
    _expect(chosen, replications)
    calibration, sized = _search(chosen, calibrate_to, rate or [], two_sided, power, replications, seed, engine)
    chosen = sized.plan if sized is not None else calibration.plan if calibration is not None else with_reading(chosen)
    if exact:
        with watched("carrying probabilities from look to look", len(chosen.scenarios)) as (report, _):
            figures = {}
            for name in chosen.scenarios:
                figures[name] = exact_metrics(chosen, name)
                report(1)
        _tell(Study(chosen, seed, {}, calibration, sized, exact=figures), out, as_json)
        return
    first = 0 if calibration is None and sized is None else SEARCHED * replications
    outcomes, stopped = _run(chosen, range(first, first + replications), seed, engine)
    if not outcomes:
        typer.echo("stopped before any trial was finished", err=True)
        raise typer.Exit(STOPPED)
    study = Study(chosen, seed, outcomes, calibration, sized)
    if analyse is not None and not stopped:
        with watched("analysing trials", analyse * len(chosen.scenarios)) as (report, _):
            study = replace(study, analysed=analysed(chosen, None, analyse, seed, report))
    if out is not None and not stopped and charts.available():
        study = _beside(study, range(first, first + replications), engine)
    _tell(study, out, as_json)
    if stopped:
        done = next(iter(outcomes.values())).replications.size
        typer.echo(f"stopped after {done:,} of {replications:,} trials of each scenario", err=True)
        raise typer.Exit(STOPPED)


@design.command(
    "compare",
    epilog="Examples:\n\n[bold]takeup design compare adaptive.toml even.toml[/]\n\n"
    "[bold]takeup design compare plan.toml --classical 0.05 --replications 100000[/]",
)
def design_compare(
    plans: Annotated[list[Path], typer.Argument(help="Plans with the same proposals and the same scenarios.")],
    replications: Replications = 10_000,
    seed: Seed = 0,
    alpha: Annotated[
        float | None,
        typer.Option(
            "--classical",
            min=0.0001,
            max=0.4999,
            help="Add designs with even allocation and this error, as large as the first plan: of fixed size, and with "
            "the boundaries of Pocock and of O'Brien and Fleming at its looks.",
        ),
    ] = None,
    engine: Engine = "auto",
    as_json: Json = False,
) -> None:
    """Put plans side by side, on common random numbers.

    Differences are from the first, trial by trial, with the error of the difference.
    """
    named = {str(path): Plan.load(path) for path in plans}
    if len(named) < len(plans):
        raise InputError("plans", ", ".join(map(str, plans)), "each file once")
    if alpha is not None:
        named |= classical(next(iter(named.values())), alpha)
    found = _compared(named, range(replications), seed, engine)
    if as_json:
        content = {name: plan.content for name, plan in named.items()}
        typer.echo(json.dumps({"compared": {"plans": content, "seed": seed, "figures": found.plain()}}))
    else:
        show_compared(found)


def _search(
    plan: Plan,
    target: float | None,
    rates: list[float],
    two_sided: bool,
    power: float | None,
    replications: int,
    seed: int,
    engine: EngineName,
) -> tuple[Calibration | None, Sized | None]:
    """The threshold, the size, or both, as far as they are asked for."""
    counted: dict[str, Any] = {"rates": rates, "two_sided": two_sided, "engine": engine}
    if power is not None:
        sized = _watched(
            "looking for the size",
            lambda **told: size(plan, power, None, replications, seed, calibrate_to=target, **counted, **told),
        )
        return sized.calibration, sized
    if target is None:
        return None, None
    return _watched(
        "looking for the threshold",
        lambda **told: calibrate(plan, target, replications, seed, **counted, **told),
    ), None


def _expect(plan: Plan, replications: int) -> None:
    """Say beforehand where a plan takes long, as one does whose units are decided about one by one."""
    seconds = expected_seconds(plan, replications)
    if seconds is not None and seconds > SOON:
        told = f"{seconds / 60:,.0f} minutes" if seconds >= 120 else f"{seconds:,.0f} seconds"
        typer.echo(
            f"{plan.design.policy.name} proposes to each unit by its covariates: {replications:,} trials of each"
            f" scenario take {told} at most, a search or a report several times that; --replications asks for fewer",
            err=True,
        )


def _watched(what: str, search: Callable[..., Any]) -> Any:
    """What a search finds; on Ctrl-C what it has tried is said."""
    said: list[str] = []
    with watched(what, 0) as (_, say):
        trials = 0

        def progress(made: int) -> None:
            nonlocal trials
            trials += made

        def stage(words: str) -> None:
            said.append(words)
            say(f"{what}: {words}; {trials:,} trials so far")

        try:
            return search(progress=progress, stage=stage)
        except KeyboardInterrupt:
            pass
    typer.echo(f"stopped {what}; tried so far:", err=True)
    for words in said:
        typer.echo(f"  {words}", err=True)
    raise typer.Exit(STOPPED)


def _run(plan: Plan, replications: range, seed: int, engine: EngineName) -> tuple[dict[str, Outcomes], bool]:
    """What is finished by the end or by Ctrl-C, and whether it was the latter."""
    parts: list[dict[str, Outcomes]] = []
    part = -(-len(replications) // PARTS)
    part = -(-part // grain(plan)) * grain(plan)
    stopped = False
    try:
        with watched("trying the plan", len(replications) * len(plan.scenarios)) as (report, _):
            for start in range(0, len(replications), part):
                numbers = replications[start : start + part]
                parts.append(operate(plan, None, numbers, seed, engine=engine, progress=report))
    except KeyboardInterrupt:
        stopped = True
    return {name: reduce(add, [each[name] for each in parts]) for name in plan.scenarios if parts}, stopped


def _curve(plan: Plan, replications: range, seed: int, engine: EngineName) -> TakeUpCurve | None:
    """Trials by take-up; None where scenarios say in full what people do."""
    if not changeable(plan):
        return None
    with watched("trying other take-ups", 0) as (report, _):
        return by_take_up(plan, replications=replications, seed=seed, engine=engine, progress=report)


def _compared(plans: dict[str, Plan], replications: range, seed: int, engine: EngineName) -> Compared:
    scenarios = len(next(iter(plans.values())).scenarios)
    with watched("comparing", len(replications) * len(plans) * scenarios) as (report, _):
        return compare(plans, None, replications, seed, engine=engine, progress=report)


def _beside(study: Study, replications: range, engine: EngineName) -> Study:
    """The same with what a report has beside the plan: classical designs, and other take-ups in fewer trials."""
    plan, seed = study.plan, study.seed
    alpha = USUAL if study.calibration is None else study.calibration.target

    def designs() -> Compared:
        return _compared({THIS: plan, **classical(plan, alpha)}, replications, seed, engine)

    def curve() -> TakeUpCurve | None:
        return _curve(plan, replications[:CURVE], seed, engine)

    parts: dict[str, tuple[str, Callable[[], Any]]] = {
        "compared": ("classical designs", designs),
        "take_up": ("other take-ups", curve),
    }
    for name, (words, found) in parts.items():
        try:
            study = replace(study, **{name: found()})
        except TakeupError as error:
            typer.echo(f"note: the report lacks {words}: {error}", err=True)
        except KeyboardInterrupt:
            typer.echo("stopped: the report lacks what was to come beside the plan", err=True)
            break
    return study


def _tell(study: Study, out: Path | None, as_json: bool) -> None:
    if out is not None:
        names = study.write(out)
        typer.echo(f"{out}: {', '.join(names)}", err=True)
    if as_json:
        typer.echo(json.dumps({"design": study.plain()}))
    else:
        show(study)
