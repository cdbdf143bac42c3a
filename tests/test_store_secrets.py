"""What a database holds and how it is reached is nobody else's business: modes of files, passwords."""

import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

import servers
from takeup.cli import app, main
from takeup.errors import TakeupError
from takeup.live import Trial
from takeup.live.long_jobs import LongJob
from takeup.store import Store, looking
from takeup.store.opening import shown

SPEC = {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}}
PASSWORD = "hunter2"
URLS = [
    "postgresql://me:hunter2@127.0.0.1:1/t",
    "postgres://me:hunter2@127.0.0.1:1/t",
    "postgresql://me:%68unter2@127.0.0.1:1/t",
    "postgresql://me:a@hunter2@127.0.0.1:1/t",
    "postgresql://me:a/hunter2@127.0.0.1:1/t",
    "postgresql://me@127.0.0.1:1/t?password=hunter2",
    "postgresql://127.0.0.1:1/t?sslpassword=hunter2&user=me",
    "postgresql://127.0.0.1:1/t?password=hunter2&nonsense=1",
    "postgresql://me:hunter2@127.0.0.1:port/t",
    "postgresql://me:hunter2@[::1/t",
    "postgresql:/me:hunter2@127.0.0.1/t",
    "postgresql//me:hunter2@127.0.0.1/t",
    "POSTGRESQL://me:hunter2@127.0.0.1/t",
    "mysql://me:hunter2@127.0.0.1/t",
    "me:hunter2@127.0.0.1/t",
    "host=127.0.0.1 user=me password=hunter2 dbname=none/t",
]


@pytest.fixture
def any_umask() -> Iterator[None]:
    """A process that lets everybody read what it makes."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.requirement("R-4.8")
@pytest.mark.usefixtures("any_umask")
def test_a_database_and_its_log_are_for_their_owner_alone(tmp_path: Path) -> None:
    with Trial.create(tmp_path / "trials.db", SPEC) as trial:
        trial.start()
        with looking(tmp_path / "trials.db"):
            found = {file.name: oct(file.stat().st_mode & 0o777) for file in tmp_path.iterdir()}
    assert found == dict.fromkeys(("trials.db", "trials.db-wal", "trials.db-shm"), "0o600")


def test_a_database_that_others_may_read_is_a_problem(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "trials.db"
    Trial.create(file, SPEC).close()
    assert CliRunner().invoke(app, ["doctor", str(file)]).exit_code == 0
    file.chmod(0o640)
    told = CliRunner().invoke(app, ["doctor", str(file)])
    assert (told.exit_code, "PROBLEM" in told.output, "has mode 0640" in told.output) == (1, True, True)
    with caplog.at_level(logging.WARNING, "takeup"):
        Store(file).close()
    assert f"chmod 600 {file}*" in caplog.text
    assert file.stat().st_mode & 0o777 == 0o640  # it is its owner's to change


@pytest.mark.requirement("R-4.9")
@pytest.mark.parametrize("url", URLS)
def test_no_command_says_a_password(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert PASSWORD not in shown(url)
    listed = ["list", "--database", url]
    for arguments in (["audit", url], ["doctor", url], ["keys", *listed], ["people", *listed], ["analyse", url]):
        monkeypatch.setattr(sys, "argv", ["takeup", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = "".join(capsys.readouterr())
        assert ended.value.code in (1, 2), said
        assert PASSWORD not in said
    with pytest.raises(TakeupError) as refused:
        Store(url)
    assert PASSWORD not in str(refused.value)


def test_what_is_shown_can_be_typed_where_nothing_was_secret() -> None:
    for url in ("trials.db", "sqlite:///a/b.db", "postgresql://me@host/t", "postgresql://me@/t?host=/tmp/x"):
        assert shown(url) == url
    assert shown("postgresql://me:secret@host:5432/t") == "postgresql://me:***@host:5432/t"


def test_a_database_may_be_named_by_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "trials.db"
    Trial.create(file, SPEC).close()
    named = {"TAKEUP_DATABASE": str(file)}
    for arguments in (["audit"], ["doctor"], ["keys", "list"], ["keys", "create", "me", "--scope", "admin"]):
        told = CliRunner().invoke(app, arguments, env=named)
        assert told.exit_code == 0, told.output
    assert "t: passed" in CliRunner().invoke(app, ["audit"], env=named).output
    assert CliRunner().invoke(app, ["audit", str(tmp_path / "none.db")], env=named).exit_code == 1


def test_passwords_come_from_the_environment_or_a_file(
    postgres: servers.Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PGPASSWORD and a pgpass file are libpq's own; a URL without a password leaves them to it."""
    rules = postgres.data / "pg_hba.conf"
    before = rules.read_text()
    with postgres.database() as url, Store(url) as store:
        name = url.partition("@/")[2].partition("?")[0]
        safe = url.replace("takeup@", "guarded@")

        def change(statement: str) -> None:
            store.writer.change(lambda connection: connection.execute(text(statement)))

        change("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'hunter2'")
        try:
            rules.write_text(f"local all guarded scram-sha-256\n{before}")
            change("SELECT pg_reload_conf()")
            refused = CliRunner().invoke(app, ["doctor", safe], env={"PGPASSWORD": "another"})
            assert (refused.exit_code, "hunter2" in refused.output) == (1, False)
            assert CliRunner().invoke(app, ["doctor", safe], env={"PGPASSWORD": PASSWORD}).exit_code == 0
            file = tmp_path / "pgpass"
            file.write_text(f"*:*:{name}:guarded:{PASSWORD}\n")
            file.chmod(0o600)
            assert CliRunner().invoke(app, ["doctor", safe], env={"PGPASSFILE": str(file)}).exit_code == 0
        finally:
            rules.write_text(before)
            change("SELECT pg_reload_conf()")
            change("DROP ROLE guarded")


def test_a_long_job_gets_its_database_where_no_list_of_processes_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio

    seen: list[object] = []

    def start(command: Sequence[str], **_: object) -> object:
        seen.extend(command)
        raise OSError("enough")

    monkeypatch.setattr(subprocess, "Popen", start)
    job = LongJob(kind="audit", database=URLS[0], trial="t")
    with pytest.raises(OSError, match="enough"):
        asyncio.run(job.send())
    assert seen
    assert PASSWORD not in f"{seen} {job!r} {subprocess.list2cmdline(map(str, seen))}"
