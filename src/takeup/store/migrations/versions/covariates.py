"""What is known of a unit before it is decided about, beside its context."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No trial has covariates yet."""
    op.add_column("decisions", sa.Column("covariates", sa.Text()))


def downgrade() -> None:
    """A trial with covariates could not go on."""
    raise NotImplementedError("restore the database from before the upgrade instead")
