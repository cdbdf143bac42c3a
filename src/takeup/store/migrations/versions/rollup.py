"""Buckets of the time series are never merged where they are kept."""

import json
from typing import Any

import sqlalchemy as sa
from alembic import op

from takeup.store.migrations.decided import decided

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_LISTS = ("proposed", "probability", "variance", "best")


def upgrade() -> None:
    """Buckets are known by their first decision; those that were merged are made again from the log."""
    op.drop_column("trials", "step")
    op.drop_table("rollup")
    table = op.create_table(
        "rollup",
        sa.Column("trial", sa.Text(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("context", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in _LISTS),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("trial", "first", "context"),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    for trial, spec in connection.execute(sa.text("SELECT id, spec FROM trials")).all():
        rows = _rows(connection, trial, json.loads(spec)["space"])
        if rows:
            op.bulk_insert(table, rows)


def downgrade() -> None:
    """There is no way back: what was not merged then would have to be."""
    raise NotImplementedError("restore the database from before the upgrade instead")


def _rows(connection: sa.Connection, trial: str, space: dict[str, Any]) -> list[dict[str, Any]]:
    """A trial's time series, from its log; 128 buckets of one decision, then 64 of two, 64 of four and so on."""
    sums: dict[tuple[int, int], dict[str, Any]] = {}
    for event in decided(connection, trial):
        size = 1 << ((event["number"] - 1) // 128).bit_length()
        place = ((event["number"] - 1) // size * size + 1, space["contexts"].index(event["context"]))
        p = event["probability"]
        row = sums.setdefault(place, {"until": 0, "proposed": [0] * len(p), **{n: [0.0] * len(p) for n in _LISTS[1:]}})
        row["until"] = event["at"]
        row["proposed"][space["proposals"].index(event["proposal"])] += 1
        for z, best in enumerate(event.get("best") or p):
            row["probability"][z] += p[z]
            row["variance"][z] += p[z] * (1 - p[z])
            row["best"][z] += best
    return [
        {"trial": trial, "first": first, "context": context, "until": row["until"]}
        | {name: json.dumps(row[name]) for name in _LISTS}
        for (first, context), row in sums.items()
    ]
