"""How many single decisions and reports are on their way: where more come than can be written, some are turned away."""

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType

SOON = 0.15
"""Seconds within which those who are let in are to be answered."""
LEAST = 32
"""There is room for so many however long they wait: a transaction of fewer would not take less time."""
LEARNED = 1 / 256
"""The part of what is known of the room that comes from the last answer."""
SHORTEST = 0.001
CALM = 5.0
"""After so many seconds in which nobody found the room full it is as large as it may be again."""


class Waiting:
    """Requests that wait for the database, by trial.

    As long as there is room all are let in. Then those of a trial that has its share already are turned away, so that
    a rush to one trial is not paid for by another, and whoever is let in is answered soon.

    There is room for as many as are answered within `SOON`. How fast answers come is seen by those who had many before
    them: it is how many those were, by how long the answer took.

    Args:
        most: how many there is room for at most.
        clock: seconds.
    """

    def __init__(self, most: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._most, self._total, self._room = most, 0, float(most)
        self._counts: Counter[str] = Counter()
        self._coming: Counter[str] = Counter()
        self._expected = 0
        self._clock, self._crowded = clock, clock()

    @property
    def room(self) -> int:
        """How many there is room for now."""
        return math.ceil(self._room)

    def full(self, trial: str) -> bool:
        """Whether one more for this trial is to be turned away."""
        total = self._total + self._expected
        if total < self._room:
            return False
        now = self._clock()
        if now - self._crowded > CALM:
            self._room = float(self._most)
        self._crowded = now
        own = self._counts[trial] + self._coming[trial]
        return total >= self._room and own * max(1, len(self._counts)) >= self._room

    def expect(self, trial: str) -> None:
        """One was read for this trial; it takes its place before the event loop reads more, if all is well with it."""
        if not self._expected:
            asyncio.get_running_loop().call_soon(self._expect_nobody)
        self._expected += 1
        self._coming[trial] += 1

    def _expect_nobody(self) -> None:
        self._expected = 0
        self._coming.clear()

    def place(self, trial: str) -> "Place":
        """A place for one request, as long as the block lasts."""
        return Place(self, trial)

    def come(self, trial: str) -> tuple[int, float]:
        """One more; how many were there before, and when it came."""
        self._total += 1
        self._counts[trial] += 1
        return self._total - 1, self._clock()

    def gone(self, trial: str) -> None:
        """One less."""
        self._total -= 1
        self._counts[trial] -= 1
        if not self._counts[trial]:
            del self._counts[trial]

    def answered(self, before: int, came: float) -> None:
        """One that had so many before it when it came is answered."""
        if 2 * before < self._room or not before:  # of few nobody learns how fast many are answered
            return
        wanted = SOON * before / max(self._clock() - came, SHORTEST)
        self._room += LEARNED * (wanted - self._room)
        self._room = min(max(self._room, LEAST), self._most)


class Place:
    """A place among those who wait."""

    __slots__ = ("_came", "_trial", "_waiting")

    def __init__(self, waiting: Waiting, trial: str) -> None:
        self._waiting, self._trial, self._came = waiting, trial, (0, 0.0)

    def __enter__(self) -> None:
        self._came = self._waiting.come(self._trial)

    def __exit__(self, error: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._waiting.gone(self._trial)
        if error is None:  # or it may not have waited at all
            self._waiting.answered(*self._came)
