"""The command line: one module a command."""

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from takeup.cli.analyse import analyse
from takeup.cli.audit import audit
from takeup.cli.create import create
from takeup.cli.demo import demo
from takeup.cli.design import design
from takeup.cli.doctor import doctor
from takeup.cli.export import export
from takeup.cli.keys import keys
from takeup.cli.paper import paper
from takeup.cli.people import people
from takeup.cli.policies import policies
from takeup.cli.selftest import selftest
from takeup.cli.serve import serve
from takeup.cli.simulate import simulate
from takeup.errors import TakeupError
from takeup.version import __version__

app = typer.Typer(
    name="takeup",
    help="Adaptive experiments in which people do not do what they are told.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.command(
    epilog="Examples:\n\n[bold]takeup demo[/]\n\n[bold]takeup demo --replications 500 --seed 7[/]\n\n"
    "[bold]takeup demo --json > table2.json[/]"
)(demo)
app.add_typer(design, name="design")
app.command(
    epilog="Examples:\n\n[bold]takeup simulate trial.toml[/]\n\n"
    "[bold]takeup simulate trial.toml --replications 100000 --out results.parquet[/]\n\n"
    "[bold]takeup simulate trial.toml --engine dask --scheduler tls://scheduler.example.org:8786[/]"
)(simulate)
app.command(
    epilog="Examples:\n\n[bold]takeup paper[/]\n\n[bold]takeup paper table2 --json > table2.json[/]\n\n"
    "[bold]takeup paper all --replications 100000 --engine gpu --out report[/]"
)(paper)
app.command(
    epilog="Examples:\n\n[bold]takeup analyse past.csv --assigned arm --outcome result[/]\n\n"
    "[bold]takeup analyse past.csv --assigned arm --taken received --outcome result --context site --out found[/]\n\n"
    "[bold]takeup analyse trials.db --out found[/]\n\n"
    "[bold]takeup analyse log.parquet --plan plan.toml --replays 2000 --json > analysis.json[/]"
)(analyse)
app.command(
    epilog="Examples:\n\n[bold]takeup create plan.toml[/]\n\n"
    "[bold]takeup create plan.toml --database trials.db --past past.csv --unit patient --assigned arm --taken received"
    " --outcome result --context site --time enrolled[/]"
)(create)
app.command(
    epilog="Examples:\n\n[bold]takeup audit trials.db[/]\n\n"
    "[bold]takeup audit postgresql://trials.example.org/takeup --trial stroke --anchors anchors.jsonl --key key[/]"
)(audit)
app.command(
    epilog="Examples:\n\n[bold]takeup export trials.db trial.xlsx[/]\n\n"
    "[bold]takeup export trials.db trial.parquet --trial stroke[/]\n\n"
    "[bold]takeup export trials.db --trial stroke --cdisc stroke --xpt --zone Europe/Berlin[/]"
)(export)
app.command(
    epilog="Examples:\n\n[bold]takeup serve[/]\n\n"
    "[bold]takeup serve --database postgresql://trials.example.org/takeup --host 0.0.0.0 --behind-proxy[/]"
)(serve)
app.add_typer(keys, name="keys")
app.add_typer(people, name="people")
app.command(epilog="Examples:\n\n[bold]takeup doctor[/]\n\n[bold]takeup doctor trials.db[/]")(doctor)
app.command(epilog="Examples:\n\n[bold]takeup selftest[/]\n\n[bold]takeup selftest --report qualification[/]")(selftest)
app.command(epilog="Examples:\n\n[bold]takeup policies[/]\n\n[bold]takeup policies --json | jq '.policies[].name'[/]")(
    policies
)


def main() -> None:
    """Run the command line: exit code 2 for bad input, 130 for Ctrl-C, and no traceback for either."""
    try:
        app()
    except TakeupError as error:
        Console(stderr=True).print(f"[bold red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        sys.exit(2)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"takeup {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Adaptive experiments in which people do not do what they are told."""
