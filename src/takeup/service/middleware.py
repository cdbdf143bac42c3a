"""What is done around every request: its size is limited, and it gets an id, headers, a log line and metrics."""

import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from typing import IO, Any

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from takeup.logs import line
from takeup.service import problem
from takeup.service.metrics import Metrics
from takeup.service.problem import ProblemError
from takeup.service.settings import Settings

LOG = logging.getLogger("takeup.service")
ID_HEADER = b"x-request-id"
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of every response that does not set them itself."""

GONE = 499
"""The status in logs and metrics of a request whose client went away before it had sent all of it."""
ALWAYS_TAKEN = 65_536
"""A body of up to so many bytes is always taken: there are never more of them than connections."""

_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
_BATCH, _INGEST = "/batch", "/ingest"


class RequestLog:
    """A line a request, which names requests and keys; bodies, headers and query strings never get here.

    It goes straight to a stream: Python's logging would cost as much as the rest of the middleware.
    """

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def write(self, fields: dict[str, Any]) -> None:
        """A request was answered, also where the log cannot be written: its disk is full, or its reader has gone."""
        if self._stream is not None:
            with suppress(OSError):
                self._stream.write(line(time.time(), "info", "takeup.requests", "request", fields))


class LargeBodies:
    """How many bytes of large bodies are in memory, of all keys and of each.

    Args:
        most: of all together.
        share: of one key.
    """

    def __init__(self, most: int, share: int) -> None:
        self._most, self._share = most, share
        self._held: Counter[str] = Counter()

    def take(self, key: str, size: int) -> None:
        """Take this many more for a key.

        Raises:
            ProblemError: that would be too many.
        """
        if self._held.total() + size > self._most or self._held[key] + size > self._share:
            detail = "too many large bodies are being read; try again later, or send smaller ones"
            raise ProblemError("unavailable", detail, headers={"Retry-After": "5"})
        self._held[key] += size

    def release(self, key: str, size: int) -> None:
        """Give back what was taken."""
        self._held[key] -= size
        if not self._held[key]:
            del self._held[key]


class RequestMiddleware:
    """ASGI middleware around the whole application."""

    def __init__(
        self, app: ASGIApp, *, settings: Settings, metrics: Metrics, log: RequestLog, bodies: LargeBodies
    ) -> None:
        self.app, self.settings, self.metrics, self.log, self.bodies = app, settings, metrics, log, bodies
        self._prefix, self._count = secrets.token_hex(4), count(1)
        transport = {"Strict-Transport-Security": "max-age=31536000"} if settings.encrypted else {}
        self.headers = [(name.lower().encode(), value.encode()) for name, value in {**HEADERS, **transport}.items()]

    def new_id(self) -> str:
        """An id that no other request has."""
        return f"{self._prefix}-{next(self._count)}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        await _Exchange(self, scope, receive, send).go()


class _Exchange:
    """One request and its response."""

    def __init__(self, middleware: RequestMiddleware, scope: Scope, receive: Receive, send: Send) -> None:
        self.middleware, self.scope, self._receive, self._send = middleware, scope, receive, send
        given = declared = b""
        for name, value in scope["headers"]:
            if name == ID_HEADER:
                given = value
            elif name == b"content-length":
                declared = value
        self.id = given.decode() if _ID.fullmatch(given) else middleware.new_id()
        scope["takeup.request"] = self.id
        path, settings = scope["path"], middleware.settings
        self.limit = settings.batch_limit if path.endswith(_BATCH) else settings.body_limit
        if path.endswith(_INGEST):
            self.limit = settings.ingest_limit
        self.declared = declared
        self.taken = self.held = 0
        self.key = ""  # whose large body it is
        self.more = True
        self.status = 0

    async def go(self) -> None:
        began = time.perf_counter()
        self.middleware.metrics.running.inc()
        try:
            await self._answer()
        finally:
            self.middleware.metrics.running.dec()
            if self.held:
                self.middleware.bodies.release(self.key, self.held)
            self._note(time.perf_counter() - began)

    async def _answer(self) -> None:
        try:
            if self.declared.isdigit() and int(self.declared[:20]) > self.limit:
                raise self._too_large()
            await self.middleware.app(self.scope, self.receive, self.send)
        except ClientDisconnect:
            pass  # nobody is there to be answered
        except Exception as error:
            if not isinstance(error, ProblemError):
                LOG.exception("request %s failed", self.id)
            if self.status:
                raise  # the answer had begun: only breaking off tells the client
            self.scope["takeup.problem"] = problem.refused(error).kind
            await problem.response(error)(self.scope, self.receive, self.send)

    async def receive(self) -> Message:
        """A part of the body, as long as it is not too large."""
        message = await self._receive()
        if message["type"] != "http.request":
            if self.more and not self.status:
                self.status = GONE
            return message
        self.more = message.get("more_body", False)
        self.taken += len(message.get("body", b""))
        if self.taken > self.limit:
            raise self._too_large()
        if self.taken > ALWAYS_TAKEN:
            self.key = self.key or self.scope.get("takeup.key", "")
            self.middleware.bodies.take(self.key, self.taken - self.held)
            self.held = self.taken
        return message

    async def send(self, message: Message) -> None:
        """A part of the answer; the first gets the headers."""
        if self.status == GONE:
            return
        if message["type"] == "http.response.start":
            self.status = message["status"]
            said = {name for name, _ in message["headers"]}
            added = [(name, value) for name, value in self.middleware.headers if name not in said]
            message = {**message, "headers": [*message["headers"], (ID_HEADER, self.id.encode()), *added]}
        await self._send(message)

    def _too_large(self) -> ProblemError:
        return ProblemError("too-large", f"the body has more than {self.limit} bytes", allowed=f"{self.limit} bytes")

    def _note(self, seconds: float) -> None:
        if self.status == GONE:
            self.scope["takeup.problem"] = "gone"
        method, route = self.scope["method"], getattr(self.scope.get("route"), "path", "unmatched")
        known = method if method in ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH") else "other"
        self.middleware.metrics.answered(known, route, self.status, seconds)
        fields: dict[str, Any] = {
            "request": self.id,
            "method": known,
            "route": route,
            "status": self.status,
            "milliseconds": round(1_000 * seconds, 1),
        }
        for name in ("key", "trial", "problem"):
            value = self.scope.get(f"takeup.{name}")
            if value is not None:
                fields[name] = value
        self.middleware.log.write(fields)
