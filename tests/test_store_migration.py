"""A database of version 0.1 loses nothing on its way to this version, whatever interrupts it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError

import migrating
import version_0_1
from servers import Server
from takeup.store import Store

DECISIONS, DRAWN = 1_058, 36
"""How many decisions there are in it, and how many of them clients drew; one more of each is made."""


def kept(database: str, tmp_path: Path) -> migrating.Victim:
    """The database of version 0.1 that is kept here."""
    original = tmp_path / "original.db"
    version_0_1.restore(original)
    if database.startswith("postgres"):
        return migrating.Victim(database, lambda: version_0_1.copy(original, database))
    return migrating.Victim(str(original), lambda: None)


@pytest.mark.requirement("R-10.3")
@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True)
def test_what_version_0_1_wrote_is_all_there_and_goes_on(database: str, tmp_path: Path) -> None:
    """Every row is as it was, all decisions come out again, and the trial goes on.

    Those that are interrupted, of both kinds, end with the same.
    """
    result = kept(database, tmp_path).finish()
    assert result.wrong == []
    assert (result.decisions, result.derived) == (DECISIONS + 2, DECISIONS - DRAWN + 1)


@pytest.mark.requirement("R-10.4")
@pytest.mark.parametrize("times", [3, pytest.param(6, marks=pytest.mark.long)])
def test_a_migration_that_is_interrupted_anywhere_loses_nothing(database: str, tmp_path: Path, times: int) -> None:
    """In each way; it took place or it did not, and of two at once one waits for the other."""
    options = ["--times", f"{times}"]
    if database.startswith("postgres"):
        options += ["--postgresql", database]
    result = tortured(tmp_path, *options)
    assert result["wrong"] == []
    assert (result["decisions"], result["derived"]) == (DECISIONS + 2, DECISIONS - DRAWN + 1)
    assert result["interrupted"] >= times - 1  # of one more; how often another SQLite syncs is not known
    assert result["finished"] > 0


def test_version_0_1_that_still_runs_is_refused(database: str, tmp_path: Path) -> None:
    """Every request to a trial reads its head in all columns; there are others now, and 0.1 would not write them."""
    victim = kept(database, tmp_path)
    heads = f"SELECT {', '.join(victim.before['trials'][0])} FROM trials"
    with version_0_1.opened(victim.url) as connection:
        assert len(connection.exec_driver_sql(heads).all()) == 5
    Store(victim.url).close()
    with (
        version_0_1.opened(victim.url) as connection,
        pytest.raises(DBAPIError, match=r'no such column: version|column "version" does not exist'),
    ):
        connection.exec_driver_sql(heads)


def tortured(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, str(Path(migrating.__file__)), str(folder), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_a_migration_is_told_of_and_takes_its_time(
    postgres: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says what it does and how far it is; a limit on statements that the server sets does not hold for it."""
    monkeypatch.setattr("takeup.store.migrations.decided.EVERY", 500)
    caplog.set_level("INFO", logger="takeup.store")
    limits = []

    def look(connection: Connection, cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("ALTER TABLE"):
            limits.append(connection.exec_driver_sql("SHOW statement_timeout").scalar_one())

    with postgres.database() as url:
        kept(url, tmp_path)
        event.listen(Engine, "before_cursor_execute", look)
        try:
            Store(f"{url}&options=-c%20statement_timeout%3D1h").close()
        finally:
            event.remove(Engine, "before_cursor_execute", look)
    assert set(limits) == {"0"}
    first, *others = caplog.messages
    assert "from schema 0004 to 0014, in one transaction; whatever interrupts it leaves" in first
    assert others == [f"trial long: {count} of 1,010 decisions read" for count in ("500", "1,000")]
