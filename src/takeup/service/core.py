"""What all requests share: the store, the keys, and the ways to ask them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from fastapi import Request

from takeup.service.answers import Answer, Mailbox
from takeup.service.keys import ApiKey
from takeup.service.limiter import Limiter
from takeup.service.metrics import Metrics
from takeup.service.problem import Refused
from takeup.service.ring import KeyRing
from takeup.service.sessions import Sessions
from takeup.service.settings import Settings
from takeup.service.workbench import Workbench
from takeup.store import Store
from takeup.trial import Command

Reply = TypeVar("Reply")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """One process of the service.

    Attributes:
        settings: how it is set up.
        store: where the trials are.
        readers: the threads that read, so that the one that answers never waits for the disk.
        ring: the API keys.
        sessions: who has signed in to the pages.
        limiter: how often each may ask.
        metrics: how it is doing.
        mailbox: where replies arrive.
        flights: idempotency keys of requests that are on their way, by trial.
        long_job: held by what would slow down everything else: one audit or export at a time.
        workbench: what people try out on the pages.
        closing: set when the service is about to stop; answers that last end then.
    """

    settings: Settings
    store: Store
    readers: ThreadPoolExecutor
    ring: KeyRing
    sessions: Sessions
    limiter: Limiter
    metrics: Metrics
    mailbox: Mailbox = field(default_factory=Mailbox)
    flights: set[tuple[str, str]] = field(default_factory=set)
    long_job: asyncio.Lock = field(default_factory=asyncio.Lock)
    workbench: Workbench = field(default_factory=Workbench)
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
        answer: Answer[Reply] = Answer(self.mailbox, None if place is None else lambda: self.flights.discard(place))
        self.store.hand_in(trial, command, answer)
        if place is not None:
            self.flights.add(place)
        return await answer.future


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
