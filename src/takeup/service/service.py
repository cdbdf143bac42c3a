"""What all requests share: the store, the keys, and the ways to ask them."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from fastapi import Request

from takeup.service.drafts import Drafts
from takeup.service.key_cache import KeyCache, Limiter
from takeup.service.keys import ApiKey
from takeup.service.metrics import Metrics
from takeup.service.problem import Refused
from takeup.service.sessions import Sessions
from takeup.service.settings import Settings
from takeup.store import Store
from takeup.trial import Command

Reply = TypeVar("Reply")
Result = TypeVar("Result")


class Mailbox:
    """Replies on their way from the thread that writes to the event loop: all of a commit in one wake-up."""

    def __init__(self) -> None:
        self._arrived: deque[Callable[[], None]] = deque()
        self._ringing = False

    async def reply(self, future: "Future[Reply]", landed: Callable[[], None] | None = None) -> Reply:
        """Wait for what the thread that writes replies; `landed` is called then, even if nobody waits any more."""
        loop = asyncio.get_running_loop()
        waiting: asyncio.Future[Reply] = loop.create_future()

        def deliver() -> None:
            if landed is not None:
                landed()
            if waiting.done() or future.cancelled():
                return
            error = future.exception()
            if error is None:
                waiting.set_result(future.result())
            else:
                waiting.set_exception(error)

        future.add_done_callback(lambda _: self._put(deliver, loop))
        try:
            return await waiting
        except asyncio.CancelledError:
            future.cancel()  # what nobody waits for need not be written
            raise

    def _put(self, deliver: Callable[[], None], loop: asyncio.AbstractEventLoop) -> None:
        """From any thread; the first to arrive rings."""
        self._arrived.append(deliver)
        if not self._ringing and not loop.is_closed():
            self._ringing = True
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._ringing = False  # before looking: what comes from now on rings again
        while self._arrived:
            self._arrived.popleft()()


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One process of the service.

    Attributes:
        settings: how it is set up.
        store: where the trials are.
        readers: the threads that read, so that the one that answers never waits for the disk.
        keys: the API keys.
        sessions: who has signed in to the pages.
        limiter: how often each may ask.
        metrics: how it is doing.
        mailbox: where replies arrive.
        flights: idempotency keys of requests that are on their way, by trial.
        long_job: held by what would slow down everything else: one audit or export at a time.
        drafts: what people try out on the pages.
        closing: set when the service is about to stop; answers that last end then.
    """

    settings: Settings
    store: Store
    readers: ThreadPoolExecutor
    keys: KeyCache
    sessions: Sessions
    limiter: Limiter
    metrics: Metrics
    mailbox: Mailbox = field(default_factory=Mailbox)
    flights: set[tuple[str, str]] = field(default_factory=set)
    long_job: asyncio.Lock = field(default_factory=asyncio.Lock)
    drafts: Drafts = field(default_factory=Drafts)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, call: Callable[[], Result]) -> Result:
        """Run something that waits, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, call)

    async def submit(self, trial: str, command: Command[Reply], key: str | None = None) -> Reply:
        """Hand in a command and wait until it is on the disk; others are served meanwhile.

        Raises:
            Refused: a request with the same idempotency key is on its way, or too many wait already.
        """
        if self.store.queued >= self.settings.queue_limit:
            raise Refused("unavailable", "too many requests are waiting for the database", headers={"Retry-After": "1"})
        place = None if key is None else (trial, key)
        if place in self.flights:
            raise Refused(
                "in-flight",
                f"a request with the idempotency key {key!r} is on its way; ask again for its answer",
                headers={"Retry-After": "1"},
            )
        future = self.store.submit(trial, command)
        if place is not None:
            self.flights.add(place)
        return await self.mailbox.reply(future, None if place is None else lambda: self.flights.discard(place))


def service_of(request: Request) -> Service:
    """The service that a request has come to."""
    found: Service = request.app.state.service
    return found


def caller_of(request: Request) -> ApiKey:
    """Who asks."""
    found: ApiKey = request.scope["takeup.caller"]
    return found


def unblinded(request: Request) -> bool:
    """Whether the caller may see what each arm does."""
    return "read-unblinded" in caller_of(request).scopes
