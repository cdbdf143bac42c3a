"""What all requests share: the store, the keys, and the ways to ask them."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from fastapi import Request

from takeup.service.accounts import Accounts
from takeup.service.body import BodyReader
from takeup.service.callers import Caller
from takeup.service.drafts import Drafts
from takeup.service.edges import EdgeLimits
from takeup.service.key_cache import KeyCache, Limiter
from takeup.service.metrics import Metrics
from takeup.service.problem import ProblemError
from takeup.service.readiness import Readiness
from takeup.service.sessions import Sessions
from takeup.service.settings import Settings
from takeup.service.turn import Turn
from takeup.service.waiting import Waiting
from takeup.store import Store, reading
from takeup.trial import Command, Move

Reply = TypeVar("Reply")
Result = TypeVar("Result")


class Mailbox:
    """Replies on their way from the thread that writes to the event loop: all of a commit in one wake-up."""

    def __init__(self) -> None:
        self._arrived: deque[tuple[PendingReply[Any], Any, BaseException | None]] = deque()
        self._woken = False

    def put(self, pending: "PendingReply[Any]", reply: Any, error: BaseException | None) -> None:
        """From any thread; the first reply of a commit wakes the event loop."""
        self._arrived.append((pending, reply, error))
        loop = pending.future.get_loop()
        if not self._woken and not loop.is_closed():
            self._woken = True
            with suppress(RuntimeError):  # it has just been closed, and nobody waits any more
                loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._woken = False  # before looking: what comes from now on wakes it again
        while self._arrived:
            pending, reply, error = self._arrived.popleft()
            pending.arrived(reply, error)


class PendingReply(Generic[Reply]):
    """A reply to be awaited in the event loop: what a store's thread writes to in place of a (slower) `Future`.

    Attributes:
        future: what to await.
    """

    __slots__ = ("_landed", "_mailbox", "future")

    def __init__(self, mailbox: Mailbox, landed: Callable[[], None] | None) -> None:
        self._mailbox, self._landed = mailbox, landed
        self.future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def set_running_or_notify_cancel(self) -> bool:
        """Whether somebody still waits."""
        if self.future.cancelled():
            self._mailbox.put(self, None, None)
            return False
        return True

    def set_result(self, reply: Reply, /) -> None:
        """The reply is there."""
        self._mailbox.put(self, reply, None)

    def set_exception(self, error: BaseException, /) -> None:
        """There will be none."""
        self._mailbox.put(self, None, error)

    def arrived(self, reply: Any, error: BaseException | None) -> None:
        """In the event loop: tell whoever waits, and that the request has landed even if nobody does."""
        if self._landed is not None:
            self._landed()
        if self.future.done():  # cancelled meanwhile
            return
        if error is None:
            self.future.set_result(reply)
        else:
            self.future.set_exception(error)


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One process of the service.

    Attributes:
        settings: how it is set up.
        store: where the trials are.
        readers: the threads that read, so that the one that answers never waits for the disk.
        keys: the API keys.
        people: the accounts.
        sessions: who has signed in to the pages.
        limiter: how often each may ask.
        metrics: how it is doing.
        readiness: whether it can do its work.
        waiting: single decisions and reports that wait for the database.
        edges: how many leases and rows each may have.
        mailbox: where replies arrive.
        flights: idempotency keys of requests that are on their way, by trial.
        turn: held by what would slow down everything else: one audit or export at a time.
        bodies: reads what is sent.
        drafts: what people try out on the pages.
        closing: set when the service is about to stop; answers that last end then.
    """

    settings: Settings
    store: Store
    readers: ThreadPoolExecutor
    keys: KeyCache
    people: Accounts
    sessions: Sessions
    limiter: Limiter
    metrics: Metrics
    readiness: Readiness
    waiting: Waiting
    edges: EdgeLimits
    mailbox: Mailbox = field(default_factory=Mailbox)
    flights: set[tuple[str, str]] = field(default_factory=set)
    turn: Turn = field(default_factory=Turn)
    bodies: BodyReader = field(default_factory=BodyReader)
    drafts: Drafts = field(default_factory=Drafts)
    closing: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, call: Callable[[], Result]) -> Result:
        """Run something that waits, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.readers, call)

    async def submit(self, trial: str, command: Command[Reply], key: str | None = None) -> Reply:
        """Hand in a command and wait until it is on the disk; others are served meanwhile.

        Raises:
            ProblemError: a request with the same idempotency key is on its way, or too many wait already.
        """
        if self.store.queued >= self.settings.queue_limit:
            raise ProblemError(
                "unavailable", "too many requests are waiting for the database", headers={"Retry-After": "1"}
            )
        place = None if key is None else (trial, key)
        if place in self.flights:
            raise ProblemError(
                "in-flight",
                f"a request with the idempotency key {key!r} is on its way; ask again for its answer",
                headers={"Retry-After": "1"},
            )
        landed = None if place is None else lambda: self.flights.discard(place)
        pending: PendingReply[Reply] = PendingReply(self.mailbox, landed)
        self.store.submit_to(pending, trial, command)
        if place is not None:
            self.flights.add(place)
        return await pending.future

    async def move(self, trial: str, command: Move) -> None:
        """Hand in another state; a draft that shall start is tried first."""
        if command.state == "running":
            head = await self.read(lambda: self.store.read(lambda connection: reading.head(connection, trial)))
            if head.state == "draft":
                await self.drafts.try_stored(head.spec)
        await self.submit(trial, command)


def service_of(request: Request) -> Service:
    """The service that a request has come to."""
    found: Service = request.app.state.service
    return found


def caller_of(request: Request) -> Caller:
    """Who asks."""
    found: Caller = request.scope["takeup.caller"]
    return found


def unblinded(request: Request) -> bool:
    """Whether the caller may see what each arm does."""
    return caller_of(request).unblinded
