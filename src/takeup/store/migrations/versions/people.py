"""People with accounts, the links that invite them, and what became of each; when a session was last used."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Nobody has an account yet, and whoever had signed in does so again."""
    op.add_column("sessions", sa.Column("used_at", sa.BigInteger(), nullable=False, server_default="0"))
    op.create_table(
        "people",
        sa.Column("id", sa.Text(), nullable=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("login", "name", "roles")],
        *[sa.Column(name, sa.Text(), nullable=True) for name in ("trials", "site", "password", "code_secret")],
        sa.Column("code_step", sa.BigInteger(), nullable=False),
        sa.Column("unblinded", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=True),
        sa.Column("deactivated_at", sa.BigInteger(), nullable=True),
        sa.Column("deactivated_by", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_index("people_by_login", "people", ["login"], unique=True)
    op.create_table(
        "invitations",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hash"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "people_log",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False, autoincrement=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("by", "what")],
        sa.PrimaryKeyConstraint("person", "number"),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    """Who did what in which trial would be left without the people."""
    raise NotImplementedError("restore the database from before the upgrade instead")
