"""What a client can do to the service with a connection alone: nothing that others notice."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from takeup.service import Settings
from takeup.service.connection import BODY, LINGER, MOST_AHEAD, Connection
from takeup.service.connections import Connections
from takeup.service.metrics import Metrics
from takeup.service.problem import MEDIA
from takeup.service.server import listen

WAIT = 60
GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: x\r\n\r\n"
UNREAD = b"POST /unread HTTP/1.1\r\nContent-Length: 9\r\n\r\n"
"""Answered before its body is there."""
LARGE = 30_000_000
"""More than any socket's buffers hold."""


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
        self.media = fields.get(b"content-type", b"").decode()
        return int(head.split()[1])


@dataclass
class Running:
    """A server with a small application: it reads the body, except at /unread, and answers with it.

    At /last it answers when the client has gone.
    """

    connections: Connections
    state: ServerState
    metrics: Metrics
    port: int
    asked: list[str]
    clients: list[Client] = field(default_factory=list)

    async def client(self, *sent: bytes, host: str = "127.0.0.1") -> Client:
        found = Client(*await asyncio.open_connection("127.0.0.1", self.port, local_addr=(host, 0)))
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

    def refused(self, reason: str) -> bool:
        return f'takeup_connections_refused_total{{reason="{reason}"}} ' in self.metrics.text().decode()


@asynccontextmanager
async def server(**settings: Any) -> AsyncIterator[Running]:
    asked: list[str] = []

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
    config = uvicorn.Config(app, http="httptools", log_config=None, ws="none", timeout_keep_alive=75)
    config.load()
    connections = Connections(chosen, chosen.connections, metrics, config, state)
    with listen(chosen) as listening:
        running = Running(connections, state, metrics, listening.getsockname()[1], asked)
        accepting = asyncio.create_task(connections.accept(listening, {}))
        try:
            yield running
        finally:
            accepting.cancel()
            for each in running.clients:
                each.writer.transport.abort()
            await running.until(lambda: not state.connections)


def run(test: Callable[[Running], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        async with server(**settings) as running:
            await test(running)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("head", "status", "reason"),
    [
        (b"GET / HTTP/1.1\r\nCookie: " + b"a" * 200_000 + b"\r\n\r\n", 431, "headers"),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 5_000 + b"\r\n", 431, "headers"),
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 20_000, 431, "headers"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n\r\n", 414, "url"),
        (b"GET /" + b"a" * 20_000, 414, "url"),
        (b"\r\n" * 10_000, 431, "headers"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;" + b"a" * 300_000, 431, "headers"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nA: " + b"a" * 600_000, 431, "headers"),
        (b"nonsense\r\n\r\n", 400, "malformed"),
        (b"GET http://[ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "malformed"),
    ],
)
def test_a_head_without_end_is_refused_as_it_comes(head: bytes, status: int, reason: str) -> None:
    async def test(running: Running) -> None:
        client = await running.client(head)
        assert await client.status() == status
        assert (client.media, json.loads(client.body)["status"]) == (MEDIA, status)
        assert running.refused(reason)
        assert await (await running.client(GET)).status() == 200

    run(test)


def test_a_head_as_large_as_is_allowed_is_taken() -> None:
    """Also where it comes in one packet with the large body of the request before."""
    head = b"GET /b HTTP/1.1\r\nA: " + b"a" * 16_000 + b"\r\n\r\n"
    before = b"POST /a HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + b"a" * 100_000

    async def test(running: Running) -> None:
        client = await running.client(before + head + head)
        assert [await client.status() for _ in range(3)] == [200] * 3
        assert running.asked == ["/a", "/b", "/b"]

    run(test)


def test_bodies_in_many_small_chunks_are_taken() -> None:
    async def test(running: Running) -> None:
        head = b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        client = await running.client(head + b"1\r\na\r\n" * 50_000 + b"0\r\n\r\n" + GET)
        assert await client.status() == 200
        assert len(client.body) == 50_000
        assert await client.status() == 200

    run(test)


@pytest.mark.parametrize(
    ("sent", "status", "reason"),
    [
        (b"", 0, "slow head"),
        (b"GET / HTTP/1.1\r\nA: b", 408, "slow head"),
        (b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", 408, "slow body"),
    ],
)
def test_who_lets_the_service_wait_is_cut_off(sent: bytes, status: int, reason: str) -> None:
    async def test(running: Running) -> None:
        client = await running.client(sent)
        connection = await running.made(client)
        await running.until(lambda: not sent or connection._spare > 0 or connection.stage == BODY)
        running.later(10)
        assert not running.refused(reason)
        running.later(35)
        assert running.refused(reason)
        assert await client.status() == status
        client.writer.write(b"x")
        running.later(60)
        await running.until(lambda: not running.state.connections)

    run(test)


def test_the_rest_of_a_body_that_was_answered_has_little_time() -> None:
    async def test(running: Running) -> None:
        client = await running.client(UNREAD + b"abc")
        assert await client.status() == 200
        answered_at = (await running.made(client)).since
        running.connections.look(answered_at + 1)
        assert not running.refused("slow body")
        running.connections.look(answered_at + 3)
        assert running.refused("slow body")
        await running.until(lambda: not running.state.connections)

    run(test)


def test_a_slow_body_that_comes_is_waited_for() -> None:
    """At 5 kB a second and more; after 100 s of silence it is not."""

    async def test(running: Running) -> None:
        client = await running.client(b"POST / HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n" + b"a" * 1_000_000)
        connection = await running.made(client)
        await running.until(lambda: connection._got == 1_000_000)
        running.later(200)
        assert not running.refused("slow body")
        running.later(300)
        assert running.refused("slow body")
        assert await client.status() == 408

    run(test)


def test_a_body_that_came_fast_and_stands_still_is_not_waited_for() -> None:
    """What came fast saves no time up, also not for a client that goes on with a byte now and then."""

    async def test(running: Running) -> None:
        client = await running.client(b"POST / HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n" + b"a" * 1_000_000)
        connection = await running.made(client)
        await running.until(lambda: connection._got == 1_000_000)
        running.later(1)
        await client.send(b"a")
        await running.until(lambda: connection._got == 1_000_001)
        running.later(25)
        assert not running.refused("slow body")
        running.later(35)
        assert running.refused("slow body")
        assert await client.status() == 408

    run(test)


def test_who_never_reads_is_cut_off() -> None:
    async def test(running: Running) -> None:
        client = await running.client(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]  # a transport of a socket has it
        connection = await running.made(client)
        await running.until(lambda: connection.transport.get_write_buffer_size() > 0)
        running.later(20)
        assert running.state.connections
        connection.transport.close()  # as keep-alive would: it waits for the client
        running.later(LARGE)
        await running.until(lambda: not running.state.connections)
        assert running.refused("slow reader")

    run(test)


def test_an_answer_that_lasts_is_not_cut_off() -> None:
    """As live pages are: the client has asked, and reads; it owes nothing."""

    async def test(running: Running) -> None:
        client = await running.client(b"POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert (await client.reader.readline()).split()[1] == b"100"
        await client.reader.readline()
        connection = await running.made(client)
        await client.send(b"abc")
        assert await client.status() == 200
        running.later(1_000)
        assert connection in running.state.connections  # keep-alive has its own clock

    run(test)


def test_connections_stay_open_for_as_long_as_proxies_assume() -> None:
    assert Settings().keep_alive_seconds == 75

    async def test(running: Running) -> None:
        client = await running.client(b"POST /unread HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
        assert await client.status() == 200
        await client.send(b"abc" + GET)  # the body of what was answered already, and another request
        assert await client.status() == 200
        timer = (await running.made(client)).timeout_keep_alive_task
        assert timer is not None
        assert 75 - WAIT < timer.when() - asyncio.get_running_loop().time() <= 75

    run(test)


def test_a_client_may_not_send_without_end_before_it_is_answered() -> None:
    async def test(running: Running) -> None:
        client = await running.client(GET * (MOST_AHEAD + 10))
        while await client.status():
            pass
        assert running.refused("ahead")
        assert await (await running.client(GET)).status() == 200

    run(test)


@pytest.mark.parametrize("sent", [LAST + GET, GET + LAST + GET, LAST + GET + b"nonsense\r\n\r\n"])
def test_who_leaves_with_requests_ahead_is_not_answered(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Or has to go: the request that runs is told, and those behind it never run."""

    async def test(running: Running) -> None:
        client = await running.client(sent)
        await running.until(lambda: "/last" in running.asked)
        client.writer.transport.abort()
        await running.until(lambda: not running.state.tasks)
        assert running.asked[-1] == "/last"

    run(test)
    assert [each for each in caplog.records if each.levelname == "ERROR"] == []


def test_what_cannot_be_upgraded_to_is_ignored() -> None:
    async def test(running: Running) -> None:
        upgrade = b"GET / HTTP/1.1\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
        client = await running.client(upgrade)
        assert await client.status() == 200
        await client.send(upgrade)
        assert await client.status() == 200

    run(test)


def test_a_full_house_makes_room_for_those_who_ask() -> None:
    """Silent connections go first, then those at rest, the oldest first; one that is being answered stays."""

    async def test(running: Running) -> None:
        asking = await running.client(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
        resting = await running.client(GET)
        assert await resting.status() == 200
        silent = [await running.client()]
        for _ in range(19):
            await running.made(silent[-1])
            silent.append(await running.client())
        assert [await each.status() for each in silent[:-1]] == [0] * 19
        fresh = await running.client(GET)
        assert await fresh.status() == 200
        await resting.send(GET)
        assert await resting.status() == 200
        await asking.send(b"abc")
        assert await asking.status() == 200
        assert running.refused("full")
        held = [await running.made(each) for each in (fresh, resting, asking)]
        for each in (fresh, resting, asking):
            await each.send(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n")
        await running.until(lambda: all(each.busy for each in held))
        late = await running.client()
        assert await late.status() == 503

    run(test, connections=3)


@pytest.mark.parametrize("behind_proxy", [True, False])
@pytest.mark.parametrize(("sent", "status"), [(UNREAD, 200), (b"nonsense\r\n\r\n", 400)], ids=["unread", "refused"])
def test_who_was_answered_and_owes_the_rest_goes_first(sent: bytes, status: int, behind_proxy: bool) -> None:
    """Whatever its address; and it does not keep others out."""

    async def test(running: Running) -> None:
        resting = [await running.client(GET) for _ in range(2)]
        assert [await each.status() for each in resting] == [200] * 2
        silent = await running.client()
        await running.made(silent)
        for _ in range(10):
            owing = await running.client(sent, host="127.0.0.2")
            assert await owing.status() == status
        fresh = await running.client(GET)
        assert await fresh.status() == 200
        for each in (*resting, silent):
            await each.send(GET)
            assert await each.status() == 200

    run(test, connections=4, behind_proxy=behind_proxy)


def test_the_address_with_the_most_connections_makes_room() -> None:
    """So that a few addresses do not take the places of all the others."""

    async def test(running: Running) -> None:
        others = [await running.client(GET, host=f"127.0.0.{i}") for i in (2, 3)]
        assert [await each.status() for each in others] == [200] * 2
        greedy = []
        for _ in range(10):
            greedy.append(await running.client(GET))
            assert await greedy[-1].status() == 200
        for each in (*others, *greedy[-3:]):
            await each.send(GET)
            assert await each.status() == 200

    run(test, connections=5)


def test_who_has_been_silent_for_long_goes_before_those_at_rest() -> None:
    """From however many addresses they are."""

    async def test(running: Running) -> None:
        resting = [await running.client(GET) for _ in range(2)]
        assert [await each.status() for each in resting] == [200] * 2
        silent = await running.client(host="127.0.0.2")
        (await running.made(silent)).since -= 2 * LINGER
        assert await (await running.client(GET, host="127.0.0.3")).status() == 200
        assert await silent.status() == 0
        for each in resting:
            await each.send(GET)
            assert await each.status() == 200

    run(test, connections=3)


def test_one_address_cannot_take_all_the_room() -> None:
    async def test(running: Running) -> None:
        held = [await running.client(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n") for _ in range(2)]
        await running.until(lambda: len(running.asked) == 2)
        assert await (await running.client()).status() == 503
        assert running.refused("address")
        assert await (await running.client(GET, host="127.0.0.2")).status() == 200
        for each in held:
            each.writer.close()
        await running.until(lambda: len(running.state.connections) == 1)
        assert await (await running.client(GET)).status() == 200

    run(test, connections_per_address=2)


def test_behind_a_proxy_all_come_from_one_address() -> None:
    async def test(running: Running) -> None:
        clients = [await running.client(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n") for _ in range(6)]
        for each in clients:
            await each.send(b"abc")
            assert await each.status() == 200

    run(test, connections_per_address=2, behind_proxy=True)


def test_the_log_has_a_line_a_reason_however_many_are_refused(caplog: pytest.LogCaptureFixture) -> None:
    async def test(running: Running) -> None:
        for _ in range(30):
            assert await (await running.client(b"nonsense\r\n\r\n")).status() == 400
        watching = asyncio.create_task(running.connections.watch())
        await asyncio.sleep(0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    run(test)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "takeup.service"]
    assert line == "30 connections refused: this is not HTTP; the last from 127.0.0.1"
