"""`takeup keys`: API keys of a service, made where its database is."""

import json
from typing import Annotated

import typer

from takeup.cli.serve import DATABASE, Database

keys = typer.Typer(help="Make, list and revoke the API keys of a service.", no_args_is_help=True)


@keys.command(epilog="Example:\n\n[bold]takeup keys create 'ward 3' --scope decide --scope report --site 'site A'[/]")
def create(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    scope: Annotated[
        list[str],
        typer.Option(
            help="What it may do: decide, report, lease, read-blinded, read-unblinded, design, admin; repeatable."
        ),
    ],
    trial: Annotated[list[str] | None, typer.Option(help="Where; in all trials where left out; repeatable.")] = None,
    site: Annotated[
        str | None, typer.Option(help="Where its holder works: keys of one site are told of each other's decisions.")
    ] = None,
    database: Database = DATABASE,
) -> None:
    """Make a key and print it, once."""
    from takeup.service.keys import add, new
    from takeup.store import Store, looking, reading

    with looking(database) as connection:  # a misspelt name would make a database that no service uses
        there = reading.identifiers(connection)
    for each in sorted(set(trial or ()) - set(there)):
        typer.echo(f"note: there is no trial {each} yet; there is {', '.join(there) or 'none at all'}", err=True)
    if "lease" in scope and "read-unblinded" not in scope:
        said = "a lease has the probabilities, so that this key can send no rows, and get none without --scope"
        typer.echo(f"note: {said} read-unblinded too", err=True)
    with Store(database) as store:
        key, token = new(name, scope, trial or None, site=site, at=store.clock(), by="command line")
        add(store, key).result()
    typer.echo(token)


@keys.command("list", epilog="Example:\n\n[bold]takeup keys list --database trials.db[/]")
def list_keys(
    database: Database = DATABASE,
    as_json: Annotated[bool, typer.Option("--json", help="Print them for machines.")] = False,
) -> None:
    """List all keys, the revoked ones too; their texts are not kept."""
    from takeup.live.export import moment
    from takeup.service.keys import load
    from takeup.store import looking

    with looking(database) as connection:
        found = list(load(connection).values())
    if as_json:
        names = ("id", "name", "scopes", "trials", "site", "created_at", "created_by", "revoked_at", "revoked_by")
        typer.echo(json.dumps({"keys": [{name: getattr(key, name) for name in names} for key in found]}))
        return
    for key in found:
        where = "all trials" if key.trials is None else ", ".join(key.trials)
        where += "" if key.site is None else f", of site {key.site}"
        state = "" if key.revoked_at is None else f"; revoked {moment(key.revoked_at)}"
        typer.echo(f"{key.id}  {key.name}: {', '.join(key.scopes)} in {where}{state}")


@keys.command(epilog="Example:\n\n[bold]takeup keys revoke 3f9a1c2b4d5e[/]")
def revoke(
    key: Annotated[str, typer.Argument(help="The key's identifier, as `takeup keys list` shows it.")],
    database: Database = DATABASE,
) -> None:
    """Let a key work no longer; servers that are running notice within seconds."""
    from takeup.service import keys as stored
    from takeup.store import Store, looking

    with looking(database) as connection:
        stored.known(connection, key)
    with Store(database) as store:
        revoked = stored.revoke(store, key, at=store.clock(), by="command line").result()
    typer.echo(f"{revoked.id}  {revoked.name} is revoked")
