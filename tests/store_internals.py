"""A look inside a store, and a trial to put into it."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from takeup.store import Store, Writer, group
from takeup.trial.events import Created
from takeup.trial.steering import created_event

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


AS_SCHEMA_7 = (
    "DROP TABLE leases",
    "ALTER TABLE trials DROP COLUMN leased",
    "DROP TABLE evidence_sums",
    "ALTER TABLE trials DROP COLUMN fitted",
    "ALTER TABLE decisions DROP COLUMN covariates",
    "DROP TABLE evidence_epochs",
    "ALTER TABLE trials DROP COLUMN past",
    "ALTER TABLE sessions DROP COLUMN used_at",
    "DROP TABLE people",
    "DROP TABLE invitations",
    "DROP TABLE people_log",
    "DROP INDEX decisions_unreported",
    "DROP INDEX decisions_pending",
    (
        "CREATE INDEX decisions_pending ON decisions (trial, due)"
        " WHERE outcome < 0 AND missing_outcome = 0 AND due IS NOT NULL"
    ),
)
"""Take away what came with accounts of people, with the worklist and with past assignments."""


def as_version_0_1(connection: Connection) -> None:
    """Take away what later migrations added, and their names; the log is as it was."""
    connection.execute(text("ALTER TABLE evidence RENAME COLUMN amount TO decisions"))
    connection.execute(text("ALTER TABLE trials RENAME COLUMN evidence_version TO version"))
    for table, name in (
        ("trials", "disputes"),
        ("trials", "moved"),
        ("trials", "draws"),
        ("trials", "looks"),
        ("api_keys", "site"),
    ):
        connection.execute(text(f"ALTER TABLE {table} DROP COLUMN {name}"))
    for statement in AS_SCHEMA_7:
        connection.execute(text(statement))
    connection.execute(text("UPDATE alembic_version SET version_num = '0004'"))


def made_by_0_1(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on trials are created as version 0.1 did: it did not say whether the seed was given."""

    def created(*arguments: Any) -> Created:
        return replace(created_event(*arguments), seeded=None)

    monkeypatch.setattr(group, "created_event", created)
