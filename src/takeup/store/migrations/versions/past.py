"""How many decisions of a trial are from before it came to takeup."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No trial has taken over any yet."""
    op.add_column("trials", sa.Column("past", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    """What was taken over is not known to what came before."""
    raise NotImplementedError("restore the database from before the upgrade instead")
