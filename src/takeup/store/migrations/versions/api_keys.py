"""API keys of the service."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """A table of keys, by their hashes."""
    op.create_table(
        "api_keys",
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("id", "name", "hash", "scopes")),
        sa.Column("trials", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Nobody has a key any more."""
    op.drop_table("api_keys")
