"""A cheap load generator: HTTP/1.1 on raw asyncio transports, many connections in one process."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, cast


class Connection(asyncio.Protocol):
    """One connection that is kept open; one request at a time."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None
        self._ended = asyncio.Event()

    @classmethod
    async def open(cls, port: int) -> "Connection":
        """Connect to a service on this machine."""
        _, made = await asyncio.get_running_loop().create_connection(cls, "127.0.0.1", port)
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio calls this."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's does not inherit from it

    def data_received(self, data: bytes) -> None:
        """Asyncio calls this."""
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        place = head.lower().index(b"content-length:")
        length = int(head[place + 15 : (head + b"\r\n").index(b"\r\n", place)])
        if len(body) >= length and self._answer is not None:
            self._buffer = b""
            answer, self._answer = self._answer, None
            if not answer.done():
                answer.set_result((int(head[9:12]), body))

    def connection_lost(self, error: Exception | None) -> None:
        """Asyncio calls this."""
        self._transport = None
        self._ended.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError("the service closed the connection"))

    @property
    def closed(self) -> bool:
        """Whether it can no longer be used."""
        return self._transport is None

    def ask(self, request: bytes) -> "asyncio.Future[tuple[int, bytes]]":
        """Send a request; the status and the body will come."""
        if self._transport is None:
            raise ConnectionResetError("the connection is closed")
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    async def close(self) -> None:
        """Close it, and wait until it is: a loop that ends before leaves the transport to whoever collects garbage."""
        if self._transport is not None:
            self._transport.close()
            await self._ended.wait()


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests as bytes, for one trial and one key."""

    trial: str
    key: str
    head: bytes = field(init=False)

    def __post_init__(self) -> None:
        fixed = f"Host: 127.0.0.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {self.key}\r\n"
        object.__setattr__(self, "head", fixed.encode())

    def post(self, what: str, body: dict[str, Any], key: str) -> bytes:
        """POST to a trial's path under an idempotency key."""
        content = json.dumps(body).encode()
        line = f"POST /trials/{self.trial}/{what} HTTP/1.1\r\nIdempotency-Key: {key}\r\n"
        return line.encode() + self.head + b"Content-Length: %d\r\n\r\n" % len(content) + content

    def get(self, what: str) -> bytes:
        """GET a trial's path."""
        return f"GET /trials/{self.trial}/{what} HTTP/1.1\r\n".encode() + self.head + b"\r\n"
