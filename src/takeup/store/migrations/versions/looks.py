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
    last = "SELECT max(sequence) FROM events WHERE trial = trials.id AND kind = 'moved'"
    connection = op.get_bind()
    for trial, body in connection.execute(
        sa.text(
            "SELECT trials.id, events.body FROM trials JOIN events ON events.trial = trials.id"
            f" WHERE trials.state = 'paused' AND events.sequence = ({last})"
        )
    ).all():
        if json.loads(body).get("by") == "takeup":
            values = {"trial": trial, "looks": '{"unlooked":true}'}
            connection.execute(sa.text("UPDATE trials SET looks = :looks WHERE id = :trial"), values)


def downgrade() -> None:
    """What looks concluded is not known to what came before."""
    raise NotImplementedError("restore the database from before the upgrade instead")
