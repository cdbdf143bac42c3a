"""The tables. The log (`events`) is the truth; the others are folds of it, so that nothing has to read it.

Values are indices into the trial's space, of outcomes their codes, -1 being UNSEEN; yes is 1 and no is 0, so that an
audit sees any other value; times are microseconds since 1970, UTC.
"""

from typing import Any

from sqlalchemy import BigInteger, CheckConstraint, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.types import TypeEngine

metadata = MetaData()


def _columns(kind: type[TypeEngine[Any]], *names: str) -> list[Column[Any]]:
    """Columns of one kind that always have a value."""
    return [Column(name, kind, nullable=False) for name in names]


trials = Table(
    "trials",
    metadata,
    Column("id", Text, primary_key=True),
    *_columns(Text, "spec", "secret", "state"),
    *_columns(BigInteger, "sequence"),
    *_columns(Text, "hash"),
    *_columns(
        BigInteger,
        "at",
        "decisions",
        "evidence_version",
        "missing_implemented",
        "missing_outcome",
        "waiting",
        "corrections",
        "fallbacks",
    ),
    Column("disputes", BigInteger, nullable=False, server_default="0"),
    Column("moved", BigInteger, nullable=False, server_default="0"),
    Column("draws", Text, nullable=False, server_default="{}"),
    Column("looks", Text, nullable=False, server_default="{}"),
    Column("past", BigInteger, nullable=False, server_default="0"),
    Column("fitted", BigInteger, nullable=False, server_default="0"),
    Column("leased", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
"""A row a trial: its head. On PostgreSQL its lock is the trial's lock. What clients drew and the last look are JSON;
`fitted` is the number of the event that has the models of a policy which fits them, 0 before the first; `leased` is how
many leases were given."""

events = Table(
    "events",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("sequence", BigInteger, primary_key=True, autoincrement=False),
    *_columns(Text, "hash", "kind"),
    *_columns(BigInteger, "at"),
    Column("decision", BigInteger),
    *_columns(Text, "body"),
    Index("events_by_decision", "trial", "decision", "sequence"),
    sqlite_with_rowid=False,
)
"""The log. Triggers refuse to change or delete a row."""

decisions = Table(
    "decisions",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    *_columns(Text, "unit", "occasion"),
    *_columns(Integer, "context", "proposal"),
    *_columns(BigInteger, "at"),
    Column("due", BigInteger),
    *_columns(BigInteger, "sequence"),
    *_columns(Integer, "implemented", "outcome", "missing_implemented", "missing_outcome", "counted"),
    Column("covariates", Text),
    Index("decisions_by_unit", "trial", "unit", "occasion", unique=True),
    sqlite_with_rowid=False,
)
"""A row a decision, as far as it is known; covariates are JSON, where the trial has some."""

WAITING = text("outcome >= 0 AND counted = 0")
"""An outcome whose window is still open. Queries must say it in the same words for the index to serve them."""
PENDING = text("outcome < 0 AND missing_outcome = 0")
"""An outcome that is still to be reported; likewise."""
UNREPORTED = text("implemented < 0 AND missing_implemented = 0 AND (outcome >= 0 OR missing_outcome = 1)")
"""What was done is not known, and all about the outcome is; likewise."""
Index("decisions_waiting", decisions.c.trial, decisions.c.due, sqlite_where=WAITING, postgresql_where=WAITING)
Index(
    "decisions_pending",
    decisions.c.trial,
    decisions.c.due,
    decisions.c.number,
    sqlite_where=PENDING,
    postgresql_where=PENDING,
)
Index(
    "decisions_unreported",
    decisions.c.trial,
    decisions.c.number,
    sqlite_where=UNREPORTED,
    postgresql_where=UNREPORTED,
)

evidence = Table(
    "evidence",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("context", Integer, primary_key=True, autoincrement=False),
    Column("proposal", Integer, primary_key=True, autoincrement=False),
    Column("implemented", Integer, primary_key=True, autoincrement=False),
    Column("outcome", Integer, primary_key=True, autoincrement=False),
    *_columns(BigInteger, "amount"),
    CheckConstraint("amount >= 0", name="evidence_counts"),
    sqlite_with_rowid=False,
)
"""A row a slot of the table; the amount is how many decisions are in a cell, or a sum of what they add beside it. What
covariates add is in `evidence_sums`."""

evidence_epochs = Table(
    "evidence_epochs",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("context", Integer, primary_key=True, autoincrement=False),
    Column("proposal", Integer, primary_key=True, autoincrement=False),
    Column("implemented", Integer, primary_key=True, autoincrement=False),
    Column("outcome", Integer, primary_key=True, autoincrement=False),
    *_columns(BigInteger, "amount"),
    CheckConstraint("amount >= 0", name="evidence_epochs_counts"),
    sqlite_with_rowid=False,
)
"""The evidence by the epoch of its decisions, where a trial's policy forgets; decisions read the newest alone."""

evidence_sums = Table(
    "evidence_sums",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("epoch", BigInteger, primary_key=True, autoincrement=False),
    Column("context", Integer, primary_key=True, autoincrement=False),
    Column("proposal", Integer, primary_key=True, autoincrement=False),
    Column("implemented", Integer, primary_key=True, autoincrement=False),
    *_columns(LargeBinary, "sums"),
    sqlite_with_rowid=False,
)
"""What covariates add to the evidence: the sums of a context, proposal and action together, whole numbers of eight
bytes each, the lowest first. Epoch -1 is the whole trial; others are of a policy that forgets and learns from them."""

keys = Table(
    "keys",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    *_columns(Text, "request"),
    *_columns(BigInteger, "sequence"),
    sqlite_with_rowid=False,
)
"""Idempotency keys: what was asked for under each, and which event answered."""

leases = Table(
    "leases",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    *_columns(BigInteger, "sequence", "expires", "taken"),
    Column("revoked", BigInteger),
    sqlite_with_rowid=False,
)
"""A row a lease: which event says it, how many decisions were taken under it, and since when it is revoked."""

rollup = Table(
    "rollup",
    metadata,
    Column("trial", Text, primary_key=True),
    Column("first", BigInteger, primary_key=True, autoincrement=False),
    Column("context", Integer, primary_key=True, autoincrement=False),
    *_columns(Text, "proposed", "probability", "variance", "best"),
    *_columns(BigInteger, "until"),
    sqlite_with_rowid=False,
)
"""Time series; the lists are JSON."""

FOLDS = {table.name: table for table in (decisions, evidence, evidence_epochs, evidence_sums, keys, leases, rollup)}
"""The tables with rows of trials that are folds of the log, by name; the head of a trial is another one."""

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Text, primary_key=True),
    *_columns(Text, "name", "hash", "scopes"),
    Column("trials", Text),
    Column("site", Text),
    *_columns(BigInteger, "created_at"),
    Column("created_by", Text),
    Column("revoked_at", BigInteger),
    Column("revoked_by", Text),
    sqlite_with_rowid=False,
)
"""Who may do what over HTTP. The lists are JSON; no trials means all. Rows stay when a key is revoked."""

sessions = Table(
    "sessions",
    metadata,
    Column("hash", Text, primary_key=True),
    *_columns(Text, "key"),
    *_columns(BigInteger, "created_at", "expires_at"),
    Column("used_at", BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
"""Who has signed in to the pages: `key` is the identifier of a person, or of an API key."""

people = Table(
    "people",
    metadata,
    Column("id", Text, primary_key=True),
    *_columns(Text, "login", "name", "roles"),
    Column("trials", Text),
    Column("site", Text),
    Column("password", Text),
    Column("code_secret", Text),
    *_columns(BigInteger, "code_step"),
    *_columns(Text, "unblinded"),
    *_columns(BigInteger, "created_at"),
    Column("created_by", Text),
    Column("deactivated_at", BigInteger),
    Column("deactivated_by", Text),
    Index("people_by_login", "login", unique=True),
    sqlite_with_rowid=False,
)
"""Accounts. The lists are JSON; no trials means all; `unblinded` names the trials in which they signed to see the arms.
The password is argon2's hash; `code_step` is the time of the last one-time code that was used. Rows stay."""

invitations = Table(
    "invitations",
    metadata,
    Column("hash", Text, primary_key=True),
    *_columns(Text, "person"),
    *_columns(BigInteger, "expires_at"),
    sqlite_with_rowid=False,
)
"""Links that set a password, by the hash of their token; a row goes when its link is used, replaced or over."""

people_log = Table(
    "people_log",
    metadata,
    Column("person", Text, primary_key=True),
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    *_columns(BigInteger, "at"),
    *_columns(Text, "by", "what"),
    sqlite_with_rowid=False,
)
"""What became of each account, and by whose will."""

_REFUSED = "the log is append-only"
_SCOPES = {"UPDATE": " FOR EACH ROW", "DELETE": " FOR EACH ROW", "TRUNCATE": ""}

TRIGGERS = {
    "sqlite": {
        f"events_no_{verb.lower()}": f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events"
        f" BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
        for verb in ("UPDATE", "DELETE")
    },
    "postgresql": {
        f"events_no_{verb.lower()}": f"CREATE TRIGGER events_no_{verb.lower()} BEFORE {verb} ON events"
        f"{each or ' FOR EACH STATEMENT'} EXECUTE FUNCTION takeup_append_only()"
        " CREATE OR REPLACE FUNCTION takeup_append_only() RETURNS trigger LANGUAGE plpgsql"
        f" AS $function$ BEGIN RAISE EXCEPTION '{_REFUSED}'; END $function$"
        for verb, each in _SCOPES.items()
    },
}
"""What keeps the log append-only, by dialect and name, as the database tells it; on PostgreSQL with the function."""
