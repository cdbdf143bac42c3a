"""What waits to be written: each transaction takes from all trials in turn, so that none waits for another's rush."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from takeup.store.group import Task
from takeup.trial.commands import DecideMany
from takeup.trial.ingesting import Ingest

MOST_TASKS = 256
"""The most requests that share a transaction."""

MOST_UNITS = 2_000
"""The most units that they may be about; a batch of more has a transaction for itself."""


ROWS = 4
"""So many rows that a client decided cost what a unit does that has to be decided about."""


class Promise(Protocol):
    """Where a reply goes: a `concurrent.futures.Future`, or something that has these methods of it."""

    def set_running_or_notify_cancel(self) -> bool:
        """The command is about to run; False where nobody waits for it any more."""

    def set_result(self, reply: Any, /) -> None:
        """The command has returned this."""

    def set_exception(self, error: BaseException, /) -> None:
        """The command has raised this."""


class Submitted(NamedTuple):
    """A command that waits for a transaction, and since when."""

    task: Task
    promise: Promise
    at: float

    @property
    def units(self) -> int:
        """How many units it is about, by what they cost."""
        _, command = self.task
        if isinstance(command, Ingest):
            return 1 + len(command.columns.unit) // ROWS
        return len(command.units) if isinstance(command, DecideMany) else 1


class Between(NamedTuple):
    """Something to do between two transactions, and since when it waits."""

    go: Callable[[], Any]
    future: "Future[Any]"
    at: float

    def run(self) -> None:
        """Do it, unless nobody waits for it any more."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            found = self.go()
        except Exception as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(found)


class FairQueue:
    """Commands by trial, each in the order in which they came, and what comes between two transactions."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._lines: dict[str, deque[Submitted]] = {}
        self._turns: deque[str] = deque()
        self._between: list[Between] = []
        self._count = 0
        self.closed = False

    def __len__(self) -> int:
        return self._count + len(self._between)

    @property
    def oldest(self) -> float | None:
        """Since when the oldest has waited."""
        with self._changed:
            waiting = [line[0].at for line in self._lines.values()] + [each.at for each in self._between]
        return min(waiting, default=None)

    def put(self, item: Submitted | Between) -> bool:
        """Queue something; False where the queue is closed and nobody would take it."""
        with self._changed:
            if self.closed:
                return False
            if isinstance(item, Between):
                self._between.append(item)
            else:
                trial = item.task[0]
                line = self._lines.get(trial)
                if line is None:
                    line = self._lines[trial] = deque()
                    self._turns.append(trial)
                line.append(item)
                self._count += 1
            self._changed.notify()
        return True

    def close(self) -> bool:
        """Take nothing more; False where it was closed before."""
        with self._changed:
            before, self.closed = self.closed, True
            self._changed.notify()
        return not before

    def take(self) -> tuple[list[Submitted], list[Between]]:
        """The commands of the next transaction, and what to do after it; nothing of either once all is done."""
        with self._changed:
            while not (self._count or self._between or self.closed):
                self._changed.wait()
            taken, units = list[Submitted](), 0
            while self._turns and len(taken) < MOST_TASKS:
                line = self._lines[self._turns[0]]
                units += line[0].units
                if taken and units > MOST_UNITS:
                    break  # it is the first to have its turn next time
                taken.append(line.popleft())
                trial = self._turns.popleft()
                if line:
                    self._turns.append(trial)
                else:
                    del self._lines[trial]
            self._count -= len(taken)
            between, self._between = self._between, []
            return taken, between
