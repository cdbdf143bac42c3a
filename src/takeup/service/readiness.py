"""Whether the service can do its work: found out by a real write and a real read."""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future

from sqlalchemy import Connection, literal, select

from takeup.errors import TakeupError
from takeup.store import Store

LOG = logging.getLogger("takeup.service")

EVERY_SECONDS = 1.0
"""Whoever asks within this time of another gets the same answer: the route is open to all, and a write costs a sync."""

PATIENCE_SECONDS = 5.0
"""How long a write or a read may take."""

OLDEST_SECONDS = 10.0
"""How long a request may wait before the service is no longer ready for others."""


class Readiness:
    """What keeps a service from its work.

    Args:
        store: where the trials are.
        readers: the threads that read.
        queue_limit: how many requests may wait for the database.
        patience: how many seconds a write or a read may take.
    """

    def __init__(self, store: Store, readers: Executor, queue_limit: int, patience: float = PATIENCE_SECONDS) -> None:
        self._store, self._readers, self._queue_limit, self._patience = store, readers, queue_limit, patience
        self._began = float("-inf")
        self._looking: asyncio.Task[list[str]] | None = None
        self._tries: dict[str, asyncio.Future[list[str]]] = {}
        self.ready = True

    async def problems(self) -> list[str]:
        """What is wrong, in words; nothing where all is well."""
        if self._looking is None or (self._looking.done() and time.monotonic() - self._began >= EVERY_SECONDS):
            self._began = time.monotonic()
            self._looking = asyncio.create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> list[str]:
        found = []
        if not self._store.writing:
            found.append("nothing is written any more; start the service again")
        if self._store.queued >= self._queue_limit:
            found.append("too many requests are waiting for the database")
        if self._store.oldest > OLDEST_SECONDS:
            found.append(f"the oldest request has waited for {self._store.oldest:.0f} s")
        answers = await asyncio.gather(
            self._try("written", self._store.probe),
            self._try("read", lambda: self._readers.submit(self._store.read, _read)),
        )
        found += [problem for problems in answers for problem in problems]
        self.ready = not found
        return found

    async def _try(self, what: str, start: Callable[[], "Future[list[str]]"]) -> list[str]:
        """What a write or a read comes to. One that hangs is not followed by others: they would hang as well."""
        try:
            trying = self._tries.get(what)
            if trying is None or trying.done():
                trying = self._tries[what] = asyncio.wrap_future(start())
            done, _ = await asyncio.wait({trying}, timeout=self._patience)
            return trying.result() if done else [f"nothing could be {what} for {self._patience:g} s"]
        except TakeupError as error:
            LOG.error("nothing can be %s: %s", what, error)  # it may name files and hosts, and anybody may ask
        except Exception:  # whatever it is that nobody foresaw, the service is not ready
            LOG.exception("nothing can be %s", what)
        return [f"nothing can be {what}; the service's own log says why"]


def _read(connection: Connection) -> list[str]:
    connection.execute(select(literal(1)))
    return []
