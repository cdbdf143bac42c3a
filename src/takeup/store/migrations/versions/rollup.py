"""Buckets of the time series are never merged where they are kept."""

import sqlalchemy as sa
from alembic import op

from takeup.store.save import rollup_values
from takeup.trial.design import Design
from takeup.trial.events import Decided, event_of
from takeup.trial.rollup import Rollup

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Buckets are known by their first decision; those that were merged are made again from the log."""
    op.drop_table("rollup")
    op.drop_column("trials", "step")
    table = op.create_table(
        "rollup",
        sa.Column("trial", sa.Text(), nullable=False),
        sa.Column("first", sa.BigInteger(), nullable=False),
        sa.Column("context", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("proposed", "probability", "variance", "best")),
        sa.Column("until", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("trial", "first", "context"),
        sqlite_with_rowid=False,
    )
    connection = op.get_bind()
    for trial, spec in connection.execute(sa.text("SELECT id, spec FROM trials")).all():
        rows = _rollup(connection, trial, Design.of_text(spec)).rows
        if rows:
            op.bulk_insert(table, [rollup_values(trial, place, row) for place, row in rows.items()])


def downgrade() -> None:
    """There is no way back: what was not merged then would have to be."""
    raise NotImplementedError("restore the database from before the upgrade instead")


def _rollup(connection: sa.Connection, trial: str, design: Design) -> Rollup:
    """A trial's time series, from its log."""
    rollup, space = Rollup(), design.space
    log = sa.text("SELECT body FROM events WHERE trial = :trial AND kind = 'decided' ORDER BY sequence")
    for (body,) in connection.execute(log, {"trial": trial}):
        event = event_of(body)
        assert isinstance(event, Decided)
        best = event.probability if event.best is None else event.best
        x, z = space.contexts.index(event.context), space.proposals.index(event.proposal)
        rollup.add(event.number, x, z, event.probability, best, event.at)
    return rollup
