"""Two columns are called what they hold.

The evidence has sums of values beside counts of decisions; and `version` is that of the evidence. Every request to a
trial reads it: a service of version 0.1 that still runs would not write what 0005 added, and is refused from now on.
"""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Rename them; no row changes."""
    op.execute("ALTER TABLE evidence RENAME COLUMN decisions TO amount")
    op.execute("ALTER TABLE trials RENAME COLUMN version TO evidence_version")


def downgrade() -> None:
    """The names from before."""
    op.execute("ALTER TABLE trials RENAME COLUMN evidence_version TO version")
    op.execute("ALTER TABLE evidence RENAME COLUMN amount TO decisions")
