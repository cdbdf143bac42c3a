"""`takeup design`: what a plan does before anybody is asked."""

import json
from functools import reduce
from operator import add
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from takeup.cli.progress import watched
from takeup.design.operate import Calibration, calibrate, operate
from takeup.design.plan import Plan
from takeup.design.results import Outcomes, plain
from takeup.version import __version__

ENDS = ("claimed", "superior", "equivalent", "futile", "maximum")
PARTS = 20
"""In how many parts the trials of a plan are run: what Ctrl-C may cost."""


def design(
    plan: Annotated[Path, typer.Argument(help="A TOML file: a trial's spec with looks, stopping rules and scenarios.")],
    replications: Annotated[int, typer.Option(min=2, help="Trials in each scenario.")] = 10_000,
    seed: Annotated[int, typer.Option(min=0, help="The seed.")] = 0,
    calibrate_to: Annotated[
        float | None,
        typer.Option(
            "--calibrate",
            min=0.0001,
            max=0.9999,
            help="First find the threshold for superiority with this error in null scenarios.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures for machines.")] = False,
) -> None:
    """Try a plan thousands of times: type I error, power, size, and how many get the worse arm.

    Every figure has its Monte Carlo error. Ctrl-C shows what has been done by then.
    """
    chosen = Plan.load(plan)
    found = None if calibrate_to is None else _calibrated(chosen, calibrate_to, replications, seed)
    if found is not None:
        chosen = found.plan
    first = 0 if found is None else 2 * replications  # the search and its check have had those before
    outcomes, stopped = _run(chosen, range(first, first + replications), seed)
    if not outcomes:
        raise typer.Abort
    if as_json:
        typer.echo(json.dumps({"design": _plain(chosen, outcomes, found, seed)}))
    else:
        if found is not None:
            _say(found, replications)
        _show(chosen, outcomes, seed)
    if stopped:
        done = next(iter(outcomes.values())).replications.size
        typer.echo(f"stopped after {done:,} of {replications:,} trials of each scenario", err=True)
        raise typer.Exit(130)


def _calibrated(plan: Plan, target: float, replications: int, seed: int) -> Calibration:
    with watched("calibrating", 0) as (_, say):
        say(f"looking for the threshold with an error of {target:g}")
        return calibrate(plan, target, replications, seed)


def _run(plan: Plan, replications: range, seed: int) -> tuple[dict[str, Outcomes], bool]:
    """What is finished by the end or by Ctrl-C, and whether it was the latter."""
    parts: list[dict[str, Outcomes]] = []
    size = -(-len(replications) // PARTS)
    stopped = False
    try:
        with watched("trying the plan", len(replications) * len(plan.scenarios)) as (report, _):
            for start in range(0, len(replications), size):
                parts.append(operate(plan, None, replications[start : start + size], seed, progress=report))
    except KeyboardInterrupt:
        stopped = True
    return {name: reduce(add, [part[name] for part in parts]) for name in plan.scenarios if parts}, stopped


def _plain(plan: Plan, outcomes: dict[str, Outcomes], found: Calibration | None, seed: int) -> dict[str, Any]:
    calibration = None
    if found is not None:
        errors = {name: figure.plain() for name, figure in found.errors.items()}
        stopping = found.plan.content["stopping"]
        thresholds = {name: stopping.get(name) for name in ("superiority", "inferiority")}
        calibration = {"target": found.target, **thresholds, "errors": errors}
    return {
        "plan": plan.content,
        "seed": seed,
        "version": __version__,
        "scenarios": plain(outcomes),
        "calibration": calibration,
    }


def _say(found: Calibration, trials: int) -> None:
    worst, stopping = found.worst, found.plan.content["stopping"]
    below = "" if stopping.get("inferiority") is None else f" and inferiority below {stopping['inferiority']:.5f}"
    said = (
        f"superiority above {found.threshold:.5f}{below}: the largest error over the null scenarios is"
        f" {worst.mean:.4f} ± {worst.error:.4f} in {trials:,} other trials of each; {found.target:g} was asked for"
    )
    Console().print(said, highlight=False, soft_wrap=True)


def _show(plan: Plan, outcomes: dict[str, Outcomes], seed: int) -> None:
    console, trials = Console(), next(iter(outcomes.values())).replications.size
    every = {name: each.metrics() for name, each in outcomes.items()}
    shown = ENDS if plan.rules.control is not None else ENDS[1:]
    ends = [end for end in shown if any(metrics[end]["mean"] for metrics in every.values())]
    table = Table(
        title=f"{plan.name}: {trials:,} trials of each scenario, seed {seed}, takeup {__version__}",
        caption="± is the Monte Carlo error; rules read what was proposed, under the policy's priors",
    )
    for name in ("scenario", "role"):
        table.add_column(name)
    for name in ("size", *ends, "on worse"):
        table.add_column(name, justify="right")
    for name, metrics in every.items():
        found_ends = (_share(metrics[end]) for end in ends)
        role = "null" if outcomes[name].truth.role == "null" else ""
        table.add_row(
            name,
            role,
            f"{metrics['size']['mean']:,.0f}±{metrics['size']['error']:.0f}",
            *found_ends,
            _share(metrics["on_worse"]),
        )
    console.print(table)
    arms = Table(title="Each proposal: found superior, dropped, selected, and its share of the units")
    for name in ("scenario", "proposal"):
        arms.add_column(name)
    for name in ("value", "superior", "dropped", "selected", "share"):
        arms.add_column(name, justify="right")
    for name, metrics in every.items():
        values = outcomes[name].truth.values
        for k, label in enumerate(plan.design.space.proposals):
            columns = ("superior_by_arm", "dropped_by_arm", "selected", "share")
            arms.add_row(name, label, f"{values[k]:.4g}", *(_share(metrics[column][label]) for column in columns))
        arms.add_section()
    console.print(arms)


def _share(figure: dict[str, float]) -> str:
    """A probability and its error, in as few characters as a terminal has."""
    return "±".join(f"{number:.3f}".removeprefix("0") for number in (figure["mean"], figure["error"]))
