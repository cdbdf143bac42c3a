"""A process that migrates a database and stops itself on the way, so that something can be done to it there."""

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import alembic.command  # noqa: F401  # once, and not in every process
from sqlalchemy import Engine, event

import disk
from takeup.errors import StoreError
from takeup.store import Writer
from takeup.store.migrations import decided

DONE, REFUSED, INTERRUPTED = 0, 3, 4
"""Exit codes: it is migrated; that was refused with an error that people can read; somebody pressed Ctrl-C."""


class Points:
    """Counts the points that this process passes, and stops it at one."""

    def __init__(self, stop_at: int | None, every: int) -> None:
        self.passed = 0
        self._stop_at, self._every = stop_at, every

    def __call__(self) -> int:
        """One more; SQLite goes on where it gets a zero."""
        self.passed += 1
        if self.passed == self._stop_at:
            os.kill(os.getpid(), signal.SIGSTOP)
        return 0

    def watch(self) -> None:
        """Have all that this process will do pass here."""
        for name in ("before_cursor_execute", "after_cursor_execute", "commit"):
            event.listen(Engine, name, lambda *_: self._pass())
        event.listen(Engine, "connect", self._within)
        handler = logging.Handler()
        handler.addFilter(lambda _: self() != 0)  # whoever says how far it is, is there
        decided.EVERY = self._every
        decided.LOG.handlers, decided.LOG.propagate = [handler], False
        decided.LOG.setLevel(logging.INFO)

    def _pass(self) -> None:
        self()

    def _within(self, connection: Any, _: object) -> None:
        if hasattr(connection, "set_progress_handler"):
            connection.set_progress_handler(self, 20 * self._every)


class Recorder(disk.Recorder):
    """A disk of which every sync is two points."""

    def __init__(self, folder: Path, points: Points) -> None:
        self._points = points
        super().__init__(folder)

    def _synced(self, file: Any, flags: int) -> int:
        self._points()
        code = super()._synced(file, flags)
        self._points()
        return code


class Migration:
    """A process that migrates a database, and stops itself at a point, if it gets there."""

    def __init__(self, url: str, stop_at: int | None, every: int, synced: Path | None = None) -> None:
        self._out, into = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os._exit(_migrated(url, into, Points(stop_at, every), synced))
        os.close(into)

    def stopped(self) -> bool:
        """Wait until it has stopped itself; False where it has ended without having come there."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            os.close(self._out)
            assert os.waitstatus_to_exitcode(status) == DONE, status
        return os.WIFSTOPPED(status)

    def end(self, *signals: signal.Signals) -> tuple[int, int]:
        """Send it these signals, and wait until it has ended: its exit code, and how many points it passed."""
        for each in signals:
            os.kill(self.pid, each)
        with os.fdopen(self._out, "rb") as pipe:
            passed = int(pipe.read() or b"0")
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status), passed


def _migrated(url: str, into: int, points: Points, synced: Path | None) -> int:
    """What the process does; its exit code."""
    code = 1
    try:
        recorder = None if synced is None else Recorder(synced, points)  # SQLite calls it to the end
        points.watch()
        try:
            writer = Writer(url)
            points()
            writer.close()
            code = DONE
        except StoreError:
            code = REFUSED
        except KeyboardInterrupt:
            code = INTERRUPTED
        os.write(into, str(points.passed).encode())
        del recorder
    except BaseException as error:  # whoever waits sees a code that is none of these
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    return code


def kill(migration: Migration) -> None:
    """SIGKILL."""
    code, _ = migration.end(signal.SIGKILL)
    assert code == -signal.SIGKILL, code


def interrupt(migration: Migration) -> None:
    """Ctrl-C; where it stands within SQLite, that is an error of SQLite's."""
    code, _ = migration.end(signal.SIGINT, signal.SIGCONT)
    assert code in (INTERRUPTED, REFUSED, DONE), code
