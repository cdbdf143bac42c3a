"""Bring the tables of a database up to date."""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from takeup.errors import StoreError

HEAD = "0005"
"""The revision that this version of takeup works with."""

LOCK = 0x7461_6B65
"""PostgreSQL's advisory lock under which one process migrates while the others wait."""


def revision(connection: Connection) -> str | None:
    """The revision of the database, or None where it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return None if found is None else str(found)


def migrate(connection: Connection) -> None:
    """Run the steps that are missing, inside the caller's transaction."""
    if revision(connection) == HEAD:
        return
    if connection.dialect.name == "postgresql":
        for name in ("lock_timeout", "idle_in_transaction_session_timeout"):  # a long log takes its time
            connection.execute(text(f"SET LOCAL {name} = 0"))
        connection.execute(text(f"SELECT pg_advisory_xact_lock({LOCK})"))
    found = revision(connection)
    if found == HEAD:
        return
    from alembic import command  # here, as it takes a quarter of a second to import
    from alembic.config import Config
    from alembic.script import ScriptDirectory
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found is not None and found not in known:
        raise StoreError(f"the database has schema {found}, which this version of takeup does not know; upgrade takeup")
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        raise StoreError(f"the database cannot be migrated: {error}") from error
