"""Who has signed in: a cookie of 256 random bits, of which the database keeps the hash alone."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, delete, insert, select

from takeup.service.key_cache import KeyCache
from takeup.service.keys import ApiKey
from takeup.store import Store
from takeup.store.schema import sessions

MOST_KNOWN = 10_000
"""How many sessions are kept in memory."""

MOST_OF_A_KEY = 20
"""How many sessions a key has at once: one more ends the oldest."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Known:
    """What a session's row said, and when."""

    key: str
    expires_at: int
    read_at: float


class Sessions:
    """The sessions of a database.

    A session ends with its key, with its time, when its holder signs out, or when the key has begun many others since.

    Args:
        store: where they are.
        readers: the threads that wait for the disk.
        keys: the API keys.
        seconds: how long a session lasts.
        stale: how long one that another process ended may still work here.
    """

    def __init__(self, store: Store, readers: Executor, keys: KeyCache, seconds: float, stale: float) -> None:
        self._store, self._readers, self._keys = store, readers, keys
        self.seconds, self._stale = seconds, stale
        self._known: dict[str, _Known] = {}

    async def begin(self, key: ApiKey) -> str:
        """A new session with a key: the text of its cookie."""
        token, at = secrets.token_urlsafe(32), self._store.clock()
        expires = at + round(1e6 * self.seconds)
        row = {"hash": digest(token), "key": key.id, "created_at": at, "expires_at": expires}
        await self._write(partial(_begin, row))
        return token

    async def find(self, token: str) -> ApiKey | None:
        """The key that a session was begun with, while both last."""
        hashed = digest(token)
        known = self._known.get(hashed)
        if known is None or time.monotonic() - known.read_at > self._stale:
            known = await self._read(hashed)
        if known is None or known.expires_at <= self._store.clock():
            return None
        return await self._keys.get(known.key)

    async def end(self, token: str) -> None:
        """Sign out."""
        hashed = digest(token)
        await self._write(partial(_end, hashed))
        self._known.pop(hashed, None)

    async def _read(self, hashed: str) -> _Known | None:
        at = time.monotonic()
        query = select(sessions.c.key, sessions.c.expires_at).where(sessions.c.hash == hashed)
        row = await self._run(lambda: self._store.read(lambda connection: connection.execute(query).first()))
        self._known.pop(hashed, None)
        if row is None:
            return None
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[hashed] = found = _Known(row.key, row.expires_at, at)
        return found

    async def _write(self, change: Callable[[Connection], None]) -> None:
        """No thread waits for it: those that read are few."""
        await asyncio.shield(asyncio.wrap_future(self._store.write(change)))

    def _run(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        return asyncio.get_running_loop().run_in_executor(self._readers, call)


def _begin(row: dict[str, Any], connection: Connection) -> None:
    """A new session; those that are over go, and the oldest of the key's where it has many."""
    connection.execute(delete(sessions).where(sessions.c.expires_at <= row["created_at"]))
    own = sessions.c.key == row["key"]
    latest = select(sessions.c.hash).where(own).order_by(sessions.c.created_at.desc()).limit(MOST_OF_A_KEY - 1)
    connection.execute(delete(sessions).where(own, sessions.c.hash.not_in(latest)))
    connection.execute(insert(sessions), row)


def _end(hashed: str, connection: Connection) -> None:
    connection.execute(delete(sessions).where(sessions.c.hash == hashed))


def digest(token: str) -> str:
    """What is stored of a session."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def form_token(cookie: str) -> str:
    """What every form of a visitor carries: whoever cannot read the cookie cannot know it."""
    return hmac.new(cookie.encode(errors="replace"), b"takeup form", hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
