"""Who is told what: sites of keys; and what the head of a trial counts of disputes and of fallbacks."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from takeup.store.migrations.decided import decided

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

DAY = 86_400_000_000


def upgrade() -> None:
    """Nobody has a site yet; the rest is in the log. Who asked for a decision is read from there as well."""
    op.add_column("api_keys", sa.Column("site", sa.Text(), nullable=True))
    for name in ("disputes", "moved"):
        op.add_column("trials", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("trials", sa.Column("draws", sa.Text(), nullable=False, server_default="{}"))
    connection = op.get_bind()
    moved = "SELECT max(at) FROM events WHERE trial = trials.id AND kind IN ('created', 'moved')"
    connection.execute(sa.text(f"UPDATE trials SET moved = coalesce(({moved}), 0)"))
    update = sa.text("UPDATE trials SET draws = :draws WHERE id = :trial")
    for trial, spec in connection.execute(sa.text("SELECT id, spec FROM trials WHERE fallbacks > 0")).all():
        draws = json.dumps(_draws(connection, trial, json.loads(spec)["space"]["proposals"]), **_CANONICAL)
        connection.execute(update, {"trial": trial, "draws": draws})


def downgrade() -> None:
    """What was logged meanwhile is not known to what came before."""
    raise NotImplementedError("restore the database from before the upgrade instead")


_CANONICAL: dict[str, Any] = {"sort_keys": True, "separators": (",", ":"), "ensure_ascii": False}


def _draws(connection: sa.Connection, trial: str, proposals: list[str]) -> dict[str, dict[str, Any]]:
    """The fallbacks of a trial, by who recorded them, from its log."""
    found: dict[str, dict[str, Any]] = {}
    for event in decided(connection, trial):
        if event.get("software") is not None:
            continue
        none = {"proposals": [0] * len(proposals), "since": -DAY, "recent": 0}
        row = found.setdefault(event.get("by") or "", none)
        row["proposals"][proposals.index(event["proposal"])] += 1
        if event["at"] >= row["since"] + DAY:
            row |= {"since": event["at"], "recent": 0}
        row["recent"] += 1
    return found
