"""Evidence by epoch, of trials whose policy forgets."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No trial has a policy that forgets yet."""
    cell = ("context", "proposal", "implemented", "outcome")
    op.create_table(
        "evidence_epochs",
        sa.Column("trial", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False, autoincrement=False),
        *[sa.Column(name, sa.Integer(), nullable=False, autoincrement=False) for name in cell],
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("amount >= 0", name="evidence_epochs_counts"),
        sa.PrimaryKeyConstraint("trial", "epoch", *cell),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """A trial whose policy forgets could not go on."""
    raise NotImplementedError("restore the database from before the upgrade instead")
