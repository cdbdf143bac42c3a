"""A server with a small application, and clients that have a connection to it and nothing else."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from uvicorn.server import ServerState

from takeup.service import Settings
from takeup.service.connection import Connection
from takeup.service.connections import Connections
from takeup.service.metrics import Metrics
from takeup.service.server import listen, uvicorn_config

WAIT = 60
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\n\r\n"
UNREAD = b"POST /unread HTTP/1.1\r\nContent-Length: 9\r\n\r\n"
"""Answered before its body is there."""
LARGE = 30_000_000
"""More than any socket's buffers hold."""
CERTIFICATE, KEY = (Path(__file__).parent / "tls" / name for name in ("certificate.pem", "key.pem"))
"""Of 127.0.0.1, and signed by itself: no secret, and good for tests alone."""
TLS = {"tls_cert": CERTIFICATE, "tls_key": KEY}


Loop = Callable[[], asyncio.AbstractEventLoop]


def uv_loop() -> asyncio.AbstractEventLoop:
    """What `takeup serve` runs on where it is installed."""
    found: asyncio.AbstractEventLoop = pytest.importorskip("uvloop").new_event_loop()
    return found


loops = pytest.mark.parametrize("loop", [asyncio.new_event_loop, uv_loop])


@dataclass
class Client:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def status(self) -> int:
        """The status of the next answer, which is read to its end; 0 where the connection is closed."""
        try:
            head = await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), WAIT)
        except (asyncio.IncompleteReadError, ConnectionError):
            return 0
        fields = dict(line.split(b": ") for line in head.split(b"\r\n")[1:-2])
        self.body = await asyncio.wait_for(self.reader.readexactly(int(fields[b"content-length"])), WAIT)
        self.again = fields.get(b"retry-after", b"").decode()
        self.media = fields.get(b"content-type", b"").decode()
        return int(head.split()[1])


@dataclass
class Running:
    """A server with a small application: it reads the body, except at /unread, and answers with it.

    At /last it answers when the client has gone.

    Attributes:
        crowded: whether the next requests are turned away, one after the other; those after them are not.
    """

    connections: Connections
    state: ServerState
    metrics: Metrics
    port: int
    asked: list[str]
    crowded: list[bool]
    clients: list[Client] = field(default_factory=list)

    async def client(self, *sent: bytes, host: str = "127.0.0.1", tls: bool = False) -> Client:
        trusting = ssl.create_default_context(cafile=CERTIFICATE) if tls else None
        opened = await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0), ssl=trusting)
        found = Client(*opened)
        self.clients.append(found)
        for data in sent:
            await found.send(data)
        return found

    async def made(self, client: Client) -> Connection:
        """The other end of a client's connection, once it is there."""
        place = client.writer.get_extra_info("sockname")

        def found() -> list[Connection]:
            return [each for each in self.state.connections if isinstance(each, Connection) and each.client == place]

        await self.until(lambda: bool(found()))
        return found()[0]

    def later(self, seconds: float) -> None:
        """Look at the connections as if so much time had passed."""
        self.connections.look(asyncio.get_running_loop().time() + seconds)

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(WAIT):
            while not true():
                await asyncio.sleep(0.01)

    @property
    def count(self) -> int:
        """How many connections the metrics tell of."""
        (line,) = [line for line in self.metrics.text().decode().splitlines() if line.startswith("takeup_connections ")]
        return int(float(line.split()[1]))

    def refused(self, reason: str) -> bool:
        return f'takeup_connections_refused_total{{reason="{reason}"}} ' in self.metrics.text().decode()


@asynccontextmanager
async def server(**settings: Any) -> AsyncIterator[Running]:
    asked: list[str] = []
    crowded: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        asked.append(scope["path"])
        body, more = b"", scope["path"] != "/unread"
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if scope["path"] == "/last":
            await receive()
        body = b"x" * LARGE if scope["path"] == "/large" else body
        length = str(len(body)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": body})

    chosen, metrics, state = Settings(port=0, **settings), Metrics(lambda: 0, lambda: 0.0, lambda: True), ServerState()
    config = uvicorn_config(chosen, app)
    config.load()
    no_room = lambda _: bool(crowded) and crowded.pop(0)  # noqa: E731  # short
    connections = Connections(chosen, chosen.connections, metrics, config, state, no_room)
    with listen(chosen) as listening:
        running = Running(connections, state, metrics, listening.getsockname()[1], asked, crowded)
        accepting = asyncio.create_task(connections.accept(listening, {}))
        try:
            yield running
        finally:
            accepting.cancel()
            for each in running.clients:
                each.writer.transport.abort()
            await running.until(lambda: not state.connections and not running.count)


def run(
    test: Callable[[Running], Awaitable[None]],
    loop: Loop = asyncio.new_event_loop,
    **settings: Any,
) -> None:
    async def main() -> None:
        async with server(**settings) as running:
            await test(running)

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(main())
