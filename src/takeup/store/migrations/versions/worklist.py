"""Indexes of what is still to be reported: of outcomes without a window too, and of what was done."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No row changes."""
    op.drop_index("decisions_pending", "decisions")
    pending = sa.text("outcome < 0 AND missing_outcome = 0")
    unreported = sa.text("implemented < 0 AND missing_implemented = 0 AND (outcome >= 0 OR missing_outcome = 1)")
    for name, columns, only in (
        ("decisions_pending", ["trial", "due", "number"], pending),
        ("decisions_unreported", ["trial", "number"], unreported),
    ):
        op.create_index(name, "decisions", columns, sqlite_where=only, postgresql_where=only)


def downgrade() -> None:
    """The index from before."""
    op.drop_index("decisions_unreported", "decisions")
    op.drop_index("decisions_pending", "decisions")
    only = sa.text("outcome < 0 AND missing_outcome = 0 AND due IS NOT NULL")
    op.create_index("decisions_pending", "decisions", ["trial", "due"], sqlite_where=only, postgresql_where=only)
