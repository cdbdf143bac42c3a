"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _whole(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=optional, autoincrement=False)


def _small(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=False, autoincrement=False)


def _text(name: str) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=False)


def upgrade() -> None:
    """Create everything."""
    heads = [_whole(name) for name in ("at", "decisions", "version", "missing_implemented", "missing_outcome")]
    heads += [_whole(name) for name in ("waiting", "corrections", "fallbacks", "step")]
    texts = [_text(name) for name in ("id", "spec", "secret", "state")]
    op.create_table(
        "trials",
        *texts,
        _whole("sequence"),
        _text("hash"),
        *heads,
        sa.PrimaryKeyConstraint("id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "events",
        _text("trial"),
        _whole("sequence"),
        _text("hash"),
        _text("kind"),
        _whole("at"),
        _whole("decision", optional=True),
        _text("body"),
        sa.PrimaryKeyConstraint("trial", "sequence"),
        sqlite_with_rowid=False,
    )
    op.create_index("events_by_decision", "events", ["trial", "decision", "sequence"])
    op.create_table(
        "decisions",
        _text("trial"),
        _whole("number"),
        _text("unit"),
        _text("occasion"),
        _small("context"),
        _small("proposal"),
        _whole("at"),
        _whole("due", optional=True),
        _whole("sequence"),
        _small("implemented"),
        _small("outcome"),
        _small("missing_implemented"),
        _small("missing_outcome"),
        _small("counted"),
        sa.PrimaryKeyConstraint("trial", "number"),
        sqlite_with_rowid=False,
    )
    op.create_index("decisions_by_unit", "decisions", ["trial", "unit", "occasion"], unique=True)
    for name, where in (
        ("waiting", "outcome >= 0 AND counted = 0"),
        ("pending", "outcome < 0 AND missing_outcome = 0 AND due IS NOT NULL"),
    ):
        only = sa.text(where)
        op.create_index(f"decisions_{name}", "decisions", ["trial", "due"], sqlite_where=only, postgresql_where=only)
    op.create_table(
        "evidence",
        _text("trial"),
        *(_small(name) for name in ("context", "proposal", "implemented", "outcome")),
        _whole("decisions"),
        sa.PrimaryKeyConstraint("trial", "context", "proposal", "implemented", "outcome"),
        sa.CheckConstraint("decisions >= 0", name="evidence_counts"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "keys",
        _text("trial"),
        _text("key"),
        _text("request"),
        _whole("sequence"),
        sa.PrimaryKeyConstraint("trial", "key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "rollup",
        _text("trial"),
        _small("bucket"),
        _small("context"),
        *(_text(name) for name in ("proposed", "probability", "variance", "best")),
        _whole("until"),
        sa.PrimaryKeyConstraint("trial", "bucket", "context"),
        sqlite_with_rowid=False,
    )
    for statement in TRIGGERS[op.get_bind().dialect.name]:
        op.execute(statement)


def downgrade() -> None:
    """There is nothing before; a log is not thrown away by a migration."""
    raise NotImplementedError("there is no earlier schema")


TRIGGERS = {
    "sqlite": tuple(
        f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events"
        " BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
    "postgresql": (
        """
        CREATE FUNCTION takeup_append_only() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'the log is append-only'; END $$
        """,
        "CREATE TRIGGER events_no_update BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION takeup_append_only()",
        "CREATE TRIGGER events_no_delete BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION takeup_append_only()",
        "CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON events EXECUTE FUNCTION takeup_append_only()",
    ),
}
