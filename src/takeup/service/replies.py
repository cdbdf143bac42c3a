"""Replies on their way from the thread that writes to the event loop: all of a commit in one wake-up."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Reply = TypeVar("Reply")


class Mailbox:
    """What the thread that writes has answered and the event loop has not yet seen."""

    def __init__(self) -> None:
        self._letters: deque[tuple[PendingReply[Any], Any, BaseException | None]] = deque()
        self._ringing = False

    def put(self, answer: "PendingReply[Any]", result: Any, error: BaseException | None) -> None:
        """From any thread; the first letter rings."""
        self._letters.append((answer, result, error))
        loop = answer.future.get_loop()
        if not self._ringing and not loop.is_closed():
            self._ringing = True
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._ringing = False  # before looking: what comes from now on rings again
        while self._letters:
            answer, result, error = self._letters.popleft()
            answer.arrived(result, error)


class PendingReply(Generic[Reply]):
    """The promise of a reply, to be awaited; made in the event loop.

    Attributes:
        future: what to await.
    """

    __slots__ = ("_finally", "_mailbox", "future")

    def __init__(self, mailbox: Mailbox, finally_: Callable[[], None] | None) -> None:
        self._mailbox, self._finally = mailbox, finally_
        self.future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def set_running_or_notify_cancel(self) -> bool:
        """Whether somebody still waits."""
        if self.future.cancelled():
            self._mailbox.put(self, None, None)
            return False
        return True

    def set_result(self, result: Reply, /) -> None:
        """The reply is there."""
        self._mailbox.put(self, result, None)

    def set_exception(self, exception: BaseException, /) -> None:
        """There will be none."""
        self._mailbox.put(self, None, exception)

    def arrived(self, result: Any, error: BaseException | None) -> None:
        """In the event loop: tell whoever waits."""
        if self._finally is not None:
            self._finally()
        if self.future.done():  # cancelled meanwhile
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)
