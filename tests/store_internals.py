"""A look inside a store, and a trial to put into it."""

from typing import Any

from sqlalchemy import Connection, Engine, text

from takeup.store import Store, Writer

SPEC: dict[str, Any] = {
    "name": "Store",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "Uniform"},
    "rehearsal": True,
    "seed": 11,
}


def engine(store: Store) -> Engine:
    """The connection that writes, of a store that writes in this process."""
    assert isinstance(store.writer, Writer)
    return store.writer.engine


def as_version_0_1(connection: Connection) -> None:
    """Take away what later migrations added; the log is as it was."""
    for table, name in (("trials", "disputes"), ("trials", "moved"), ("trials", "draws"), ("api_keys", "site")):
        connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {name}"))
    connection.execute(text("UPDATE alembic_version SET version_num = '0004'"))
