"""Bring the tables of a database up to date."""

import logging
from pathlib import Path

from sqlalchemy import Connection, inspect, text

from takeup.errors import StoreError

LOG = logging.getLogger("takeup.store")

HEAD = "0014"
"""The revision that this version of takeup works with."""

LOCK = 0x7461_6B65
"""PostgreSQL's advisory lock under which one process migrates while the others wait."""

_UNLIMITED = """
SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN
    ('lock_timeout', 'idle_in_transaction_session_timeout', 'statement_timeout', 'transaction_timeout')
"""
"""A long log takes its time, whatever the server or the role allows; not every PostgreSQL has all four."""


def revision(connection: Connection) -> str | None:
    """The revision of the database, or None where it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def check_known(found: str | None) -> None:
    """Refuse a revision of a later version.

    Raises:
        StoreError: it is one.
    """
    if found is not None and found > HEAD:
        raise StoreError(f"the database has schema {found}, which this version of takeup does not know; upgrade takeup")


def migrate(connection: Connection) -> None:
    """Run the steps that are missing, inside the caller's transaction: all of them take place, or none."""
    if revision(connection) == HEAD:
        return
    if connection.dialect.name == "postgresql":
        _wait_for_turn(connection)
    found = revision(connection)
    if found == HEAD:
        return
    check_known(found)
    if found is not None:
        words = "in one transaction; whatever interrupts it leaves the database as it was"
        LOG.warning("the database is brought from schema %s to %s, %s", found, HEAD, words)
    from alembic import command  # here, as it takes a quarter of a second to import
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, HEAD)
    except CommandError as error:
        raise StoreError(f"the database cannot be migrated: {error}") from error


def _wait_for_turn(connection: Connection) -> None:
    """Hold PostgreSQL's lock, for as long as this transaction takes."""
    connection.execute(text(_UNLIMITED))
    if not connection.execute(text(f"SELECT pg_try_advisory_xact_lock({LOCK})")).scalar_one():
        LOG.warning("another process is bringing the database up to date; this one waits for it")
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
