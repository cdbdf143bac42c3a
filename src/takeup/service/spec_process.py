"""The processes that check specs, each one at a time: whatever somebody writes down, others are served meanwhile."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

from takeup.pipes import ONE_THREAD, running
from takeup.service.child_process import ChildError, ChildProcess
from takeup.service.problem import ProblemError

MODULE = "takeup.live.checking"
PROCESSES = 2
MOST_WAITING = 32
TURN_SECONDS = 10.0
"""How long one may wait for its turn."""
PATIENCE = 120.0
"""How many seconds one may take; a busy machine may need some of them to start the process."""

Result = TypeVar("Result")


class SpecProcesses:
    """The processes that check specs; others wait for their turn.

    Args:
        command: how to start one.
        turn_seconds: how long one may wait for its turn.
    """

    def __init__(self, command: tuple[str, ...] = running(MODULE), turn_seconds: float = TURN_SECONDS) -> None:
        self._children = [ChildProcess("checks specs", command, PATIENCE, ONE_THREAD) for _ in range(PROCESSES)]
        self._free = list(self._children)
        self._turn, self._turn_seconds, self._waiting = asyncio.Semaphore(PROCESSES), turn_seconds, 0

    async def run(self, check: Callable[[], Result]) -> Result:
        """What a check comes to: a function of a module with its arguments, which can be pickled.

        Raises:
            TakeupError: what it raised, or that it takes too much.
            ProblemError: too many wait already, its turn did not come, or no process can be had.
        """
        if self._waiting >= MOST_WAITING:
            raise ProblemError("too-many", "too many specs are being checked; try again", headers={"Retry-After": "1"})
        self._waiting += 1
        result: Any = None
        error: Exception | None
        try:
            async with asyncio.timeout(self._turn_seconds):
                await self._turn.acquire()
            child = self._free.pop()
            try:
                result, error = await child.ask(check)
            finally:
                self._free.append(child)
                self._turn.release()
        except TimeoutError:
            error = ChildError(f"others were checked for {self._turn_seconds:g} seconds; try again later")
        except ChildError as failed:
            error = failed
        finally:
            self._waiting -= 1
        if isinstance(error, ChildError | TimeoutError):
            raise ProblemError(
                "unavailable", f"the spec was not checked: {error}", headers={"Retry-After": "1"}
            ) from error
        if error is not None:
            raise error
        return result  # type: ignore[no-any-return]  # a pipe cannot say what comes out of it

    async def close(self) -> None:
        """End the processes."""
        for child in self._children:
            await child.close()
