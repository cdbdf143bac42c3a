"""HTTP as bytes: what is sent is exactly what a case says, and whatever comes back is an answer, silence or an end."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import httptools


@dataclass(slots=True)
class Answer:
    """What came back.

    Attributes:
        status: the status.
        headers: by their names in lower case; of one that is there twice the last.
        body: all of it, or nothing where the heads alone were waited for.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class SilentError(Exception):
    """Nothing came back in time."""


class EndedError(Exception):
    """The connection ended before an answer had come."""


class Line(asyncio.Protocol):
    """A connection; the answers to what is written to it come in order."""

    def __init__(self, *, heads: bool = False) -> None:
        self.transport: asyncio.Transport | None = None
        self.used = 0
        self._heads = heads
        self._parser = httptools.HttpResponseParser(self)
        self._answer = Answer()
        self._begun = False
        self._answers: asyncio.Queue[Answer | None] = asyncio.Queue()

    @classmethod
    async def open(cls, port: int, *, heads: bool = False) -> "Line":
        """Connect to a service on this machine; with `heads` an answer is over where its body begins."""
        _, made = await asyncio.get_running_loop().create_connection(lambda: cls(heads=heads), "127.0.0.1", port)
        return made

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio calls this."""
        self.transport = cast("asyncio.Transport", transport)  # uvloop's does not inherit from it

    def data_received(self, data: bytes) -> None:
        """Asyncio calls this."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.close()
        except httptools.HttpParserError:
            self._answers.put_nowait(Answer(599, {}, data[:500]))  # what is no HTTP is an error of the service
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Asyncio calls this."""
        self.transport = None
        if self._begun and self._answer.status and "content-length" not in self._answer.headers:
            self.on_message_complete()
        self._answers.put_nowait(None)

    def on_message_begin(self) -> None:
        """The parser calls this."""
        self._answer, self._begun = Answer(), True

    def on_header(self, name: bytes, value: bytes) -> None:
        """The parser calls this."""
        self._answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """The parser calls this."""
        self._answer.status = self._parser.get_status_code()
        if self._heads:
            self._answers.put_nowait(self._answer)

    def on_body(self, body: bytes) -> None:
        """The parser calls this."""
        self._answer.body += body

    def on_message_complete(self) -> None:
        """The parser calls this."""
        self._begun = False
        if not self._heads and self._answer.status != 100:
            self._answers.put_nowait(self._answer)

    @property
    def closed(self) -> bool:
        """Whether it can no longer be used."""
        return self.transport is None or self.transport.is_closing()

    def write(self, data: bytes) -> None:
        """Send bytes."""
        if self.transport is None:
            raise EndedError("the connection is closed")
        self.transport.write(data)

    async def answer(self, seconds: float) -> Answer:
        """The next answer."""
        try:
            async with asyncio.timeout(seconds):
                found = await self._answers.get()
        except TimeoutError:
            raise SilentError(f"no answer within {seconds:g} s") from None
        if found is None:
            self._answers.put_nowait(None)
            raise EndedError("the connection ended without an answer")
        if found.headers.get("connection", "").lower() == "close":
            self.close()
        return found

    async def ask(self, request: bytes, seconds: float) -> Answer:
        """Send a request; its answer."""
        self.used += 1
        self.write(request)
        return await self.answer(seconds)

    def close(self) -> None:
        """Close it."""
        if self.transport is not None:
            self.transport.close()


def request(method: str, path: str, headers: dict[str, Any], body: bytes | None = None) -> bytes:
    """A request as bytes; its length is added where the headers do not say any."""
    names = {name.lower() for name in headers}
    length = {} if body is None or names & {"content-length", "transfer-encoding"} else {"Content-Length": len(body)}
    said = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "127.0.0.1", **headers, **length}.items())
    head = f"{method} {path} HTTP/1.1\r\n{said}\r\n"
    return head.encode("utf-8", "surrogatepass") + (body or b"")
