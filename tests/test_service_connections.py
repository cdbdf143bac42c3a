"""What a client can do to the service with a connection alone: nothing that others notice."""

import asyncio
import json

import pytest

from connecting import GET, LARGE, LAST, UNREAD, WAIT, Running, run
from takeup.service import Settings
from takeup.service.connection import BODY, MOST_AHEAD
from takeup.service.problem import MEDIA


@pytest.mark.requirement("R-9.3")
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


@pytest.mark.requirement("R-9.4")
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


@pytest.mark.parametrize(
    ("looked_between", "patient", "too_late"), [(False, 200, 300), (True, 25, 35)], ids=["comes", "stands still"]
)
def test_a_body_is_waited_for_as_long_as_it_comes(looked_between: bool, patient: float, too_late: float) -> None:
    """A million bytes buy 200 s at 5 kB a second, on top of 30.

    What came fast saves none of them up, also not for a client that goes on with a byte now and then.
    """

    async def test(running: Running) -> None:
        client = await running.client(b"POST / HTTP/1.1\r\nContent-Length: 8000000\r\n\r\n" + b"a" * 1_000_000)
        connection = await running.made(client)
        await running.until(lambda: connection._got == 1_000_000)
        if looked_between:
            running.later(1)
            await client.send(b"a")
            await running.until(lambda: connection._got == 1_000_001)
        running.later(patient)
        assert not running.refused("slow body")
        running.later(too_late)
        assert running.refused("slow body")
        assert await client.status() == 408

    run(test)


@pytest.mark.requirement("R-9.4")
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
