"""Backups that are made while clients ask: each is whole, and the beginning of what the log became."""

import asyncio
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from gates.clients import Clients, GoneError, beside, reasons
from gates.gate import AbsentError, Found, Gate, Run
from gates.scene import Scene, scene
from servers import Server
from takeup.errors import TakeupError
from takeup.live import audit
from takeup.store import looking, reading

Copy = Callable[[Path, Path], None]
EVERY = 100
"""After so many more acknowledged there is another copy."""


def backup(database: Path, to: Path) -> None:
    """What the docs say: `.backup` of SQLite's own program."""
    subprocess.run(["sqlite3", str(database), f".backup '{to}'"], check=True, capture_output=True)


def vacuum(database: Path, to: Path) -> None:
    """VACUUM INTO."""
    subprocess.run(["sqlite3", str(database), f"VACUUM INTO '{to}'"], check=True, capture_output=True)


def file_alone(database: Path, to: Path) -> None:
    """What the docs say never to do."""
    shutil.copyfile(database, to)


def hashes(database: str | Path, trial: str) -> list[str]:
    """Of all events, and that the audit passes.

    Raises:
        ValueError: it does not.
    """
    with looking(database) as connection:
        found = audit(connection, trial)
        if not found.passed:
            raise ValueError(f"the audit found {found.difference}")
        return [event.hash for event in reading.log(connection, trial)]


def taken(made: Scene, run: Run, take: Callable[[int], None], restored: Callable[[int], list[str]]) -> Found:
    """Take so many while clients ask; each must have all that was acknowledged before it began."""
    clients = Clients([each.port for each in made.running], made.trial, made.key, run.seed, number=8)
    known: list[int] = []
    over = False

    async def copies() -> None:
        nonlocal over
        for i in range(run.times):
            while clients.acknowledged < EVERY * (i + 1):
                await asyncio.sleep(0.02)
            known.append(
                max((each.number for each in clients.history if each.kind == "report" and each.done), default=0)
            )
            await asyncio.to_thread(take, i)
            run.step(i + 1)
        over = True

    wrong: list[str] = []
    try:
        asyncio.run(beside(clients.until(lambda: over), copies()))
    except* GoneError as group:
        wrong += reasons(group)
    made.end()
    whole = hashes(made.database, made.trial)
    for i in range(len(known)):
        try:
            copy = restored(i)
        except (ValueError, TakeupError) as error:
            wrong.append(f"copy {i}: {error}")
            continue
        if copy != whole[: len(copy)]:
            wrong.append(f"copy {i} is not the beginning of the log")
        if len(copy) < known[i]:
            wrong.append(f"copy {i} has {len(copy)} events when event {known[i]} had been acknowledged before it began")
    wrong += clients.wrong(made.database)
    figures = f"{run.times} copies while {clients.answered:,} operations went on"
    if wrong:
        return Found(False, f"{figures}; {len(wrong)} wrong, the first: {wrong[0]}")
    return Found(
        True, f"{figures}; each has all that was acknowledged before it, is a beginning of the log, and audits"
    )


def of_sqlite(run: Run, *ways: Copy) -> Found:
    """Copies of a file, in turn by these ways."""
    if shutil.which("sqlite3") is None:
        raise AbsentError("no sqlite3: install SQLite's own program")
    with scene(run.folder) as made:

        def take(i: int) -> None:
            ways[i % len(ways)](Path(made.database), run.folder / f"copy{i}.db")
            (run.folder / f"copy{i}.db").chmod(0o600)

        return taken(made, run, take, lambda i: hashes(run.folder / f"copy{i}.db", made.trial))


def sqlite(run: Run) -> Found:
    """By `.backup` and VACUUM INTO."""
    return of_sqlite(run, backup, vacuum)


def alone(run: Run) -> Found:
    """The file without its -wal."""
    return of_sqlite(run, file_alone)


def postgresql(run: Run) -> Found:
    """By pg_dump, and psql into another database."""
    with scene(run.folder, postgres=True) as made:
        server = made.postgres
        assert server is not None

        def take(i: int) -> None:
            dump(server, made.database, run.folder / f"copy{i}.sql")

        def restored(i: int) -> list[str]:
            with server.database() as url:
                load(server, run.folder / f"copy{i}.sql", url)
                return hashes(url, made.trial)

        return taken(made, run, take, restored)


def in_parts(run: Run) -> Found:
    """The tables one after the other, each in a transaction of its own."""
    with scene(run.folder, postgres=True) as made:
        server = made.postgres
        assert server is not None

        def take(i: int) -> None:
            parts = [["--schema-only"], ["--data-only", "--table=trials"], ["--data-only", "--exclude-table=trials"]]
            for j, options in enumerate(parts):
                dump(server, made.database, run.folder / f"copy{i}-{j}.sql", *options)

        def restored(i: int) -> list[str]:
            with server.database() as url:
                for j in range(3):
                    load(server, run.folder / f"copy{i}-{j}.sql", url, "-c", "SET session_replication_role = replica")
                return hashes(url, made.trial)

        return taken(made, run, take, restored)


def dump(server: Server, url: str, to: Path, *options: str) -> None:
    """What pg_dump writes."""
    with to.open("wb") as out:
        subprocess.run([str(server.bin / "pg_dump"), *options, url], check=True, stdout=out)


def load(server: Server, dumped: Path, url: str, *options: str) -> None:
    """Have psql run it."""
    command = [str(server.bin / "psql"), "-q", "-v", "ON_ERROR_STOP=1", *options, "-f", str(dumped), url]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


GATES = (
    Gate(
        name="backup",
        part="faults",
        shows="`sqlite3 .backup` and VACUUM INTO while clients decide and report: every copy audits, is a beginning "
        "of the log, and has all that was acknowledged before it was begun",
        unit="copies",
        times=100,
        suite=1,
        run=sqlite,
        without="the -wal: the file alone, which the docs forbid",
        control=alone,
        control_times=2,
    ),
    Gate(
        name="backup-postgresql",
        part="faults",
        shows="pg_dump while clients decide and report: the same",
        unit="copies",
        times=30,
        suite=0,
        run=postgresql,
        without="one transaction for all tables",
        control=in_parts,
        control_times=3,
    ),
)
