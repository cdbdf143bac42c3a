"""The last planned look of a trial."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """No trial has looks yet."""
    op.add_column("trials", sa.Column("looks", sa.Text(), nullable=False, server_default="{}"))
    _paused_by_takeup()


def _paused_by_takeup() -> None:
    """Trials that were paused because their policy failed: in these no look is held before somebody resumes them."""
    connection = op.get_bind()
    last = sa.text("SELECT body FROM events WHERE trial = :trial AND kind = 'moved' ORDER BY sequence DESC LIMIT 1")
    update = sa.text("UPDATE trials SET looks = :looks WHERE id = :trial")
    for trial in connection.execute(sa.text("SELECT id FROM trials WHERE state = 'paused'")).scalars().all():
        body = connection.execute(last, {"trial": trial}).scalar_one()
        if json.loads(body).get("by") == "takeup":
            connection.execute(update, {"trial": trial, "looks": '{"unlooked":true}'})


def downgrade() -> None:
    """What looks concluded is not known to what came before."""
    raise NotImplementedError("restore the database from before the upgrade instead")
