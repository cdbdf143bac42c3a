"""Interrupt the migration of a database of version 0.1 anywhere, and look for what it had.

    python tests/migrating.py FOLDER [--postgresql URL] [--times 20] [--seed 1]

Prints what was found as JSON. The process that migrates stops itself at one of many points: before and after every
statement, within those that take SQLite long, around every sync of its files, and between the decisions that it reads.
There it is killed or told to end, or what it relies on is taken away.
"""

import argparse
import json
import shutil
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import psycopg
from sqlalchemy import make_url

import hammer
import servers
import version_0_1
from interrupting import DONE, REFUSED, Migration, interrupt, kill
from takeup.live import Trial, audit_database
from takeup.randomness import stream
from takeup.store import Store, looking
from takeup.store.migrate import HEAD

EVERY = 25
"""How many decisions are read between two points; a twentieth of the instructions of SQLite's machine between two."""
SYNCS = 8
"""How many points are added by the syncs of a commit, and of the checkpoint after it."""
PATIENCE = 60.0
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@dataclass
class Result:
    """What became of it all.

    Attributes:
        points: where a migration can be interrupted.
        interrupted: how often one was.
        finished: how often it had taken place all the same.
        seconds: how long one takes.
        decisions: how many there are in the end.
        derived: how many of them the audit derived again.
        wrong: what was lost or differs.
    """

    points: int = 0
    interrupted: int = 0
    finished: int = 0
    seconds: float = 0.0
    decisions: int = 0
    derived: int = 0
    wrong: list[str] = field(default_factory=list)


class Victim:
    """A database of version 0.1 whose migration is interrupted again and again.

    Args:
        url: a file's path, or the URL of PostgreSQL.
        renew: puts the database of version 0.1 in its place.
        every: how many decisions are read between two points.
    """

    def __init__(self, url: str, renew: Callable[[], None], every: int = EVERY) -> None:
        self.url, self.every, self.result = url, every, Result()
        self._renew = renew
        renew()
        found, self.before = version_0_1.contents(url)
        assert found == version_0_1.REVISION, found

    def count(self) -> None:
        """How many points there are, and how long it takes to pass them."""
        begun = time.monotonic()
        code, self.result.points = self.begin().end()
        self.result.seconds = time.monotonic() - begun
        assert code == DONE, code
        assert self.look()

    def begin(self, stop_at: int | None = None, synced: Path | None = None) -> Migration:
        """A process that migrates it."""
        return Migration(self.url, stop_at, self.every, synced)

    def point(self, rng: np.random.Generator, more: int = 0) -> int:
        """One of the points, and of so many more; one time in four one of the last, which are around the commit."""
        last = self.result.points + more
        return int(last - rng.integers(4 + more) if rng.random() < 0.25 else rng.integers(1, last + 1))

    def interrupt(self, how: Callable[[Migration], None], point: int, synced: Path | None = None) -> None:
        """Do something to a process that stands at this point, and look at what is left."""
        migration = self.begin(point, synced)
        if migration.stopped():
            how(migration)
            self.result.interrupted += 1
        self.result.finished += self.look()

    def together(self, how: Callable[[Migration], object]) -> None:
        """Two at once: something is done to the first in the middle, and the second, which waits for it, gets on."""
        first = self.begin(self.result.points // 2)
        assert first.stopped()
        second = self.begin()
        if self.url.startswith("postgres") and not self._waits():
            self.result.wrong.append("of two the second did not wait")
        how(first)
        code, _ = second.end()
        if code != DONE or not self.look():
            self.result.wrong.append(f"of two the second ended with {code}")

    def _waits(self) -> bool:
        """Wait until somebody waits for PostgreSQL's lock; False where nobody does."""
        until = time.monotonic() + PATIENCE
        with psycopg.connect(self.url, autocommit=True) as connection:
            while connection.execute(WAITING).fetchone() == (0,):
                if time.monotonic() > until:
                    return False
                time.sleep(0.01)
        return True

    def look(self) -> bool:
        """See that all is there that was; whether it is migrated, and if so begin anew."""
        try:
            found, now = version_0_1.contents(self.url, self.before)
        except Exception as error:  # whatever damage leads to
            self.result.wrong.append(f"it cannot be read: {error}")
            return False
        self.result.wrong += [f"{table} at {found}" for table, was in self.before.items() if now[table] != was]
        if found not in (version_0_1.REVISION, HEAD):
            self.result.wrong.append(f"revision {found}")
        if found == HEAD:
            self._renew()
        return found == HEAD

    def finish(self) -> Result:
        """Open what is left as anybody would, go on with a trial, and have it all audited."""
        Store(self.url).close()
        found, now = version_0_1.contents(self.url, self.before)
        if (found, now) != (HEAD, self.before):
            self.result.wrong.append(f"in the end it is at {found}")
        with Trial.open(self.url, "long") as trial:
            decision = trial.decide("a new one", 0, key="new")
            trial.report(decision, implemented=0, outcome=1, key="newer")
            trial.fallback("another", "drug", 1, by="west")
            trial.pause()
        with looking(self.url) as connection:
            audited = audit_database(connection)
        differences = [audited.difference, *(each.difference for each in audited.audits)]
        self.result.wrong += [str(each) for each in differences if each is not None]
        self.result.wrong += [f"{each.trial}: {each.other_software}" for each in audited.audits if each.other_software]
        self.result.decisions = sum(each.decisions for each in audited.audits)
        self.result.derived = sum(each.rederived for each in audited.audits)
        return self.result


def torture_sqlite(folder: Path, original: Path, times: int, rng: np.random.Generator, every: int = EVERY) -> Victim:
    """SIGKILL, Ctrl-C and power failures in turn, at points by chance."""
    path, synced = folder / "victim.db", folder / "synced"

    def renew() -> None:
        for each in folder.glob("victim.db*"):
            each.unlink()
        shutil.copy(original, path)

    def lose_power(migration: Migration) -> None:
        kill(migration)
        hammer.lose_power(path, synced, rng)

    victim = Victim(str(path), renew, every)
    victim.count()
    for i in range(times):
        if victim.result.wrong:
            return victim  # it cannot be migrated any more
        if i % 3 < 2:
            victim.interrupt((kill, interrupt)[i % 3], victim.point(rng))
            continue
        shutil.rmtree(synced, ignore_errors=True)
        synced.mkdir()
        for each in folder.glob("victim.db*"):  # what is there when the machine starts is on the disk
            shutil.copyfile(each, synced / each.name)
        victim.interrupt(lose_power, victim.point(rng, SYNCS), synced)
    if victim.result.wrong:
        return victim
    victim.interrupt(kill, victim.result.points)  # after the commit
    victim.together(kill)
    return victim


def beside(server: str, name: str) -> str:
    """The URL of another database of a server."""
    return make_url(server).set(database=name).render_as_string(hide_password=False)


@contextmanager
def torture_postgres(
    server: str,
    original: Path,
    times: int,
    rng: np.random.Generator,
    every: int = EVERY,
    crash: Callable[[], None] | None = None,
) -> Iterator[Victim]:
    """SIGKILL, Ctrl-C, connections that the server ends, and crashes of the server if there may be any, in turn.

    Args:
        server: the URL of one of its databases, which stays as it is.
        original: a database of version 0.1, as a file.
        times: how often.
        rng: chooses the points.
        every: how many decisions are read between two of them.
        crash: has the server crash, and come back.
    """
    template, name = (f"test_{uuid.uuid4().hex[:12]}" for _ in range(2))

    def renew() -> None:
        run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        run(f"CREATE DATABASE {name} TEMPLATE {template}")

    def run(statement: str) -> None:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(statement)

    def cut(migration: Migration) -> None:
        with psycopg.connect(victim.url, autocommit=True) as connection:
            connection.execute(servers.END)
        code, _ = migration.end(signal.SIGCONT)
        assert code in (REFUSED, DONE), code

    def crashed(migration: Migration) -> None:
        assert crash is not None
        crash()
        kill(migration)

    run(f"CREATE DATABASE {template}")
    try:
        version_0_1.copy(original, beside(server, template))
        victim = Victim(beside(server, name), renew, every)
        victim.count()
        ways = (kill, interrupt, cut) if crash is None else (kill, interrupt, cut, crashed)
        for i in range(times):
            victim.interrupt(ways[i % len(ways)], victim.point(rng))
        victim.interrupt(kill, victim.result.points)
        victim.together(kill)
        victim.together(lambda first: first.end(signal.SIGCONT))
        yield victim
    finally:
        for each in (name, template):
            run(f"DROP DATABASE IF EXISTS {each} WITH (FORCE)")


def main() -> None:
    """Run from the command line, with the database of version 0.1 that is kept beside this file."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--postgresql")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    original, rng = chosen.folder / "original.db", stream(chosen.seed)
    version_0_1.restore(original)
    if chosen.postgresql is None:
        result = torture_sqlite(chosen.folder, original, chosen.times, rng).finish()
    else:
        with torture_postgres(chosen.postgresql, original, chosen.times, rng) as victim:
            result = victim.finish()
    sys.stdout.write(json.dumps(asdict(result)) + "\n")


if __name__ == "__main__":
    main()
