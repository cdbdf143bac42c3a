"""Live pages: one task a trial looks for something new, and tells all open pages of it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field

from takeup.errors import StoreError, TakeupError
from takeup.service.pages.render.cache import Kind, RenderCache
from takeup.service.pages.render.process import Rendered
from takeup.service.problem import ProblemError

EVERY = 1.0
"""How many seconds pass between two looks for something new."""

HEARTBEAT = 15.0
"""How many seconds without news pass before listeners get a sign of life."""

CHECK = 2.0
"""How many seconds pass at most before it is looked again whether a listener still may."""

SPREAD = 1.0
"""How many seconds the news is spread over, as each listener then asks for the new page."""

PATIENCE = 70.0
MOST_LISTENERS = 500
MOST_OF_A_KEY = 100
"""How many of them may be of one key, however often somebody signed in with it."""

RETRY = b"retry: 3000\n\n"


@dataclass(slots=True, eq=False)
class Listener:
    """A page that is open.

    Attributes:
        key: the identifier of the key that looks at it.
        kind: what it shows.
        seen: when what it shows was rendered.
        news: what it has not heard yet; at most one thing, as a later one replaces it. None ends it.
    """

    key: str
    kind: Kind
    seen: int
    news: "asyncio.Queue[Rendered | None]" = field(default_factory=lambda: asyncio.Queue(1))

    def tell(self, rendered: Rendered | None) -> None:
        """Let it know."""
        if self.news.full():
            self.news.get_nowait()
        self.news.put_nowait(rendered)


class LiveUpdates:
    """The open pages, by trial, and the tasks that look for something new."""

    def __init__(self, cache: RenderCache) -> None:
        self._cache = cache
        self._listeners: dict[str, set[Listener]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def listeners(self) -> int:
        """How many there are."""
        return sum(map(len, self._listeners.values()))

    def join(self, trial: str, key: str, kind: Kind, seen: int) -> Listener:
        """Begin to listen.

        Raises:
            ProblemError: too many do, or too many of this key.
        """
        if sum(each.key == key for all_ in self._listeners.values() for each in all_) >= MOST_OF_A_KEY:
            detail = f"{MOST_OF_A_KEY} live pages are open with this key already; close some and load the page again"
            raise ProblemError("too-many", detail, headers={"Retry-After": "30"})
        if self.listeners >= MOST_LISTENERS or self._cache.service.closing.is_set():
            detail = (
                f"{MOST_LISTENERS} live pages are open already, or the service is about to stop; load the page again"
            )
            raise ProblemError("unavailable", detail, headers={"Retry-After": "30"})
        listener = Listener(key, kind, seen)
        self._listeners.setdefault(trial, set()).add(listener)
        task = self._tasks.get(trial)
        if task is None or task.done():
            self._tasks[trial] = asyncio.create_task(self._watch(trial))
        return listener

    def leave(self, trial: str, listener: Listener) -> None:
        """Listen no more."""
        left = self._listeners.get(trial, set())
        left.discard(listener)
        if not left:
            self._listeners.pop(trial, None)
            task = self._tasks.pop(trial, None)
            if task is not None:
                task.cancel()

    async def close(self) -> None:
        """End all streams."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for listener in [each for all_ in self._listeners.values() for each in all_]:
            listener.tell(None)

    async def _watch(self, trial: str) -> None:
        closing = self._cache.service.closing
        try:
            while not closing.is_set():
                with suppress(TakeupError):  # a database that is away for a moment
                    await self._look(trial)
                await _until(closing, EVERY)
        finally:
            for listener in self._listeners.get(trial, set()):
                listener.tell(None)

    async def _look(self, trial: str) -> None:
        sequence = await self._cache.sequence(trial)
        for kind in sorted({listener.kind for listener in self._listeners.get(trial, ())}):
            rendered = await self._cache.look(trial, kind, sequence, PATIENCE)
            if rendered is not None:
                await self._tell(trial, kind, rendered)

    async def _tell(self, trial: str, kind: Kind, rendered: Rendered) -> None:
        """One after the other."""
        behind = [each for each in self._listeners.get(trial, ()) if each.kind == kind and each.seen < rendered.at]
        for listener in behind:
            listener.seen = rendered.at
            listener.tell(rendered)
            if len(behind) > 1:
                await asyncio.sleep(SPREAD / len(behind))


async def news(listener: Listener, welcome: Callable[[], Awaitable[bool]]) -> AsyncIterator[bytes]:
    """The server-sent events of a listener; a comment where there is no news.

    Args:
        listener: who listens.
        welcome: whether it still may; asked before anything is said, and every `CHECK` seconds.
    """
    yield RETRY
    spoke, said = time.monotonic(), b""
    while True:
        try:
            rendered = await asyncio.wait_for(listener.news.get(), CHECK)
            if rendered is None:
                return
            said = b"data: " + json.dumps({"sequence": rendered.sequence, "rendered": rendered.at}).encode() + b"\n\n"
        except TimeoutError:
            if not said and time.monotonic() - spoke >= HEARTBEAT:
                said = b": still here\n\n"
        try:
            if not await welcome():
                return
        except StoreError:
            continue  # a database that is away for a moment: nothing is said before it is known again
        if said:
            yield said
            spoke, said = time.monotonic(), b""


async def _until(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
