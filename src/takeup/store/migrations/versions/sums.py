"""What covariates add to the evidence, packed; and where the models are of a policy that fits them."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import sqlalchemy as sa
from alembic import op

from takeup.trial.design import Design

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_PLACE = ("epoch", "context", "proposal", "implemented")
_TABLES = {"evidence": "-1", "evidence_epochs": "epoch"}


def upgrade() -> None:
    """No policy that fits models has run a trial yet; sums that were a row each become a row together."""
    op.add_column("trials", sa.Column("fitted", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "evidence_sums",
        sa.Column("trial", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Integer(), nullable=False, autoincrement=False) for name in _PLACE[1:]],
        sa.Column("sums", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("trial", *_PLACE),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    for trial, spec in connection.execute(sa.text("SELECT id, spec FROM trials")).all():
        space = Design.of_text(spec).space if '"covariates"' in spec else None
        if space is not None and space.sums is not None:
            _pack(connection, trial, space.outcome.width, space.sums.width)


def downgrade() -> None:
    """A trial with covariates could not go on."""
    raise NotImplementedError("restore the database from before the upgrade instead")


def _pack(connection: sa.Connection, trial: str, first: int, width: int) -> None:
    """The sums of a trial, from the slots that they had in the evidence; every place with a decision has some."""
    into = ", ".join(f":{name}" for name in ("trial", *_PLACE, "sums"))
    for table in _TABLES:
        rows = list(_packed(connection, table, trial, first, width))
        if rows:
            connection.execute(sa.text(f"INSERT INTO evidence_sums VALUES ({into})"), rows)
        gone = sa.text(f"DELETE FROM {table} WHERE trial = :trial AND outcome >= :first")
        connection.execute(gone, {"trial": trial, "first": first})


def _packed(connection: sa.Connection, table: str, trial: str, first: int, width: int) -> Iterator[dict[str, Any]]:
    """A row for each place, of what is in a table."""
    columns = f"{_TABLES[table]} AS epoch, context, proposal, implemented, outcome, amount"
    found = connection.execute(
        sa.text(f"SELECT {columns} FROM {table} WHERE trial = :trial AND outcome >= :first ORDER BY 1, 2, 3, 4"),
        {"trial": trial, "first": first},
    )
    for place, rows in groupby(found, key=itemgetter(0, 1, 2, 3)):
        sums = np.zeros(width, dtype="<i8")
        for *_, slot, amount in rows:
            sums[slot - first] = amount
        yield {"trial": trial, **dict(zip(_PLACE, place, strict=True)), "sums": sums.tobytes()}
