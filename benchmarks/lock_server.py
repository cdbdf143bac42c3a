"""One of the servers of `lock.py`: a store, clients in its own process, and a watch on what it does with the lock."""

import json
import os
import sys
import threading
import time
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial, partialmethod
from pathlib import Path
from typing import Any

import psycopg

from pace import ARMS, CONTEXTS, level
from takeup.store import Store, books
from takeup.trial import Ask, Decide, Decision, Report


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one server is to do.

    Attributes:
        url: of the database.
        trial: whose decisions are asked for.
        name: of the server.
        rate: decisions a second, and as many reports; 0 for as fast as they are answered.
        clients: how many ask at once, where there is no rate.
        seconds: for how long.
    """

    url: str
    trial: str
    name: str
    rate: float
    clients: int
    seconds: float


@dataclass
class Held:
    """What a server saw of the lock. Lists have an entry for each transaction; times are in milliseconds.

    Attributes:
        wait: until it had the lock.
        held: from then to the end of the commit.
        computing: of the processor, by this process, within that.
        answering: for the database's answers, the commit's too, within that.
        commit: for the commit, within that.
        trips: how often it waited for an answer, within that.
        fresh: transactions before which another server had written.
        events: that were written.
        latency: of each request, from when it was due.
        processor: seconds of it that this process used in all.
        database: seconds of it that its server's process at the database used in all.
    """

    wait: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    computing: list[float] = field(default_factory=list)
    answering: list[float] = field(default_factory=list)
    commit: list[float] = field(default_factory=list)
    trips: list[int] = field(default_factory=list)
    fresh: int = 0
    events: int = 0
    latency: list[float] = field(default_factory=list)
    processor: float = 0.0
    database: float = 0.0


class Watch:
    """What a writer does between the statement that locks and the end of the commit.

    Where that statement is sent along with others, nobody but the database knows when it had the lock: it is asked for
    the time right after it.
    """

    def __init__(self) -> None:
        self.held, self._process = Held(), 0
        self._asked = self._locked = self._computed = 0.0
        self._clock: Any = None
        self._waits: list[tuple[float, float, bool]] = []
        self._execute = psycopg.Cursor.execute
        self._wait, self._commit = psycopg.Connection.wait, psycopg.Connection.commit
        psycopg.Cursor.execute = partialmethod(_call, self._sent)  # type: ignore[assignment,method-assign]
        psycopg.Connection.wait = partialmethod(_call, self._waited)  # type: ignore[assignment,method-assign]
        psycopg.Connection.commit = partialmethod(_call, self._committed)  # type: ignore[assignment,method-assign]
        load = books.load
        books.load = partial(self._loaded, load)

    @property
    def database(self) -> float:
        """Seconds of the processor that the process at the database has used."""
        spent = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")

    def _loaded(self, load: Any, *given: Any) -> Any:
        self.held.fresh += 1
        return load(*given)

    def _sent(self, cursor: Any, query: Any, *rest: Any, **options: Any) -> Any:
        row, turn = "FOR UPDATE" in str(query), "pg_advisory_xact_lock" in str(query)
        if turn or (row and not self._asked):
            self._asked, self._locked, self._clock, self._waits = time.time(), 0.0, None, []
            self._process, self._computed = cursor.connection.info.backend_pid, time.thread_time()
        found = self._execute(cursor, query, *rest, **options)
        if row and cursor.connection.pgconn.pipeline_status:
            clock = "SELECT extract(epoch FROM clock_timestamp())::float8"
            self._clock = self._execute(cursor.connection.cursor(), clock)
        elif row:
            self._locked, self._computed = time.time(), time.thread_time()
        return found

    def _waited(self, connection: Any, steps: Any, *rest: Any, **options: Any) -> Any:
        """A trip is over when nothing is on its way any more; to begin to send together is none."""
        before = time.time()
        try:
            return self._wait(connection, steps, *rest, **options)
        finally:
            sending = connection._pipeline is not None and bool(connection._pipeline.result_queue)
            trip = not sending and steps.__name__ != "_enter_gen"
            self._waits.append((before, time.time(), trip))

    def _committed(self, connection: Any) -> None:
        begun = time.time()
        self._commit(connection)
        if self._asked:
            now = time.time()
            locked = self._locked or self._clock.fetchone()[0]
            held = self.held
            held.wait.append(1_000 * (locked - self._asked))
            held.held.append(1_000 * (now - locked))
            held.commit.append(1_000 * (now - begun))
            held.computing.append(1_000 * (time.thread_time() - self._computed))
            held.answering.append(1_000 * sum(max(0.0, end - max(start, locked)) for start, end, _ in self._waits))
            held.trips.append(sum(trip and end > locked for _, end, trip in self._waits))
            self._asked = 0.0


def _call(subject: Any, method: Any, *given: Any, **options: Any) -> Any:
    return method(subject, *given, **options)


class Clients:
    """Those who ask a server: a decision, and then its report."""

    def __init__(self, store: Store, part: Part, held: Held, begin: float) -> None:
        self._store, self._part, self._held, self._begin = store, part, held, begin
        self._until = begin + part.seconds
        self._open, self._over = 0, threading.Condition()

    def run(self) -> None:
        """All that is to be asked; until the last answer."""
        part = self._part
        time.sleep(max(0.0, self._begin - time.monotonic()))
        if not part.rate:
            for c in range(part.clients):
                self._decide(c, 0, time.monotonic())
        for i in range(round(part.rate * part.seconds)):
            due = self._begin + i / part.rate
            time.sleep(max(0.0, due - time.monotonic()))
            self._decide(0, i, due)
        with self._over:
            self._over.wait_for(lambda: not self._open and time.monotonic() >= self._until, None)

    def _ask(self, command: Decide | Report, due: float, then: Any) -> None:
        with self._over:
            self._open += 1
        future: Future[Any] = self._store.submit(self._part.trial, command)
        future.add_done_callback(partial(self._answered, due, then))

    def _answered(self, due: float, then: Any, future: "Future[Any]") -> None:
        self._held.latency.append(1_000 * (time.monotonic() - due))
        self._held.events += 1
        then(future.result())
        with self._over:
            self._open -= 1
            self._over.notify()

    def _decide(self, client: int, i: int, due: float) -> None:
        unit = f"{self._part.name}-{client}-{i}"
        ask = Ask(unit=unit, context=i % CONTEXTS)
        self._ask(Decide(ask=ask, key=f"d{unit}"), due, partial(self._report, client, i))

    def _report(self, client: int, i: int, decision: Decision) -> None:
        unit = decision.unit
        command = Report(decision=decision.number, implemented=(i * 7) % ARMS, outcome=level(i), key=f"r{unit}")
        self._ask(command, time.monotonic(), partial(self._next, client, i))

    def _next(self, client: int, i: int, _: Any) -> None:
        if not self._part.rate and time.monotonic() < self._until:
            self._decide(client, i + 1, time.monotonic())


def main() -> None:
    """Do the part that comes in, and say what was seen."""
    part, watch = Part(**json.loads(sys.stdin.readline())), Watch()
    with Store(part.url) as store:
        print("ready", flush=True)
        begin, begun = float(sys.stdin.readline()), time.process_time()
        Clients(store, part, watch.held, begin).run()
        watch.held.processor = time.process_time() - begun
        watch.held.database = watch.database
    json.dump(vars(watch.held), sys.stdout)


if __name__ == "__main__":
    main()
