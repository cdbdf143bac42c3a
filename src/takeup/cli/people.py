"""`takeup people`: accounts of a service, made where its database is; the first admin comes from here."""

import json
from typing import Annotated

import typer

from takeup.cli.serve import DATABASE, Database

people = typer.Typer(help="Invite, list and deactivate the people of a service.", no_args_is_help=True)
Login = Annotated[str, typer.Argument(help="What they sign in with: an address such as ada@clinic.example.")]


@people.command(
    epilog="Examples:\n\n[bold]takeup people invite 'Ada Byron' ada@clinic.example --role admin[/]\n\n"
    "[bold]takeup people invite 'Max Born' max@clinic.example --role clinician --trial stroke --site 'ward 3'[/]"
)
def invite(
    name: Annotated[str, typer.Argument(help="As logs and signatures show it.")],
    login: Login,
    role: Annotated[
        list[str] | None,
        typer.Option(
            help="What they are: clinician, coordinator, statistician, safety board, observer, admin; repeatable."
        ),
    ] = None,
    trial: Annotated[list[str] | None, typer.Option(help="Where; in all trials where left out; repeatable.")] = None,
    site: Annotated[
        str | None, typer.Option(help="Where they work: people of one site are told of each other's decisions.")
    ] = None,
    days: Annotated[float, typer.Option(min=0.01, max=60, help="How many days the link lasts.")] = 3,
    address: Annotated[str, typer.Option(help="Where people open the service.")] = "http://127.0.0.1:8000",
    database: Database = DATABASE,
) -> None:
    """Make an account, and print the link with which its owner sets a password, once.

    For somebody who has an account it is a new link, as for a forgotten password; roles and trials stay.
    """
    from functools import partial

    from takeup.errors import InputError
    from takeup.service import people as accounts
    from takeup.store import Store, looking

    by = "command line"
    with looking(database) as connection:  # a misspelt name would make a database that no service uses
        person = accounts.by_login(connection, login)
    if person is not None and (name, role, trial, site) != (person.name, None, None, None):
        allowed = (
            f"{person.name!r} and no --role, --trial or --site for a new link; a page of the service changes those"
        )
        raise InputError("NAME", repr(name), allowed)
    with Store(database) as store:
        at, token = store.clock(), accounts.new_token()
        if person is None:
            person = accounts.new(name, login, role or (), trial or None, site=site, at=at, by=by)
            store.write(partial(accounts.add, person)).result()
        expires = at + round(86_400e6 * days)
        store.write(partial(accounts.invite, person.id, accounts.digest(token), expires, at, by)).result()
    typer.echo(f"{address.rstrip('/')}/app/invitation/{token}")


@people.command("list", epilog="Example:\n\n[bold]takeup people list --database trials.db[/]")
def list_people(
    database: Database = DATABASE,
    as_json: Annotated[bool, typer.Option("--json", help="Print them for machines.")] = False,
) -> None:
    """List all people, also those whose account is closed."""
    from takeup.live.export import moment
    from takeup.service.people import load, rights_in_words
    from takeup.store import looking

    with looking(database) as connection:
        found = list(load(connection).values())
    if as_json:
        names = ("id", "login", "name", "roles", "trials", "site", "created_at", "created_by", "deactivated_at")
        typer.echo(json.dumps({"people": [{name: getattr(person, name) for name in names} for person in found]}))
        return
    for person in found:
        state = "" if person.password is not None else "; has set no password yet"
        state = state if person.deactivated_at is None else f"; deactivated {moment(person.deactivated_at)}"
        typer.echo(f"{person.login}  {person.name}: {rights_in_words(person)}{state}")


@people.command(epilog="Example:\n\n[bold]takeup people deactivate max@clinic.example[/]")
def deactivate(login: Login, database: Database = DATABASE) -> None:
    """Close an account; servers that are running notice within seconds. Logs keep the name."""
    from functools import partial

    from takeup.errors import NotFoundError
    from takeup.service import people as accounts
    from takeup.store import Store, looking

    with looking(database) as connection:
        person = accounts.by_login(connection, login)
    if person is None:
        raise NotFoundError(f"nobody has the login {login!r}")
    with Store(database) as store:
        by, at = "command line", store.clock()
        values = {"deactivated_at": at, "deactivated_by": by}
        store.write(partial(accounts.change, person.id, values, "deactivated", at, by, True)).result()
    typer.echo(f"{person.login}  {person.name} is deactivated")
