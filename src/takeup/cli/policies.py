"""`takeup policies`: what there is to choose from."""

import json
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from takeup.covariates import Measure
from takeup.policies.base import Registered
from takeup.policies.card import Variant
from takeup.policies.meeting import uses_covariates
from takeup.policies.registry import variants
from takeup.simulation.compiled import has_kernel
from takeup.space import Space


def policies(
    as_json: Annotated[bool, typer.Option("--json", help="Print the list for machines.")] = False,
) -> None:
    """List the policies: whether they run live trials, what they must see, which outcomes they take, what runs them."""
    rows = [_row(policy, variant) for policy, variant in variants()]
    if as_json:
        typer.echo(json.dumps({"policies": rows}))
        return
    table = Table(title="Policies, with their defaults")
    for name in ("name", "kind", "live", "compliance", "outcomes", "engines", "source"):
        table.add_column(name, overflow="fold", no_wrap=name == "kind")
    for row in rows:
        engines = "cpu, gpu, reference" if row["kernel"] else "reference"
        live = "yes" if row["live"] else "no"
        table.add_row(row["name"], row["kind"], live, row["compliance"], row["outcomes"], engines, row["source"])
    console = Console()
    console.print(table)
    plain, personal = (
        next(row["kind"] for row in rows if row["recommended"] and row["covariates"] == wanted)
        for wanted in (False, True)
    )
    console.print(
        f"Begin with {plain}, or with {personal} where covariates are known of each; docs/choosing.md says when not to."
    )
    console.print("A policy that is not live depends on the path and runs in simulations alone; see docs/policies.md.")
    console.print("takeup simulate says in one line which engine runs a policy, and how; see docs/howto.md.")
    console.print("Which outcomes are all, valued, counted or levels is in docs/outcomes.md.")


def _row(policy: Registered, variant: Variant) -> dict[str, Any]:
    return {
        "name": policy.name,
        "kind": type(policy).__name__,
        "family": policy.card.family,
        "live": policy.live,
        "recommended": variant.recommended,
        "covariates": uses_covariates(policy),
        "compliance": policy.compliance,
        "outcomes": policy.card.outcomes,
        "kernel": has_kernel(policy, Space(2, contexts=2, covariates={"age": Measure(0, 1)})),
        "source": policy.card.source,
        "sentence": variant.sentence,
    }
