"""Python runs this at the start of every process of a service that has TAKEUP_DEFECT: it takes a protection away.

It is on the path of such services alone (`gates.scene.defective`), and reaches all their processes.
"""

import itertools
import os
import time
from contextlib import suppress


def forgetful() -> None:
    """One commit in 10 is rolled back, and acknowledged."""
    from takeup.store import sqlite

    count, usual = itertools.count(1), sqlite.writer

    def writer(*arguments: object, **options: object) -> object:
        engine = usual(*arguments, **options)  # type: ignore[arg-type]  # as they come
        commit = engine.dialect.do_commit

        def do_commit(connection: object) -> None:
            if next(count) % 10:
                commit(connection)  # type: ignore[arg-type]  # as it comes
            else:
                connection.rollback()  # type: ignore[attr-defined]  # a driver's

        engine.dialect.do_commit = do_commit  # type: ignore[method-assign, assignment]  # as the store does
        return engine

    sqlite.writer = writer  # type: ignore[assignment]  # as it comes


def careless() -> None:
    """A commit that fails is acknowledged."""
    from takeup.store import writer

    usual = writer.Writer.__init__

    def begin(self: writer.Writer, *arguments: object, **options: object) -> None:
        usual(self, *arguments, **options)  # type: ignore[arg-type]  # as they come
        commit = self.engine.dialect.do_commit

        def do_commit(connection: object) -> None:
            try:
                commit(connection)  # type: ignore[arg-type]  # as it comes
            except Exception:
                with suppress(Exception):
                    connection.rollback()  # type: ignore[attr-defined]  # a driver's

        self.engine.dialect.do_commit = do_commit  # type: ignore[method-assign, assignment]  # the defect

    writer.Writer.__init__ = begin  # type: ignore[method-assign]  # the defect


def keyless() -> None:
    """Idempotency keys are not looked up: whoever asks again has another effect."""
    from takeup.trial import commands

    usual = commands.KeyedCommand.run
    count = itertools.count()

    def run(self: commands.KeyedCommand[object], book: object, at: int) -> object:
        if self.key in book.keys:  # type: ignore[attr-defined]  # a book
            object.__setattr__(self, "key", f"{self.key} again {next(count)} {time.monotonic_ns()}")
        return usual(self, book, at)  # type: ignore[arg-type]  # a book

    commands.KeyedCommand.run = run  # type: ignore[assignment, method-assign]  # the defect


def solitary() -> None:
    """A transaction has one request."""
    from takeup.store import fair_queue

    fair_queue.MOST_TASKS = 1


def endless() -> None:
    """However many wait, nobody is turned away."""
    from takeup.service import waiting

    waiting.Waiting.full = lambda *_: False  # type: ignore[method-assign]  # the defect


def leaky() -> None:
    """The service keeps something of every reply."""
    from takeup.service import service

    kept: list[bytearray] = []
    usual = service.PendingReply.arrived

    def arrived(self: "service.PendingReply[object]", *reply: object) -> None:
        kept.append(bytearray(b"x" * 20_000))
        usual(self, *reply)  # type: ignore[arg-type]  # as they come

    service.PendingReply.arrived = arrived  # type: ignore[method-assign, assignment]  # the defect


def roomless() -> None:
    """Who is there stays, whatever it does."""
    from takeup.service import connections

    connections.Connections._make_room = lambda *_: False  # type: ignore[method-assign]  # the defect


def trusting() -> None:
    """JSON is read as Python reads it: to any depth, with NaN, and with keys twice."""
    import json

    from takeup.service import body

    body._JSON = json.JSONDecoder()
    body._check_size = lambda *_: None  # the defect
    body._check = lambda *_: None  # the defect


def piecemeal() -> None:
    """Every statement that changes something is a transaction of its own, on SQLite."""
    from sqlalchemy import Engine, event

    @event.listens_for(Engine, "after_cursor_execute")
    def commit(connection: object, cursor: object, *_: object) -> None:
        driver = cursor.connection  # type: ignore[attr-defined]  # a driver's
        if driver.in_transaction and cursor.description is None:  # type: ignore[attr-defined]  # likewise
            driver.execute("COMMIT")
            driver.execute("BEGIN")


def unreplaced() -> None:
    """A process that draws or checks specs, and dies, is not started again."""
    from takeup.service import child_process

    begun: set[int] = set()
    usual = child_process.ChildProcess._exchange

    def exchange(self: child_process.ChildProcess, task: object) -> object:
        if self.pid is None and id(self) in begun:
            raise OSError("it died")
        begun.add(id(self))
        return usual(self, task)

    child_process.ChildProcess._exchange = exchange  # type: ignore[method-assign]  # the defect


def undated() -> None:
    """Events have the clock's time, also where it has gone back."""
    from takeup.store import group

    group.max = lambda now, _: now  # type: ignore[attr-defined]  # in place of the built-in


def clock() -> None:
    """No defect of takeup: the machine's clock is as many seconds ahead as a file says."""
    path, usual, usual_ns = os.environ["TAKEUP_CLOCK"], time.time, time.time_ns

    def ahead() -> int:
        with open(path, encoding="ascii") as file:
            return int(file.read() or 0)

    time.time = lambda: usual() + ahead()
    time.time_ns = lambda: usual_ns() + 1_000_000_000 * ahead()


for _name in filter(None, os.environ.get("TAKEUP_DEFECT", "").split(",")):
    globals()[_name]()
