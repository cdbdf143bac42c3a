"""Who has signed in: a cookie of 256 random bits, of which the database keeps the hash alone."""

import asyncio
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, delete, insert, select, update

from takeup.service.accounts import Accounts
from takeup.service.callers import Caller
from takeup.service.key_cache import KeyCache
from takeup.service.people import PREFIX
from takeup.store import Store
from takeup.store.schema import sessions

MOST_KNOWN = 10_000
"""How many sessions are kept in memory."""

MOST_OF_A_KEY = 20
"""How many sessions a key or a person has at once: one more ends the oldest."""

NOTED = 20
"""That a session was used is written down after so many parts of the time after which it would end."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class _Known:
    """What a session's row said, and when."""

    holder: str
    expires_at: int
    used_at: int
    read_at: float


class Sessions:
    """The sessions of a database.

    A session ends with its key or account, with its time, when nobody has used it for a while, when its holder signs
    out here or everywhere, when their password or rights change, or when they have begun many others since.

    Its token is made when somebody has signed in, and is never one that a browser brought along: whoever slips a cookie
    of their own choice into another's browser (session fixation) has the cookie of nobody afterwards.

    Args:
        store: where they are.
        readers: the threads that wait for the disk.
        keys: the API keys.
        people: the accounts.
        seconds: how long a session lasts.
        idle: how long one lasts that nobody uses.
        stale: how long one that another process ended may still work here.
    """

    def __init__(
        self,
        store: Store,
        readers: Executor,
        keys: KeyCache,
        people: Accounts,
        *,
        seconds: float,
        idle: float,
        stale: float,
    ) -> None:
        self._store, self._readers, self._keys, self._people = store, readers, keys, people
        self.seconds, self._idle, self._stale = seconds, round(1e6 * idle), stale
        self._known: dict[str, _Known] = {}
        self._endings = 0
        people.ended = self._forget

    async def begin(self, caller: Caller) -> str:
        """A new session of somebody: the text of its cookie."""
        token, at = secrets.token_urlsafe(32), self._store.clock()
        expires = at + round(1e6 * self.seconds)
        row = {"hash": digest(token), "key": caller.id, "created_at": at, "expires_at": expires, "used_at": at}
        await self._write(partial(_begin, row, self._idle))
        return token

    async def find(self, token: str) -> Caller | None:
        """Whose session it is, while both last. Being looked for is not being used."""
        hashed = digest(token)
        known = self._known.get(hashed)
        if known is None or time.monotonic() - known.read_at > self._stale:
            known = await self._read(hashed)
        if known is None or min(known.expires_at, known.used_at + self._idle) <= self._store.clock():
            return None
        holders: KeyCache | Accounts = self._people if known.holder.startswith(PREFIX) else self._keys
        return await holders.get(known.holder)

    async def use(self, token: str) -> Caller | None:
        """The same, of somebody who does something. It is written down now and then, not every time."""
        found, hashed, at = await self.find(token), digest(token), self._store.clock()
        known = self._known.get(hashed)
        if found is not None and known is not None and at - known.used_at > self._idle // NOTED:
            self._known[hashed] = replace(known, used_at=at)
            await self._write(partial(_use, hashed, at))
        return found

    async def end(self, token: str) -> None:
        """Sign out."""
        hashed = digest(token)
        await self._write(partial(_end, sessions.c.hash.name, hashed))
        self._known.pop(hashed, None)

    async def end_all(self, caller: Caller) -> None:
        """Sign out everywhere."""
        await self._write(partial(_end, sessions.c.key.name, caller.id))
        self._forget(caller.id)

    def _forget(self, holder: str) -> None:
        """What was known of somebody's sessions, and what is being read of any, no longer counts."""
        self._endings += 1
        self._known = {hashed: known for hashed, known in self._known.items() if known.holder != holder}

    async def _read(self, hashed: str) -> _Known | None:
        at, endings = time.monotonic(), self._endings
        columns = (sessions.c.key, sessions.c.expires_at, sessions.c.used_at)
        query = select(*columns).where(sessions.c.hash == hashed)
        row = await self._run(lambda: self._store.read(lambda connection: connection.execute(query).first()))
        if endings != self._endings:
            return await self._read(hashed)
        self._known.pop(hashed, None)
        if row is None:
            return None
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        self._known[hashed] = found = _Known(row.key, row.expires_at, row.used_at, at)
        return found

    async def _write(self, change: Callable[[Connection], None]) -> None:
        """No thread waits for it: those that read are few."""
        await asyncio.shield(asyncio.wrap_future(self._store.write(change)))

    def _run(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        return asyncio.get_running_loop().run_in_executor(self._readers, call)


def _begin(row: dict[str, Any], idle: int, connection: Connection) -> None:
    """A new session; those that are over go, and the oldest of its holder's where there are many."""
    at = row["created_at"]
    connection.execute(delete(sessions).where((sessions.c.expires_at <= at) | (sessions.c.used_at <= at - idle)))
    own = sessions.c.key == row["key"]
    latest = select(sessions.c.hash).where(own).order_by(sessions.c.created_at.desc()).limit(MOST_OF_A_KEY - 1)
    connection.execute(delete(sessions).where(own, sessions.c.hash.not_in(latest)))
    connection.execute(insert(sessions), row)


def _use(hashed: str, at: int, connection: Connection) -> None:
    connection.execute(update(sessions).where(sessions.c.hash == hashed), {"used_at": at})


def _end(column: str, value: str, connection: Connection) -> None:
    connection.execute(delete(sessions).where(sessions.c[column] == value))


def digest(token: str) -> str:
    """What is stored of a session."""
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()


def form_token(cookie: str) -> str:
    """What every form of a visitor carries: whoever cannot read the cookie cannot know it."""
    return hmac.new(cookie.encode(errors="replace"), b"takeup form", hashlib.sha256).hexdigest()


def same(one: str, other: str) -> bool:
    """Whether two secrets are equal, compared in constant time."""
    return hmac.compare_digest(one.encode(errors="replace"), other.encode(errors="replace"))
