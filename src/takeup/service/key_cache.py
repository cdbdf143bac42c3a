"""What a process has in memory of the API keys: who they are, and how often each has asked."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import TypeVar

from takeup.service import keys
from takeup.service.keys import ApiKey
from takeup.store import Store

Result = TypeVar("Result")


class KeyCache:
    """All keys of the database, read again when they are older than `seconds`.

    A key that this process makes or revokes counts at once; one that another process revokes works here for at most
    `seconds` more.
    """

    def __init__(
        self, store: Store, readers: Executor, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._readers = readers
        self._seconds = seconds
        self._clock = clock
        self._keys: Mapping[str, ApiKey] = {}
        self._read_at = float("-inf")
        self._made: dict[str, ApiKey] = {}  # made or revoked here while they are read
        self._reading: asyncio.Task[None] | None = None

    async def find(self, token: str) -> ApiKey | None:
        """The key with this text, unless it was revoked."""
        id_ = keys.id_of(token)
        key = None if id_ is None else await self.get(id_)
        return key if key is not None and keys.matches(key, token) else None

    async def get(self, id_: str) -> ApiKey | None:
        """The key with this identifier, unless it was revoked."""
        if self._clock() - self._read_at > self._seconds:
            await self._fresh()
        key = self._keys.get(id_)
        return key if key is not None and key.revoked_at is None else None

    async def all(self) -> list[ApiKey]:
        """All keys, the revoked ones too, in the order in which they were made."""
        await self._fresh()
        return list(self._keys.values())

    async def add(self, key: ApiKey) -> None:
        """Store a new key."""
        await _written(keys.add(self._store, key))
        self._take(key)

    async def revoke(self, id_: str, *, by: str) -> ApiKey:
        """Revoke a key."""
        revoked = await _written(keys.revoke(self._store, id_, at=self._store.clock(), by=by))
        self._take(revoked)
        return revoked

    def _take(self, key: ApiKey) -> None:
        self._made[key.id] = key
        self._keys = {**self._keys, key.id: key}

    async def _fresh(self) -> None:
        """Read the keys; whoever asks meanwhile waits for the same reading."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(self._done)
        await asyncio.shield(self._reading)

    def _done(self, reading: "asyncio.Task[None]") -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # those who wait are told; without them nobody need be

    async def _read(self) -> None:
        self._made, at = {}, self._clock()
        found = await asyncio.get_running_loop().run_in_executor(self._readers, self._store.read, keys.load)
        self._keys, self._read_at = {**found, **self._made}, at  # what was read may be older than what was made here


async def _written(change: "Future[Result]") -> Result:
    """What a change comes to; no thread waits for it, as those that read are few."""
    return await asyncio.shield(asyncio.wrap_future(change))


class Limiter:
    """How often each key may ask.

    A key has a bucket that holds up to `burst` tokens and gains `rate` of them a second; a request takes one.
    """

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Take a token: 0, or the seconds until there will be one."""
        at = self._clock()
        tokens, before = self._buckets.get(name, (self._burst, at))
        tokens = min(self._burst, tokens + (at - before) * self._rate)
        if tokens < 1:
            self._buckets[name] = tokens, at
            return (1 - tokens) / self._rate
        self._buckets[name] = tokens - 1, at
        return 0.0
