"""Databases of version 0.1, made by its own code.

`database_0_1.sql.xz` is one of them, of 2,000 events. This makes it, or a larger one:

    mkdir old && git archive 55ca86d src | tar -x -C old
    PYTHONPATH=old/src python tests/version_0_1.py FILE 2000
    python -c "import version_0_1; version_0_1.keep('FILE')"
"""

import hashlib
import io
import lzma
import os
import sqlite3
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
import psycopg
from sqlalchemy import Connection, inspect, text

from takeup.live import Trial
from takeup.store import Store, migrate, postgres, sqlite
from takeup.trial.reporting import Report

COMMIT = "55ca86d"
"""The last of version 0.1."""
REVISION = "0004"
DUMP = Path(__file__).with_name("database_0_1.sql.xz")
TABLES = ("trials", "events", "decisions", "evidence", "keys", "rollup", "api_keys", "sessions")
BATCH = 500
RENAMED = {("evidence", "decisions"): "amount", ("trials", "version"): "evidence_version"}
Contents: TypeAlias = dict[str, tuple[list[str], str]]
"""Of every table its columns, and a hash of all their rows."""

SPACE = {"proposals": ["rest", "drug", "surgery"], "contexts": ["young", "old"]}
LONG: dict[str, Any] = {"name": "Long", "space": SPACE, "policy": {"kind": "TSObs"}, "limits": {"floor": 0.05}}
SHORT: dict[str, dict[str, Any]] = {
    "latent": {"space": SPACE, "policy": {"kind": "TSLat"}, "compliance": "sometimes"},
    "stopped": {"space": SPACE, "policy": {"kind": "TS"}, "burn_in": 5},
    "waiting": {"space": SPACE, "policy": {"kind": "Uniform"}, "window": "90 days"},
    "draft": {"space": SPACE, "policy": {"kind": "TSCheck"}},
}


def write(path: Path, events: int) -> None:
    """A long trial of about so many events, and some short ones; this is what version 0.1 runs."""
    from takeup.service import keys  # the whole service, which nothing else here needs

    with Store(path) as store:
        for name, spec in SHORT.items():
            with Trial.create(store, {"name": name, **spec}, by="designer") as trial:
                if name != "draft":
                    trial.start()
                    _some(trial, 12)
                if name == "stopped":
                    trial.stop(reason="enough")
        trial = Trial.create(store, LONG)
        trial.start()
        _many(trial, events)
        for name, scopes in (("nurse", ["decide", "report"]), ("statistician", ["read-unblinded"])):
            key, _ = keys.new(name, scopes, at=store.clock())
            keys.add(store, key)
        keys.revoke(store, key.id, at=store.clock())


def _some(trial: Trial, decisions: int) -> None:
    """Decisions one by one, with all that can become of them."""
    for i in range(decisions):
        decision = trial.decide(f"unit {i}", i % 2, key=f"d{i}" if i % 2 else None, by="nurse")
        trial.report(decision, implemented=i % 3)
        if i % 4 == 0:
            trial.report(decision, missing=["outcome"])
        elif i % 4 < 3:
            trial.report(decision, outcome=i % 2, key=f"r{i}")
        if i % 4 == 2:
            trial.report(decision, outcome=1, reason="typing error")
    for by in ("north", "north", "south", None):
        trial.fallback(f"fallback {trial.progress().decisions}", "drug", 0, by=by)
    trial.pause(reason="a holiday")
    trial.start()


def _many(trial: Trial, events: int) -> None:
    """Batches of decisions, with a report each and a fallback among forty."""
    rng, made = np.random.default_rng(1), 2
    while made < events:
        some = min(BATCH, max(1, (events - made) // 2))
        units = [{"unit": f"unit {made + i}", "context": i % 2} for i in range(some)]
        decisions = list(trial.decide_many(units, key=f"batch {made}", by="nurse"))
        for i in range(some // 40):
            decisions.append(trial.fallback(f"drawn {made + i}", i % 3, i % 2, by=("north", "south")[i % 2]))
        actions, outcomes = rng.integers(3, size=len(decisions)), rng.integers(2, size=len(decisions))
        waiting = [
            trial.submit(Report(decision=decision.number, implemented=int(a), outcome=int(y), by="nurse"))
            for decision, a, y in zip(decisions, actions, outcomes, strict=True)
        ]
        for each in waiting:
            each.result()
        made += 2 * len(decisions) + 1


def source(folder: Path) -> Path | None:
    """The code of version 0.1, put into a folder; None where the history of this repository is not there."""
    packed = subprocess.run(
        ["git", "archive", COMMIT, "src"], cwd=Path(__file__).parent.parent, capture_output=True, check=False
    )
    if packed.returncode != 0:
        return None
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def run(code: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run Python with the code of version 0.1."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=_old(code), capture_output=True, text=True, check=False)


def _old(code: Path) -> dict[str, str]:
    """What makes Python take version 0.1."""
    return {**os.environ, "PYTHONPATH": str(code)}


def keep(path: str) -> None:
    """Make a file of SQLite the one that is kept here."""
    with closing(sqlite3.connect(path)) as connection:
        DUMP.write_bytes(lzma.compress("\n".join(connection.iterdump()).encode(), preset=9))


def hold(database: str) -> None:
    """Have a trial in memory while somebody else migrates its database, and then ask; version 0.1 runs this as well."""
    with Trial.open(database, "long") as trial:
        trial.decide("before", 0)
        print("ready", flush=True)  # noqa: T201  # to whoever started it
        sys.stdin.readline()
        for ask in (trial.pause, lambda: trial.decide("after", 0)):
            try:
                print("taken", ask())  # noqa: T201
            except Exception as error:  # whatever it is, it is what a client would be told
                print("refused", error)  # noqa: T201


def overtaken(code: Path, database: str) -> list[str]:
    """What version 0.1 answers that has a database open while it is migrated."""
    command, pipe = [sys.executable, __file__, "hold", database], subprocess.PIPE
    with subprocess.Popen(command, env=_old(code), stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        Store(database).close()
        said, _ = process.communicate("\n")
    return said.splitlines()


def restore(path: Path) -> None:
    """The one that is kept here, as a file of SQLite."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(lzma.decompress(DUMP.read_bytes()).decode())
        connection.execute("PRAGMA journal_mode = WAL")
    path.chmod(0o600)


def copy(path: Path, url: str) -> None:
    """The same rows in an empty database of PostgreSQL, whose tables are made by the steps that version 0.1 had."""
    with patch.object(migrate, "HEAD", REVISION):
        Store(url).close()
    with closing(sqlite3.connect(path)) as old, psycopg.connect(url) as new:
        for table in TABLES:
            rows = old.execute(f"SELECT * FROM {table}")
            names = ", ".join(column[0] for column in rows.description)
            with new.cursor().copy(f"COPY {table} ({names}) FROM STDIN") as into:
                for row in rows:
                    into.write_row(row)


@contextmanager
def opened(url: str) -> Iterator[Connection]:
    """A database as it is, whatever its revision."""
    engine = postgres.reader(url, 1) if url.startswith("postgres") else sqlite.reader(url, 1)
    try:
        with engine.connect() as connection, connection.begin():
            yield connection
    finally:
        engine.dispose()


def contents(url: str, before: Contents | None = None) -> tuple[str | None, Contents]:
    """The revision of a database, and what is in it; where it is known what was before, in the same columns."""
    inside: Contents = {}
    with opened(url) as connection:
        found = migrate.revision(connection)
        for table in TABLES:
            there = [each["name"] for each in inspect(connection).get_columns(table)]
            names = there if before is None or found != migrate.HEAD else before[table][0]
            columns = ", ".join(RENAMED.get((table, name), name) if found == migrate.HEAD else name for name in names)
            order = ", ".join(inspect(connection).get_pk_constraint(table)["constrained_columns"])
            rows = connection.execution_options(yield_per=5_000).execute(
                text(f"SELECT {columns} FROM {table} ORDER BY {order}")
            )
            total = hashlib.sha256()
            for some in rows.partitions():
                total.update("\n".join(repr(tuple(row)) for row in some).encode())
            inside[table] = names, total.hexdigest()
    return found, inside


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(sys.argv[2])
    else:
        write(Path(sys.argv[1]), int(sys.argv[2]))
