"""`takeup demo`: a live trial with simulated patients, and the paper's table 2 beside its figures."""

import json
import tempfile
import time
from pathlib import Path
from textwrap import fill
from typing import Annotated, Any

import typer
from rich.console import Console

from takeup.cli import document
from takeup.cli.command import command
from takeup.cli.progress import watched
from takeup.errors import InputError
from takeup.paper import contextual
from takeup.paper.agreement import REPLICATIONS
from takeup.paper.chapters import table2
from takeup.paper.runner import Runner

ABOUT = """\
takeup runs experiments that learn as they go, in which people do not always do what they are told. It proposes a
treatment to each patient, hears what the patient really took and how it ended, and proposes what helps more and more
often, with the probabilities on record.
"""
BEFORE = """\
What would each policy cost? The four of the paper, in four environments, {runs:,} simulated trials each. Regret is what
was lost against proposing the best from the beginning. Environments: 1 everyone complies, 2 everyone does the opposite,
3 most comply, 4 most do the opposite.
"""
PATIENTS = 2_000
FILE = "demo.db"
WIDE = 120
"""How many characters a line has."""
SPEC: dict[str, Any] = {
    "name": "Demonstration",
    "description": "Simulated patients, of whom four in ten do not take the new drug when it is proposed.",
    "space": {
        "proposals": ["usual care", "new drug"],
        "contexts": ["under 70", "70 and over"],
        "outcomes": ["died", "lived"],
    },
    "policy": {"kind": "TSObs"},
    "limits": {"floor": 0.05},
    "burn_in": 20,
}


def demo(
    replications: Annotated[int, typer.Option(min=2, help="Runs of each policy in each environment.")] = REPLICATIONS,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same figures.")] = 0,
    folder: Annotated[
        Path | None, typer.Option(help="Where to keep the live trial's database; a temporary folder where left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures of the table for machines.")] = False,
) -> None:
    """Run a live trial of 2,000 simulated patients through the service's own code, and audit it.

    Then run the four policies of Stirn & Jebara (2019) in their four environments, beside their figures, and say how to
    look at the trial in a browser.
    """
    if folder is not None and not as_json and (folder / FILE).exists():
        raise InputError("--folder", folder, f"a folder that holds no {FILE} yet", "remove it, or name another folder")
    if as_json:
        figures = _simulated(replications, seed).as_json()
        typer.echo(json.dumps({"table2": {"replications": replications, "seed": seed, **figures}}))
        return
    database = _database(folder)
    typer.echo(ABOUT)
    typer.echo(_live(database, seed))
    typer.echo(BEFORE.format(runs=replications))
    found = _simulated(replications, seed)
    Console().print(document.rich(table2.table(found)))
    agree, total = found.agreeing()
    typer.echo(f"""\
{agree} of {total} figures agree with the paper: within four standard errors of both sides.
With few runs one or two may miss by chance; `{command("paper", "table2")}` makes 500 of each.

To look at the live trial in a browser, run this and open the address that it prints:

    {command("serve", "--database", database)}""")


def _simulated(replications: int, seed: int) -> contextual.Table2Result:
    """The cells of the table, under a bar; each policy is compiled before its first decision."""
    with watched("simulating", contextual.work(replications)) as (progress, stage):

        def begin(policy: str) -> None:
            stage(f"compiling (once) and simulating {policy}")

        return contextual.table(Runner(replications, seed, progress=progress), stage=begin)


def _database(folder: Path | None) -> Path:
    """The file of the live trial; a temporary folder is left for whoever wants to look."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="takeup-demo-")) / FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError("--folder", folder, f"a folder that can be written to ({error.strerror})") from None
    return folder / FILE


def _live(database: Path, seed: int) -> str:
    """Run the live trial, and say what came of it."""
    import numpy as np

    from takeup.analysis.headline import headline
    from takeup.environment import Environment
    from takeup.live import Trial
    from takeup.live.simulated_units import meet
    from takeup.live.standing import BELIEVED, NAIVE, standing
    from takeup.world import World

    compliance = np.array([[[0.9, 0.1], [0.4, 0.6]]] * 2)
    outcome = np.array([[[0.3, 0.7], [0.2, 0.8]], [[0.55, 0.45], [0.4, 0.6]]])
    with (
        Trial.create(database, {**SPEC, "rehearsal": True, "seed": seed}) as trial,
        watched("treating", PATIENTS) as (progress, _),
    ):
        space = trial.design.space
        world = World(compliance, outcome, space.reward)
        environment = Environment.from_world(world, context=[0.6, 0.4], space=space)
        trial.start()
        begun = time.perf_counter()
        meet(trial, environment, range(PATIENTS), seed, progress=progress)
        seconds = time.perf_counter() - begun
        summary, log = trial.summary(), trial.log()
        concluded = " ".join(headline(log, trial.design, finished=summary.progress.over))
        audit = trial.audit()
    drug, same = summary.overall.proposals[1], f"{audit.rederived:,} of {audit.decisions:,} decisions"
    found = "passed" if audit.passed else f"FAILED: {audit.difference}"
    return f"""\
A live trial: {PATIENTS:,} simulated patients went through the service's own code in {seconds:.1f} s.
{drug.decisions:,} were proposed the {drug.label}.

{fill(f"What may be concluded: {concluded}", WIDE)}
{fill(f"{BELIEVED}, {NAIVE}: {standing(summary)}. That is no conclusion.", WIDE)}

The audit {found}: {audit.events:,} events were read, and {same} came out the same when they were derived again.
"""
