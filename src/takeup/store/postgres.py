"""PostgreSQL: any number of processes, a lock for each trial."""

import importlib.util
from typing import Any

from sqlalchemy import Engine, create_engine, event, exc, make_url

from takeup.errors import MissingExtraError, StoreError

LOCK_SECONDS = 30


def writer(url: str) -> Engine:
    """Connections that see what others have committed as soon as they hold the trial's lock."""
    return _engine(url, 2, isolation_level="READ COMMITTED")


def reader(url: str) -> Engine:
    """Connections that read one consistent state, and nothing else."""
    return _engine(url, 4, isolation_level="REPEATABLE READ", execution_options={"postgresql_readonly": True})


def _engine(url: str, connections: int, **options: Any) -> Engine:
    """Connections that wait for the disk at every commit, whatever the server's default."""
    if importlib.util.find_spec("psycopg") is None:
        raise MissingExtraError("psycopg", "postgres")
    try:
        where = make_url("postgresql" + url[url.index(":") :]).set(drivername="postgresql+psycopg")
        if "@" in (where.host or ""):  # part of a password with an @ in it, which would show as that of a host
            raise ValueError
    except (exc.ArgumentError, ValueError):  # their words would show the password
        words = "one is postgresql://user:password@host:5432/name, with %40 for an @ in the password"
        raise StoreError(f"this is no URL of a database; {words}") from None
    made = create_engine(
        where,
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,
        connect_args={"connect_timeout": 10, "application_name": "takeup"},
        **options,
    )
    event.listen(made, "connect", _settings)
    return made


def _settings(connection: Any, _: object) -> None:
    """Set for the session; autocommitted, so that a rollback does not take it back."""
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] in ("off", "local"):
            cursor.execute("SET synchronous_commit = on")
        cursor.execute(f"SET lock_timeout = '{LOCK_SECONDS}s'")
        cursor.execute("SET idle_in_transaction_session_timeout = '60s'")
    connection.autocommit = False
