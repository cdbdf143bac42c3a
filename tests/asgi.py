"""The service in this process, without sockets: an event loop in a thread, and requests that go straight to the app."""

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any, TypeVar
from urllib.parse import unquote

from argon2 import PasswordHasher
from fastapi import FastAPI

from takeup.live import trial_run
from takeup.service import Settings, create_app, keys
from takeup.store import Store

WAIT = 300
GENEROUS = Settings(rate=1e6, burst=1e6)
SPEC = {
    "name": "tea or coffee",
    "space": {"proposals": ["tea", "coffee"], "contexts": ["morning", "evening"], "outcomes": ["bad", "good"]},
    "policy": {"kind": "TSObs"},
}
SEED = "5eed" * 16
JSON = {"content-type": "application/json"}
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body."""
        return json.loads(self.body)


class Api:
    """An application that runs."""

    def __init__(self, app: FastAPI) -> None:
        self.app = app
        self.store: Store = app.state.service.store
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._life: AbstractAsyncContextManager[Any] = app.router.lifespan_context(app)
        self.run(self._life.__aenter__())

    def run(self, what: Awaitable[Result]) -> Result:
        """Wait for something that happens in the loop."""

        async def waited() -> Result:
            return await what

        return asyncio.run_coroutine_threadsafe(waited(), self._loop).result(WAIT)

    def close(self) -> None:
        """Shut down as a server would."""
        self.run(self._life.__aexit__(None, None, None))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def key(self, *scopes: str, trials: list[str] | None = None) -> str:
        """A new key."""
        key, token = keys.new("/".join(scopes), scopes, trials, at=self.store.clock())
        self.run(self.app.state.service.keys.add(key))
        return token

    def request(self, method: str, path: str, body: object = None, key: str | None = None, **rest: Any) -> Reply:
        """One request; takes what `asked` takes."""
        return self.run(self.asked(method, path, body, key, **rest))

    async def asked(
        self,
        method: str,
        path: str,
        body: object = None,
        key: str | None = None,
        *,
        raw: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """One request, in the loop."""
        content = raw if raw is not None else b"" if body is None else json.dumps(body).encode()
        given = JSON if content else {}
        asked = scope(method, path, key, {**given, **(headers or {})})
        parts = [content[i : i + 65_536] for i in range(0, len(content), 65_536)] or [b""]
        sent: list[Any] = []

        async def receive() -> Any:
            if not parts:
                await asyncio.Event().wait()  # the client stays connected and says no more
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(asked, receive, send)
        answer = b"".join(message.get("body", b"") for message in sent[1:])
        heads = {name.decode(): value.decode("latin-1") for name, value in sent[0]["headers"]}
        return Reply(sent[0]["status"], heads, answer)


def scope(method: str, path: str, key: str | None, headers: dict[str, str] = JSON) -> dict[str, Any]:
    """A request as a server hands it to the app."""
    given = {name.lower(): value for name, value in headers.items()}
    if key is not None:
        given = {"authorization": f"Bearer {key}", **given}
    location, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(location),
        "raw_path": location.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }


class Here:
    """Checks specs in this process: to start another takes a second, which few tests are about."""

    async def run(self, check: Callable[[], Result]) -> Result:
        """What it comes to."""
        return check()

    async def close(self) -> None:
        """Nothing to end."""


class Beside:
    """Checks specs in one other process, with the limits that a service has, for whatever event loop asks."""

    def __init__(self) -> None:
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), trial_run.limit)

    async def run(self, check: Callable[[], Result]) -> Result:
        """What it comes to."""
        return await asyncio.wrap_future(self._pool.submit(check))

    async def close(self) -> None:
        """End the process."""
        self.end()

    def end(self) -> None:
        """The same, where there is no event loop."""
        self._pool.shutdown()


@contextmanager
def api(
    database: str = "sqlite://", settings: Settings = GENEROUS, *, processes: bool = False, **options: Any
) -> Iterator[Api]:
    """A service on an empty database; with processes that check specs, if asked for."""
    running = Api(create_app(settings, Store(database, **options)))
    running.app.state.service.people.passwords.hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    if not processes:
        running.app.state.service.drafts.checking = Here()
    try:
        yield running
    finally:
        running.close()
