"""PostgreSQL: any number of processes, a lock for each trial."""

import importlib.util
from functools import partial
from typing import Any

from sqlalchemy import Engine, create_engine, event, exc, make_url

from takeup.errors import MissingExtraError, StoreError

LOCK_SECONDS = 10
IDLE_SECONDS = 60
"""How long a writer may hold a trial's lock without a word; one that was stopped would hold it for ever."""

_ALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
"""A server whose machine is gone is noticed within half a minute."""


_BY_INDEX = {"enable_seqscan": "off", "enable_sort": "off", "jit": "off"}
"""A writer finds every row by the index that has it in order (`lookups`), also where a table is small or thought to be:
the plan stays when it has grown. What cannot be had otherwise is still sorted."""


def writer(url: str) -> Engine:
    """Connections that see what others have committed as soon as they hold the trial's lock."""
    return _engine(url, 2, _BY_INDEX | _idle(IDLE_SECONDS), isolation_level="READ COMMITTED")


def reader(url: str, connections: int) -> Engine:
    """Connections that read one consistent state, and nothing else.

    They may be idle for as long as they like: nobody waits for them, and an audit of a slow policy computes for long
    between two rows.
    """
    options = {"postgresql_readonly": True}
    return _engine(url, connections, _idle(0), isolation_level="REPEATABLE READ", execution_options=options)


def _idle(seconds: float) -> dict[str, str]:
    return {"idle_in_transaction_session_timeout": f"{round(1_000 * seconds)}ms"}


def _engine(url: str, connections: int, settings: dict[str, str], **options: Any) -> Engine:
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
        connect_args={"connect_timeout": 10, "application_name": "takeup", **_ALIVE},
        **options,
    )
    event.listen(made, "connect", partial(_set, settings))
    return made


def _set(settings: dict[str, str], connection: Any, _: object) -> None:
    """Set for the session; autocommitted, so that a rollback does not take it back."""
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("SHOW synchronous_commit")
        if cursor.fetchone()[0] in ("off", "local"):
            cursor.execute("SET synchronous_commit = on")
        for name, value in {"lock_timeout": f"{LOCK_SECONDS}s", **settings}.items():
            cursor.execute(f"SET {name} = '{value}'")
    connection.autocommit = False
