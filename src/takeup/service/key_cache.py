"""What a process has in memory of the API keys: who they are, and how often each has asked."""

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from typing import Generic, Protocol, TypeVar

from sqlalchemy import Connection

from takeup.service import keys
from takeup.service.keys import ApiKey
from takeup.service.throttle import WrongKeys
from takeup.store import Store

Result = TypeVar("Result")


class Known(Protocol):
    """What a cache holds."""

    @property
    def id(self) -> str:
        """Its identifier."""

    @property
    def active(self) -> bool:
        """Whether it still works."""


Row = TypeVar("Row", bound=Known)


class RowCache(Generic[Row]):
    """All rows of a small table, read again when they are older than `seconds`.

    What this process changes counts at once; what another process ends works here for at most `seconds` more.
    """

    def __init__(
        self,
        store: Store,
        readers: Executor,
        load: Callable[[Connection], Mapping[str, Row]],
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._readers = readers
        self._load = load
        self._seconds = seconds
        self._clock = clock
        self._rows: Mapping[str, Row] = {}
        self._read_at = float("-inf")
        self._made: dict[str, Row] = {}  # made or ended here while they are read
        self._reading: asyncio.Task[None] | None = None

    async def get(self, id_: str) -> Row | None:
        """The one with this identifier, as long as it works."""
        row = (await self._recent()).get(id_)
        return row if row is not None and row.active else None

    async def some(self) -> bool:
        """Whether there is any."""
        return bool(await self._recent())

    async def all(self) -> list[Row]:
        """All of them, those that work no longer too, in the order in which they were made."""
        await self._fresh()
        return list(self._rows.values())

    def take(self, row: Row) -> None:
        """What this process has made or changed."""
        self._made[row.id] = row
        self._rows = {**self._rows, row.id: row}

    async def _recent(self) -> Mapping[str, Row]:
        """Not older than `seconds`; they are read again before that, so that nobody has to wait for it."""
        age = self._clock() - self._read_at
        if age > self._seconds:
            await self._fresh()
        elif age > self._seconds / 2:
            self._begin()
        return self._rows

    async def _fresh(self) -> None:
        """Read them; whoever asks meanwhile waits for the same reading."""
        await asyncio.shield(self._begin())

    def _begin(self) -> "asyncio.Task[None]":
        """The reading that is going on, or one that begins now."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(self._done)
        return self._reading

    def _done(self, reading: "asyncio.Task[None]") -> None:
        self._reading = None
        if not reading.cancelled():
            reading.exception()  # those who wait are told; without them nobody need be

    async def _read(self) -> None:
        self._made, at = {}, self._clock()
        found = await asyncio.get_running_loop().run_in_executor(self._readers, self._store.read, self._load)
        self._rows, self._read_at = {**found, **self._made}, at  # what was read may be older than what was made here


class KeyCache(RowCache[ApiKey]):
    """All API keys of the database.

    Attributes:
        wrong: how many wrong ones came from where.
    """

    def __init__(
        self, store: Store, readers: Executor, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(store, readers, keys.load, seconds, clock)
        self.wrong = WrongKeys()

    async def find(self, token: str) -> ApiKey | None:
        """The key with this text, unless it was revoked."""
        key = await self.get(keys.id_of(token))
        return key if keys.matches(key, token) else None

    async def add(self, key: ApiKey) -> None:
        """Store a new key."""
        await written(keys.add(self._store, key))
        self.take(key)

    async def revoke(self, id_: str, *, by: str) -> ApiKey:
        """Revoke a key."""
        revoked = await written(keys.revoke(self._store, id_, at=self._store.clock(), by=by))
        self.take(revoked)
        return revoked


async def written(change: "Future[Result]") -> Result:
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
