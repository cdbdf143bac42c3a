"""The thread that writes an edge's rows to its spool, so that nobody who decides waits for the disk."""

import logging
import threading
from collections import deque
from collections.abc import Callable

from takeup.client.edge_rows import Lines, Row
from takeup.client.segments import Segments
from takeup.errors import StoreError

LOG = logging.getLogger("takeup.client")
PAUSE = 0.01
"""How many seconds pass between two looks for rows to write."""
MOST_BLOCK = 8_192
"""The most rows of a block."""
MOST_BLOCK_BYTES = 4_000_000
"""The most bytes of a block of several rows: a file, which is closed at `MOST_BYTES`, is no more than a body may be."""
MOST_WAITING = 1_000_000
"""How many rows may wait in memory for a disk that is slow, or full."""
MOST_BYTES = 8_000_000
"""A file of the spool is closed when it has so many bytes."""
RETRY_SECONDS = 1.0


class Writer(threading.Thread):
    """Writes what is appended to `rows`.

    Args:
        segments: where to.
        sync: whether somebody waits for every row (`wait`).
        most: how many rows a batch has at the most.
        seconds: how old a row is at the most when its batch can be sent, as far as the disk allows.
        full: told whether more rows wait than may.

    Attributes:
        rows: what waits to be written; whoever decides appends, without a lock.
        trouble: why nothing can be written at the moment.
        rolled: set when a file can be sent.
        over: whether it looks for rows a last time, or has: what is appended later is lost.
    """

    def __init__(
        self, segments: Segments, *, sync: bool, most: int, seconds: float, full: Callable[[bool], None]
    ) -> None:
        super().__init__(name="takeup-edge-writer", daemon=True)
        self.rows: deque[Row] = deque()
        self.trouble: str | None = None
        self.rolled = threading.Event()
        self._segments, self._sync, self._most, self._seconds = segments, sync, most, seconds
        self._full = full
        self._lines = Lines()
        self._settled = threading.Condition()
        self._given = self._done = 0
        self._work = threading.Event()
        self._asked = self._rolled = 0
        self._ending = self.over = False

    def give(self, row: Row) -> int:
        """Append a row that somebody waits for; its ticket. To be called by one thread at a time."""
        self.rows.append(row)
        self._given += 1
        self._work.set()
        return self._given

    @property
    def crowded(self) -> bool:
        """Whether more rows wait than may."""
        return len(self.rows) > MOST_WAITING

    @property
    def last(self) -> int:
        """The ticket of the last row that somebody waits for."""
        return self._given

    def wait(self, ticket: int) -> None:
        """Until the disk has the row with this ticket, and all before it.

        Raises:
            StoreError: the disk does not take it.
        """
        with self._settled:
            while self._done < ticket:
                if self.trouble is not None or not self.is_alive():
                    raise StoreError(f"{self.trouble or 'the edge is closed'}; the decision may be recorded later")
                self._settled.wait(RETRY_SECONDS)

    def roll(self) -> bool:
        """Write all that waits and close the file, so that it can be sent; whether that could be done."""
        with self._settled:
            self._asked += 1
            asked = self._asked
            self._work.set()
            while self._rolled < asked and self.is_alive() and self.trouble is None:
                self._settled.wait(RETRY_SECONDS)
            return self._rolled >= asked or not (self.is_alive() or self.rows or self._segments.writing)

    def end(self) -> None:
        """Write all that waits, and end; what no disk takes is lost, and logged."""
        self._ending = True
        self._work.set()
        self.join()
        self.over = True
        if self.rows:  # of somebody who decided while it ended
            self._turn(True)
        if self.rows:
            LOG.error("%d rows could not be written, and are lost: %s", len(self.rows), self.trouble)

    def run(self) -> None:
        """Write, until it is to end."""
        while True:
            ending, asked = self._ending, self._asked
            written = self._turn(ending or asked > self._rolled)
            with self._settled:
                if written:
                    self._rolled = asked
                self._settled.notify_all()
            if ending:
                return
            self._full(self.crowded)
            if not self.rows or self.trouble is not None:
                self._work.wait(RETRY_SECONDS if self.trouble is not None or self._sync else PAUSE)
                self._work.clear()

    def _turn(self, rolling: bool) -> bool:
        """Write what waits, and close the file where it is time; whether that could be done.

        Whatever goes wrong is told as trouble, and tried again: rows that nobody writes would be lost without a word.
        """
        try:
            left = len(self.rows)
            while left > 0:
                left -= self._write()
            if rolling or self._segments.age >= self._seconds:
                self._roll()
        except Exception as error:
            if self.trouble is None:
                LOG.error("the spool cannot be written: %s", error, exc_info=not isinstance(error, OSError))
            said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            self.trouble = f"the spool {self._segments.folder} cannot be written ({said})"
            return False
        self.trouble = None
        return True

    def _write(self) -> int:
        """One block, as large as it and the file may be; how many rows it has."""
        rows = self.rows
        self._roll_full()  # one that could not be closed before
        some = [rows.popleft() for _ in range(min(len(rows), MOST_BLOCK, self._most - self._segments.rows))]
        try:
            lines, made = self._lines.of(some)
            while len(lines) > MOST_BLOCK_BYTES and len(some) > 1:
                half = len(some) // 2
                rows.extendleft(reversed(some[half:]))
                del some[half:]
                lines, made = self._lines.of(some)
            self._segments.append(lines, made)
        except BaseException:
            rows.extendleft(reversed(some))
            raise
        with self._settled:
            self._done += len(some)
            self._settled.notify_all()
        self._roll_full()
        return len(some)

    def _roll_full(self) -> None:
        if self._segments.rows >= self._most or self._segments.bytes >= MOST_BYTES:
            self._roll()

    def _roll(self) -> None:
        self._segments.roll()
        self.rolled.set()
