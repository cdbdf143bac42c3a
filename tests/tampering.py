"""A forger with full access to the database, who knows the code, but not the key of the anchors."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from takeup.live import Anchors, Trial, new_key
from takeup.store import books, sqlite
from takeup.store.schema import FOLDS, TRIGGERS
from takeup.trial import Ask, Decide, Report, perform
from takeup.trial.book import Book
from takeup.trial.events import Created, event_of, link
from takeup.trial.secret import Secret

Random = np.random.Generator
SPEC: dict[str, Any] = {
    "name": "Victim",
    "space": {
        "proposals": ["rest", "drug"],
        "implemented": ["rest", "drug", "both"],
        "contexts": ["young", "old"],
        "covariates": {"pulse": {"kind": "measure", "low": 0, "high": 300}},
    },
    "policy": {"kind": "Forgetting", "base": {"kind": "TSObs"}, "half_life": 6, "epoch": 3},
    "draws": 100,
    "window": 60,
    "limits": {"floor": 0.05},
}


PULSE = {"pulse": 70}
EDGE_SPEC: dict[str, Any] = {
    "name": "Victim",
    "space": {"proposals": ["rest", "drug"], "implemented": ["rest", "drug", "both"], "contexts": ["young", "old"]},
    "policy": {"kind": "Forgetting", "base": {"kind": "TSObs"}, "half_life": 6, "epoch": 3},
    "draws": 100,
    "window": 60,
    "burn_in": 3,
    "edge": {"allowed": True, "seconds": 30, "most": 8},
    "rehearsal": True,
    "seed": 11,
}


def victim(folder: Path, rng: Random, decisions: int = 12) -> Path:
    """A trial with some of everything in its log, its anchors and their key."""
    path = folder / "victim.db"
    lived(path, rng, decisions, Anchors(folder / "anchors", new_key(folder / "key")))
    return path


def lived(database: str | Path, rng: Random, decisions: int = 12, witness: Anchors | None = None) -> None:
    """The same in any database."""
    now = [0]
    with Trial.create(database, SPEC, clock=lambda: now[0], witness=witness) as trial:
        trial.start(by="somebody")
        for i in range(decisions):
            now[0] += 17_000_000
            decision = trial.decide(f"unit {i}", i % 2, covariates={"pulse": 60 + i}, key=f"decide {i}")
            if i % 5 != 4:
                trial.report(decision, implemented=int(rng.integers(3)))
                trial.report(decision, outcome=int(rng.integers(2)), key=f"report {i}")
        had = '"outcome":"1"' in trial.events(decision=1)[-1].body
        trial.report(1, outcome=0 if had else 1, reason="typing error")
        trial.report(5, missing=["outcome"])
        trial.fallback("unit f", "drug", 0, covariates=PULSE, key="fallback")
        trial.fallback("unit 1", "drug", 1, covariates={"pulse": 61})
        batch = [{"unit": f"batch {i}", "context": 1, "covariates": PULSE} for i in range(3)]
        trial.decide_many(batch, key="batch")
        trial.pause(reason="a look at safety")


def leased(database: str | Path, rng: Random, witness: Anchors | None = None) -> None:
    """A trial whose clients decide from leases, with some of everything that this leads to."""
    now = [0]
    with Trial.create(database, EDGE_SPEC, clock=lambda: now[0], witness=witness) as trial:
        trial.start(by="somebody")
        now[0] += 1_000_000
        given = [trial.lease(key="one", by="edge"), trial.lease(by="edge")]
        rows: list[dict[str, Any]] = []
        for i in range(12):
            lease = given[i % 2]
            z = lease.draw(f"unit {i}", None, i % 2)
            row = {"unit": f"unit {i}", "context": i % 2, "proposal": z, "lease": lease.number, "drawn": now[0] + i}
            rows.append(row | ({"outcome": int(rng.integers(2)), "implemented": int(rng.integers(3))} if i % 3 else {}))
        trial.ingest("first", rows, by="edge")
        now[0] += 100_000_000
        trial.revoke(2, reason="lost", by="somebody")
        reports = [{"unit": f"unit {i}", "outcome": int(rng.integers(2))} for i in (0, 3)]
        new = {**rows[3], "unit": "new"}
        aside = [
            {**rows[1], "lease": 1},
            {**new, "lease": 9},
            {**new, "drawn": now[0]},
        ]
        trial.ingest("second", [*reports, *aside, rows[5]])
        trial.lease(by="edge")
        trial.decide("asked", 0)


ADDED = {
    "sqlite": {
        "a trigger": "CREATE TRIGGER mine AFTER INSERT ON events BEGIN DELETE FROM evidence; END",
        "a table": "CREATE TABLE mine (id INTEGER)",
        "a column": "ALTER TABLE evidence ADD COLUMN mine INTEGER",
        "a view": "CREATE VIEW mine AS SELECT * FROM evidence",
        "an index": "CREATE UNIQUE INDEX mine ON keys (request)",
        "a table replaced": "ALTER TABLE sessions RENAME TO other\nCREATE VIEW sessions AS SELECT * FROM other",
        "a table without its constraints": "DROP TABLE sessions\n"
        "CREATE TABLE sessions (hash, key, created_at, expires_at)",
        "an index gone": "DROP INDEX decisions_waiting",
        "a trigger of the same name": "DROP TRIGGER events_no_update\n"
        "CREATE TRIGGER events_no_update BEFORE UPDATE ON evidence BEGIN SELECT RAISE(ABORT, 'no'); END",
        "a trigger whose name reads like another's": "DROP TRIGGER events_no_update\n"
        'CREATE TRIGGER "events_no_update()" AFTER INSERT ON events BEGIN DELETE FROM evidence; END\n'
        + TRIGGERS["sqlite"]["events_no_update"],
        "a trigger with a name of SQLite's": "PRAGMA writable_schema = 1\n"
        "INSERT INTO sqlite_master VALUES ('trigger', 'sqlite_stat1', 'sessions', 0,"
        " 'CREATE TRIGGER sqlite_stat1 AFTER INSERT ON sessions BEGIN UPDATE api_keys SET site = NULL; END')",
        "a revision": "INSERT INTO alembic_version VALUES ('0000')",
    },
    "postgresql": {
        "a trigger": "CREATE FUNCTION mine() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN DELETE FROM evidence; RETURN NEW; END'\n"
        "CREATE TRIGGER mine AFTER INSERT ON keys FOR EACH ROW EXECUTE FUNCTION mine()",
        "a trigger that sleeps": "ALTER TABLE events DISABLE TRIGGER events_no_update",
        "a trigger for nothing": "DROP TRIGGER events_no_update ON events\nCREATE TRIGGER events_no_update"
        " BEFORE UPDATE ON events FOR EACH ROW WHEN (false) EXECUTE FUNCTION takeup_append_only()",
        "a function that does nothing": "CREATE OR REPLACE FUNCTION takeup_append_only() RETURNS trigger"
        " LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$",
        "a rule": "CREATE RULE mine AS ON INSERT TO keys DO ALSO DELETE FROM evidence",
        "a table": "CREATE TABLE mine (id INTEGER)",
        "a column": "ALTER TABLE evidence ADD COLUMN mine INTEGER",
        "a column of another type": "ALTER TABLE evidence ALTER COLUMN amount TYPE numeric",
        "a default": "ALTER TABLE trials ALTER COLUMN state SET DEFAULT 'running'",
        "a view": "CREATE VIEW mine AS SELECT * FROM evidence",
        "an index": "CREATE UNIQUE INDEX mine ON keys (request)",
        "an index gone": "DROP INDEX decisions_waiting",
        "a constraint gone": "ALTER TABLE evidence DROP CONSTRAINT evidence_counts",
        "a foreign key": "ALTER TABLE keys ADD FOREIGN KEY (trial) REFERENCES trials (id) ON DELETE CASCADE",
        "a table that inherits": "CREATE SCHEMA far\nCREATE TABLE far.mine () INHERITS (evidence)",
        "row security": "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
        "a table that a crash empties": "ALTER TABLE sessions SET UNLOGGED",
        "another schema in front": "CREATE SCHEMA takeup\nCREATE TABLE takeup.evidence (LIKE public.evidence)",
        "a revision": "INSERT INTO alembic_version VALUES ('0000')",
    },
}
"""What somebody may do to a database without touching a row of a trial; a statement a line."""


def copied(path: Path, to: Path) -> Path:
    """A database on its own, without a log that has not been checkpointed."""
    shutil.copyfile(path, to)
    return to


class Forger:
    """Changes one thing, as cleverly as it can."""

    def __init__(self, path: Path, rng: Random) -> None:
        self.path, self.rng = path, rng
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.row_factory = sqlite3.Row
        self.connection.execute("PRAGMA synchronous = OFF")

    def close(self) -> None:
        self.connection.close()

    def tamper(self) -> str:
        """Do something, and say what."""
        ways = [name for name in sorted(dir(self)) if name.startswith("do_")]
        name = ways[self.rng.integers(len(ways))]
        way: Callable[[], str] = getattr(self, name)
        with self.unlocked(name not in ("do_drop_trigger", "do_change_a_trigger", "do_add_something")):
            return f"{name}: {way()}"

    # The log itself.

    def do_change_a_character(self) -> str:
        row = self.event()
        place = int(self.rng.integers(len(row["body"])))
        old = row["body"][place]
        new = chr(33 + (ord(old) - 33 + 1 + int(self.rng.integers(80))) % 90)
        body = row["body"][:place] + new + row["body"][place + 1 :]
        return self.replace(row, body) if body != row["body"] else self.do_change_a_hash()

    def do_change_a_hash(self) -> str:
        row = self.event()
        self.connection.execute("UPDATE events SET hash = ? WHERE sequence = ?", (row["hash"][::-1], row["sequence"]))
        return f"hash of {row['sequence']}"

    def do_change_a_column(self) -> str:
        row = self.event()
        column = ("kind", "at", "decision")[self.rng.integers(3)]
        self.connection.execute(f"UPDATE events SET {column} = 99 WHERE sequence = ?", (row["sequence"],))
        return f"{column} of {row['sequence']}"

    def do_delete_an_event(self) -> str:
        row = self.event()
        self.connection.execute("DELETE FROM events WHERE sequence = ?", (row["sequence"],))
        if self.rng.random() < 0.5:
            self.renumber()
        return f"event {row['sequence']}"

    def do_swap_two_events(self) -> str:
        bodies = self.bodies()
        first = int(self.rng.integers(len(bodies) - 1))
        bodies[first], bodies[first + 1] = bodies[first + 1], bodies[first]
        self.write_log(bodies)
        return f"events {first + 1} and {first + 2}"

    def do_change_a_value_and_recompute_the_chain(self) -> str:
        bodies = self.bodies()
        place = int(self.rng.integers(1, len(bodies)))
        event = json.loads(bodies[place])
        name = sorted(set(event) - {"kind"})[self.rng.integers(len(event) - 1)]
        event[name] = self.other(event[name])
        bodies[place] = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.write_log(bodies)
        return f"{name} of event {place + 1}"

    def do_add_an_event(self) -> str:
        bodies = self.bodies()
        bodies.insert(int(self.rng.integers(1, len(bodies) + 1)), bodies[self.rng.integers(1, len(bodies))])
        self.write_log(bodies)
        return "one twice"

    # The whole database, so that everything in it fits together: what only anchors can show.

    def do_cut_the_tail(self) -> str:
        cut = int(self.rng.integers(1, 20))
        self.rebuild(self.bodies()[:-cut])
        return f"{cut} events"

    def do_replace_the_tail(self) -> str:
        """Cut, and let the trial go on otherwise: every decision is a true one."""
        cut = int(self.rng.integers(1, 20))
        book = self.book(self.bodies()[:-cut])
        for i in range(cut):
            if book.state == "running":
                pulse = None if book.design.space.covariates is None else PULSE
                perform(Decide(ask=Ask(unit=f"nobody {i}", context=0, covariates=pulse)), book, book.at)
            else:
                perform(Report(decision=1, missing=("implemented",), reason=f"reason {i}"), book, book.at)
        self.store(book)
        return f"{cut} events"

    def do_rewrite_history(self) -> str:
        """Change one report, and derive all that follows from it as the code would."""
        bodies = self.bodies()
        reports = [i for i, body in enumerate(bodies) if '"kind":"reported"' in body and '"outcome"' in body]
        event = json.loads(bodies[reports[self.rng.integers(len(reports))]])
        place = bodies.index(json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False))
        event["by"] = "somebody else"
        bodies[place] = json.dumps(event, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.rebuild(bodies)
        return f"event {place + 1}"

    # The tables that are folds of the log.

    def do_change_a_table(self) -> str:
        table = (*self.filled(), "trials")[self.rng.integers(1 + len(self.filled()))]
        rows = self.connection.execute(f"SELECT * FROM {table}").fetchall()
        row = rows[self.rng.integers(len(rows))]
        columns = [c for c in row.keys() if c not in ("trial", "id")]  # noqa: SIM118  # a Row is no mapping
        column = columns[self.rng.integers(len(columns))]
        if table == "evidence":
            column = "amount"
        if table == "evidence_sums":
            column = "sums"
        if table == "evidence_epochs":
            column = ("amount", "epoch")[self.rng.integers(2)]
        where = " AND ".join(f"{name} IS ?" for name in row.keys())  # noqa: SIM118  # a row is no mapping
        try:
            self.connection.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", (self.other(row[column]), *row))
        except sqlite3.IntegrityError:
            return self.do_delete_a_row()
        return f"{table}.{column}"

    def do_delete_a_row(self) -> str:
        table = self.filled()[self.rng.integers(len(self.filled()))]
        rows = self.connection.execute(f"SELECT * FROM {table}").fetchall()
        row = rows[self.rng.integers(len(rows))]
        where = " AND ".join(f"{name} IS ?" for name in row.keys())  # noqa: SIM118  # a row is no mapping
        self.connection.execute(f"DELETE FROM {table} WHERE {where}", tuple(row))
        return table

    def do_change_the_secret(self) -> str:
        self.connection.execute("UPDATE trials SET secret = ?", (Secret.new().text,))
        return "another seed"

    def do_drop_trigger(self) -> str:
        name = ("events_no_update", "events_no_delete")[self.rng.integers(2)]
        self.connection.execute(f"DROP TRIGGER {name}")
        return str(name)

    def do_change_a_trigger(self) -> str:
        name, statement = self.connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchone()
        self.connection.execute(f"DROP TRIGGER {name}")
        self.connection.execute(statement.replace(" BEGIN", " WHEN 0 BEGIN"))
        return str(name)

    # Rows that no log leads to.

    def do_add_a_cell(self) -> str:
        """One that exists and was never touched, or one that cannot exist; with no decision in it, or some."""
        known = set(map(tuple, self.connection.execute("SELECT context, proposal, implemented, outcome FROM evidence")))
        while True:
            cell = tuple(int(i) for i in self.rng.integers(-2, 5, 4))
            if cell not in known:
                break
        count = int(self.rng.integers(2))
        if self.rng.integers(2):
            epoch = int(self.rng.integers(-1, 9))
            places = "SELECT epoch, context, proposal, implemented, outcome FROM evidence_epochs"
            if (epoch, *cell) not in set(map(tuple, self.connection.execute(places))):
                row = (epoch, *cell, count)
                self.connection.execute("INSERT INTO evidence_epochs VALUES ('victim', ?, ?, ?, ?, ?, ?)", row)
                return f"{cell} in epoch {epoch}: {count}"
        self.connection.execute("INSERT INTO evidence VALUES ('victim', ?, ?, ?, ?, ?)", (*cell, count))
        return f"{cell}: {count}"

    def do_add_a_row(self) -> str:
        table = ("decisions", "keys", "rollup")[self.rng.integers(3)]
        row = list(self.connection.execute(f"SELECT * FROM {table}").fetchone())
        row[1] = {"decisions": 0, "keys": "another", "rollup": 2**40}[table]
        row[2] = "another" if table == "decisions" else row[2]
        self.connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        return table

    def do_change_a_type(self) -> str:
        """The same to whoever prints it, and not to whoever computes with it."""
        column = ("trials.spec", "trials.hash", "events.body", "events.hash", "keys.request", "rollup.best")
        table, _, name = column[self.rng.integers(len(column))].partition(".")
        self.connection.execute(f"UPDATE {table} SET {name} = CAST({name} AS BLOB)")
        return f"{table}.{name}"

    def do_add_rows_of_another_trial(self) -> str:
        table = ("events", *self.filled())[self.rng.integers(1 + len(self.filled()))]
        row = ("ghost", *tuple(self.connection.execute(f"SELECT * FROM {table}").fetchone())[1:])
        self.connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
        return table

    def do_delete_the_trial(self) -> str:
        for table in ("events", *FOLDS):
            self.connection.execute(f"DELETE FROM {table}")
        self.connection.execute("DELETE FROM trials")
        return "all of it"

    def do_leave_an_index_behind(self) -> str:
        """It says something else than its table, of which no byte differs."""
        entry = self.connection.execute("SELECT * FROM sqlite_master WHERE name = 'decisions_by_unit'").fetchone()
        number, unit = self.connection.execute("SELECT number, unit FROM decisions").fetchone()
        rename = "UPDATE decisions SET unit = ? WHERE number = ?"
        self.connection.execute(rename, ("nobody", number))
        self.master("DELETE FROM sqlite_master WHERE name = ?", (entry["name"],))
        self.connection.execute(rename, (unit, number))
        self.master("INSERT INTO sqlite_master VALUES (?, ?, ?, ?, ?)", tuple(entry))
        return str(unit)

    # What is in the database and not takeup's.

    def do_add_something(self) -> str:
        what = tuple(ADDED["sqlite"])[self.rng.integers(len(ADDED["sqlite"]))]
        for statement in ADDED["sqlite"][what].splitlines():
            self.connection.execute(statement)
        return what

    # How.

    def master(self, statement: str, values: tuple[Any, ...]) -> None:
        """Change what SQLite believes that there is."""
        self.connection.execute("PRAGMA writable_schema = 1")
        self.connection.execute(statement, values)
        self.connection.execute("PRAGMA writable_schema = RESET")

    def event(self) -> sqlite3.Row:
        rows = self.connection.execute("SELECT * FROM events ORDER BY sequence").fetchall()
        row: sqlite3.Row = rows[self.rng.integers(len(rows))]
        return row

    def bodies(self) -> list[str]:
        return [row["body"] for row in self.connection.execute("SELECT body FROM events ORDER BY sequence")]

    def filled(self) -> list[str]:
        """The tables with rows of the trial."""
        return [name for name in FOLDS if self.connection.execute(f"SELECT 1 FROM {name}").fetchone()]

    def replace(self, row: sqlite3.Row, body: str) -> str:
        self.connection.execute("UPDATE events SET body = ? WHERE sequence = ?", (body, row["sequence"]))
        return f"event {row['sequence']}"

    def renumber(self) -> None:
        self.write_log(self.bodies())

    def write_log(self, bodies: list[str]) -> None:
        """These events, with a valid chain and a head that fits."""
        self.connection.execute("DELETE FROM events")
        previous = "0" * 64
        for sequence, body in enumerate(bodies, start=1):
            previous = link(previous, sequence, body)
            event = json.loads(body)
            decision = event.get("number") or event.get("decision")
            row = ("victim", sequence, previous, event["kind"], event["at"], decision, body)
            self.connection.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        self.connection.execute("UPDATE trials SET hash = ?, sequence = ?", (previous, len(bodies)))

    def book(self, bodies: list[str]) -> Book:
        secret = Secret.of_text(self.connection.execute("SELECT secret FROM trials").fetchone()[0])
        first, *others = (event_of(body) for body in bodies)
        assert isinstance(first, Created)
        book = Book.begin(first, secret)
        for event in others:
            book.append(event)
        return book

    def rebuild(self, bodies: list[str]) -> None:
        self.store(self.book(bodies))

    def store(self, book: Book) -> None:
        for table in ("trials", "events", *FOLDS):
            self.connection.execute(f"DELETE FROM {table}")
        engine = sqlite.writer(str(self.path), synchronous="OFF")
        with engine.begin() as connection:
            books.save(connection, book, None)
        engine.dispose()

    def other(self, value: Any) -> Any:
        """Another value of the same kind."""
        match value:
            case bool() | None:
                return 1
            case int() | float():
                return value + 1
            case bytes():
                return bytes([value[0] ^ 1, *value[1:]])
            case str():
                return {"rest": "drug", "drug": "rest", "0": "1", "1": "0", "running": "paused"}.get(value, value + "x")
            case list():
                return value[::-1] if value[::-1] != value else [*value, 1]
        return {"outcome": "0"} if value == {"outcome": "1"} else {"outcome": "1"}

    def unlocked(self, restore: bool) -> "_Unlocked":
        return _Unlocked(self.connection, restore)


class _Unlocked:
    """The log without the triggers that protect it."""

    def __init__(self, connection: sqlite3.Connection, restore: bool) -> None:
        self.connection, self.restore = connection, restore

    def __enter__(self) -> None:
        names = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        self.triggers = self.connection.execute(names).fetchall() if self.restore else []
        for name, _ in self.triggers:
            self.connection.execute(f"DROP TRIGGER {name}")

    def __exit__(self, *_: object) -> None:
        for _, statement in self.triggers:
            self.connection.execute(statement)
