"""What an audit says of a whole database, on SQLite and PostgreSQL: trials that are gone, rows and things of nobody."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection
from typer.testing import CliRunner

import servers
import tampering
from requirements import absent
from takeup.cli import app
from takeup.errors import NotFoundError, StoreError
from takeup.live import Anchors, audit, audit_database, new_key
from takeup.randomness import stream
from takeup.store import Store, books, looking, reading
from takeup.store.checkup import checkup
from takeup.store.opening import writing_engine
from takeup.trial.commands import Needs

runner = CliRunner()
GHOSTS = [
    "INSERT INTO events SELECT 'ghost', sequence, hash, kind, at, decision, body FROM events WHERE sequence = 1",
    "INSERT INTO evidence VALUES ('ghost', 0, 0, 0, 0, 0)",
    "INSERT INTO keys VALUES ('ghost', 'key', 'request', 1)",
    "INSERT INTO rollup VALUES ('ghost', 1, 0, '[]', '[]', '[]', '[]', 0)",
]
CELLS = {
    "that aliases an unseen action": (0, 1, 3, 1, 0),
    "that aliases an unseen outcome": (0, 1, 1, 2, 0),
    "below unseen": (0, 1, -2, 0, 0),
    "of no context": (2, 0, 0, 0, 0),
    "of no proposal": (0, 2, 0, 0, 0),
    "with decisions in it": (0, 1, 3, 1, 7),
}
"""Rows of the evidence that no log leads to: the actions of the trial are 0 to 2, its outcomes 0 and 1."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def lived(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A database with a trial in it that some of everything happened in."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('lived')}/trials.db"
        else:
            url = stack.enter_context(request.getfixturevalue("postgres").database())
        tampering.lived(url, stream(3))
        yield url


@contextmanager
def forged(database: str, *statements: str) -> Iterator[Connection]:
    """A database as it is after these statements, which are rolled back."""
    engine = writing_engine(database, "FULL")
    try:
        with engine.connect() as connection, connection.begin() as transaction:
            for statement in statements:
                connection.exec_driver_sql(statement)
            yield connection
            transaction.rollback()
    finally:
        engine.dispose()


@pytest.mark.requirement("R-2.3")
def test_whatever_is_not_takeups_is_found_by_audit_and_doctor(lived: str) -> None:
    kind = "postgresql" if lived.startswith("postgres") else "sqlite"
    with forged(lived) as connection:
        assert audit_database(connection).passed
        assert audit(connection, "victim").passed
    for what, statements in tampering.ADDED[kind].items():
        with forged(lived, *statements.splitlines()) as connection:
            assert audit_database(connection).difference is not None, what
            assert not audit(connection, "victim").passed, what
            assert checkup(connection).problems, what


@pytest.mark.requirement("R-2.3")
def test_an_index_of_sqlite_that_says_something_else_than_its_table_is_found(tmp_path: Path) -> None:
    """No byte of a table differed, the audit passed, and a unit was decided a second time, with another arm."""
    path = tmp_path / "trials.db"
    tampering.lived(path, stream(3), 5)
    forger = tampering.Forger(path, stream(1))
    forger.do_leave_an_index_behind()
    forger.close()
    with looking(path) as connection:
        problems = checkup(connection).problems
        for difference in (audit_database(connection).difference, audit(connection, "victim").difference):
            assert "decisions_by_unit" in str(difference)
            assert str(difference) in problems


def test_an_index_of_postgresql_is_compared_where_amcheck_may_be_called(postgres: servers.Server) -> None:
    ready = "UPDATE pg_index SET indisready = {} WHERE indexrelid = 'decisions_by_unit'::regclass"
    renamed = [f"UPDATE decisions SET unit = '{unit}' WHERE number = 1" for unit in ("nobody", "unit 0")]
    stale = [ready.format("false"), *renamed, ready.format("true")]
    with postgres.database() as url:
        tampering.lived(url, stream(3), 5)
        with forged(url) as connection:
            assert "amcheck: not installed" in str(checkup(connection).facts)
            if not connection.exec_driver_sql("SELECT FROM pg_available_extensions WHERE name = 'amcheck'").all():
                absent("this PostgreSQL comes without amcheck")
        reader = [
            "CREATE ROLE reader",
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader",
            "SET LOCAL ROLE reader",
        ]
        with forged(url, "CREATE EXTENSION amcheck", *stale, *reader) as connection:
            assert "not permitted" in str(checkup(connection).facts)
            assert audit_database(connection).passed
        with forged(url, "CREATE EXTENSION amcheck") as connection:
            assert audit_database(connection).passed
            assert "amcheck" not in str(checkup(connection))
        with forged(url, "CREATE EXTENSION amcheck", *stale) as connection:
            difference = audit_database(connection).difference
            assert difference is not None
            assert difference.where == "index decisions_by_unit"
            assert not audit(connection, "victim").passed
            assert str(difference) in checkup(connection).problems


def test_what_sqlite_makes_by_itself_is_no_difference(tmp_path: Path) -> None:
    tampering.lived(tmp_path / "trials.db", stream(3), 5)
    numbered = "CREATE TABLE gone (id INTEGER PRIMARY KEY AUTOINCREMENT)"
    with forged(f"{tmp_path}/trials.db", "ANALYZE", numbered, "DROP TABLE gone") as connection:
        assert audit_database(connection).passed


def test_rows_of_a_trial_that_is_not_there_are_found(lived: str) -> None:
    for statement in GHOSTS:
        with forged(lived, statement) as connection:
            found = audit_database(connection)
        assert found.audits[0].passed
        assert "rows of 'ghost'" in str(found.difference)


@pytest.mark.requirement("R-2.6")
@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_a_row_that_no_log_leads_to_is_found_and_never_loaded(lived: str, cell: tuple[int, ...]) -> None:
    """One such row told a finished trial's summary 29 decisions of 140, and no audit said anything."""
    with forged(lived, f"INSERT INTO evidence VALUES ('victim', {', '.join(map(str, cell))})") as connection:
        difference = audit(connection, "victim").difference
        assert difference is not None
        assert (difference.where, difference.expected) == (f"evidence {cell[:4]}", "no such row")
        with pytest.raises(StoreError, match="run takeup audit"):
            reading.snapshot(connection, "victim")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE evidence SET amount = amount + 1 WHERE amount > 0",
        "UPDATE decisions SET implemented = 3 WHERE number = 1",
        "UPDATE decisions SET counted = 2 WHERE number = 1",
        "UPDATE decisions SET number = 99, unit = 'forged' WHERE number = 16",
        "UPDATE keys SET sequence = 1 WHERE key = 'decide 1'",
        "UPDATE keys SET sequence = 9999 WHERE key = 'decide 1'",
        "UPDATE trials SET state = 'walking'",
        "UPDATE rollup SET context = 7 WHERE first = 1",
        "UPDATE rollup SET best = '[1]' WHERE first = 1",
    ],
)
def test_whoever_would_use_a_row_that_cannot_be_is_refused(lived: str, change: str) -> None:
    needs = Needs("decide 1", (("forged", ""),), (1,))
    with forged(lived, change) as connection:
        assert not audit(connection, "victim").passed
        with pytest.raises(StoreError, match="run takeup audit"):
            books.fill(connection, reading.snapshot(connection, "victim"), [needs])


def test_cells_that_became_empty_are_no_difference_and_must_be_there(lived: str) -> None:
    """A decision that is reported leaves the cell it was in: its row stays, and is part of the fold."""
    with forged(lived) as connection:
        empty = connection.exec_driver_sql("SELECT count(*) FROM evidence WHERE amount = 0").scalar_one()
    assert empty > 0
    with forged(lived, "DELETE FROM evidence WHERE amount = 0") as connection:
        assert not audit(connection, "victim").passed


@pytest.mark.requirement("R-2.5")
def test_a_trial_that_was_deleted_is_missed(emptied: str, tmp_path: Path) -> None:
    key = new_key(tmp_path / "key")
    tampering.lived(emptied, stream(3), 5, Anchors(tmp_path / "anchors", key))
    options = ["--anchors", str(tmp_path / "anchors"), "--key", str(tmp_path / "key")]
    assert runner.invoke(app, ["audit", emptied, *options]).exit_code == 0
    with Store(emptied) as store:
        store.writer.change(_delete)
    found = runner.invoke(app, ["audit", emptied, *options, "--json"])
    assert found.exit_code == 1
    told: dict[str, Any] = json.loads(found.output)
    assert (told["passed"], told["audits"], told["difference"]["where"]) == (False, [], "trial victim")
    assert "nothing to audit" not in runner.invoke(app, ["audit", emptied, *options]).output
    one = runner.invoke(app, ["audit", emptied, *options, "--trial", "victim"])
    assert (one.exit_code, "no such trial" in one.output) == (1, True)
    with looking(emptied) as connection, pytest.raises(NotFoundError):
        audit(connection, "victim")


def _delete(connection: Connection) -> None:
    for name in ("evidence", "keys", "rollup", "decisions", "trials"):
        connection.exec_driver_sql(f"DELETE FROM {name}")
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE events DISABLE TRIGGER USER")
        connection.exec_driver_sql("DELETE FROM events")
        connection.exec_driver_sql("ALTER TABLE events ENABLE TRIGGER USER")
        return
    trigger = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'events_no_delete'").scalar_one()
    connection.exec_driver_sql("DROP TRIGGER events_no_delete")
    connection.exec_driver_sql("DELETE FROM events")
    connection.exec_driver_sql(trigger)
