"""Leases: what clients decide from by themselves."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No trial has given any yet."""
    op.add_column("trials", sa.Column("leased", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "leases",
        sa.Column("trial", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False, autoincrement=False),
        *[sa.Column(name, sa.BigInteger(), nullable=False) for name in ("sequence", "expires", "taken")],
        sa.Column("revoked", sa.BigInteger()),
        sa.PrimaryKeyConstraint("trial", "number"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """What was decided under leases is not known to what came before."""
    raise NotImplementedError("restore the database from before the upgrade instead")
