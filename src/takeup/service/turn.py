"""Whose turn it is: audits and exports go one at a time, so that others are served meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from takeup.service.problem import ProblemError

MOST_WAITING = 8
"""How many may wait for their turn."""
TURN_SECONDS = 10.0
"""How long one may wait for it."""


class Turn:
    """One audit or export at a time."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def taken(self, *, wait: bool) -> AsyncIterator[None]:
        """Held by the one whose turn it is.

        Args:
            wait: whether to wait while there is another.

        Raises:
            ProblemError: there is another, too many wait for it already, or it takes too long.
        """
        busy = ProblemError(
            "too-many", "another audit or export is running; try again later", headers={"Retry-After": "5"}
        )
        if self._lock.locked() and (not wait or self._waiting >= MOST_WAITING):
            raise busy
        self._waiting += 1
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._lock.acquire()
        except TimeoutError:
            raise busy from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._lock.release()
