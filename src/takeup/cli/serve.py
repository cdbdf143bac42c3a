"""`takeup serve`: live trials over HTTP."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from takeup.cli.command import command

DATABASE = "takeup.db"
DATABASE_VARIABLE = "TAKEUP_DATABASE"
Database = Annotated[
    str, typer.Option(envvar=DATABASE_VARIABLE, help="A SQLite file or a URL: sqlite:///file.db, postgresql://..")
]


def serve(
    database: Database = DATABASE,
    host: Annotated[str, typer.Option(help="The interface to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 is any that is free.")] = 8000,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front speaks TLS; any interface may be used.")
    ] = False,
    tls_cert: Annotated[Path | None, typer.Option(help="A file with the certificate chain.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="A file with its private key.")] = None,
    anchors: Annotated[Path | None, typer.Option(help="A file to append signed anchors of the logs to.")] = None,
    anchor_key: Annotated[Path | None, typer.Option(help="The file of the key that signs them.")] = None,
    rate: Annotated[float, typer.Option(min=1, help="Requests a second that a key may make.")] = 2_000,
    keep_alive: Annotated[int, typer.Option(min=1, help="Seconds that a connection stays open between requests.")] = 75,
    connections: Annotated[int, typer.Option(min=1, help="Connections that may be open at once.")] = 2_000,
    connections_per_address: Annotated[
        int, typer.Option(min=1, help="How many of them from one address; does not count behind a proxy.")
    ] = 500,
    session_hours: Annotated[float, typer.Option(min=0.1, help="How long a person stays signed in.")] = 12,
    idle_minutes: Annotated[float, typer.Option(min=1, help="How long one stays so who does nothing.")] = 60,
    key_sign_in: Annotated[
        bool, typer.Option(help="Whether one may sign in to the pages with an API key, beside people with accounts.")
    ] = True,
    decision_seconds: Annotated[
        float,
        typer.Option(
            min=0.1,
            max=60,
            help="Seconds of computing that a decision may take before its trial is paused. A new spec may take half of"
            " that, and 0.5 at most: more time here is for trials that run, and lets in no slower ones.",
        ),
    ] = 1,
) -> None:
    """Serve the trials of a database over HTTP until told to stop.

    The first start prints the first admin key, once. `takeup keys create` and POST /keys make more; `takeup people
    invite` gives accounts to people.
    """
    from takeup import logs
    from takeup.service import Settings, server
    from takeup.service.keys import add_first
    from takeup.service.middleware import RequestLog

    settings = Settings(
        database=database,
        host=host,
        port=port,
        behind_proxy=behind_proxy,
        tls_cert=tls_cert,
        tls_key=tls_key,
        anchors=anchors,
        anchor_key=anchor_key,
        rate=rate,
        burst=2 * rate,
        keep_alive_seconds=keep_alive,
        connections=connections,
        connections_per_address=connections_per_address,
        session_seconds=3_600 * session_hours,
        idle_seconds=60 * idle_minutes,
        key_sign_in=key_sign_in,
        decision_seconds=decision_seconds,
    )
    listening = server.listen(settings)
    with listening, settings.store() as store:
        token = add_first(store)
        if token is not None:
            typer.echo(f"The first admin key, which will not be shown again:\n\n    {token}\n")
            made = command("keys", "create", "NAME", "--database", store.shown, "--scope", "SCOPE")
            typer.echo(f"It may do everything. Make others for those who need less:\n\n    {made}\n")
            invited = command("people", "invite", "NAME", "LOGIN", "--database", store.shown, "--role", "admin")
            typer.echo(f"People have accounts of their own. Invite the first, who invites others:\n\n    {invited}\n")
        typer.echo(f"Serving {store.shown} at {server.address(settings, listening)}")
        typer.echo("Open that address in a browser, and sign in. Ctrl-C ends the service.")
        logs.configure(sys.stderr)
        server.serve(settings, store, listening, RequestLog(sys.stderr))
