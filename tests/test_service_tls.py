"""TLS: what a client can do before it is agreed on and after, and what the service is given to begin with."""

import pytest

from connecting import CERTIFICATE, GET, TLS, Loop, Running, loops, run
from takeup.errors import InputError
from takeup.service import Settings


@pytest.mark.requirement("R-9.4")
@loops
def test_who_is_silent_instead_of_agreeing_on_tls_keeps_nobody_out(loop: Loop) -> None:
    async def test(running: Running) -> None:
        resting = await running.client(GET, tls=True)
        assert await resting.status() == 200
        silent = [await running.client(host="127.0.0.2") for _ in range(3)]
        await running.until(lambda: running.count == 4)
        for _ in range(2):
            assert await (await running.client(GET, host="127.0.0.3", tls=True)).status() == 200
        assert await silent[0].status() == 0
        assert running.refused("full")
        await resting.send(GET)
        assert await resting.status() == 200

    run(test, loop, connections=4, **TLS)


@loops
def test_the_silent_of_one_address_make_room_for_its_others(loop: Loop) -> None:
    async def test(running: Running) -> None:
        silent = [await running.client() for _ in range(2)]
        await running.until(lambda: running.count == 2)
        assert await (await running.client(GET, tls=True)).status() == 200
        assert running.refused("address")
        assert await silent[0].status() == 0

    run(test, loop, connections_per_address=2, **TLS)


@loops
@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", GET, b"\x80" * 100], ids=["silent", "half", "http", "noise"])
def test_who_does_not_speak_tls_is_sent_away(sent: bytes, loop: Loop) -> None:
    async def test(running: Running) -> None:
        client = await running.client(sent)
        await running.until(lambda: running.refused("handshake"))
        await running.until(lambda: running.count == 0)
        assert b"HTTP" not in await client.reader.read()

    run(test, loop, head_seconds=0.2, **TLS)


@loops
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\r\nA: " + b"b" * 20_000, 431),
        (b"nonsense\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", 200),
    ],
)
def test_over_tls_clients_are_told_the_same(sent: bytes, status: int, loop: Loop) -> None:
    async def test(running: Running) -> None:
        client = await running.client(sent, tls=True)
        assert await client.status() == status
        running.later(60)
        if status != 200:
            await running.until(lambda: running.count == 0)

    run(test, loop, **TLS)


@pytest.mark.parametrize(
    ("certificate", "key"),
    [
        ("key.pem", "key.pem"),
        ("certificate.pem", "certificate.pem"),
        ("certificate.pem", "other_key.pem"),
        ("certificate.pem", "locked_key.pem"),
    ],
)
def test_what_tls_cannot_begin_with_is_refused_before_anything_begins(certificate: str, key: str) -> None:
    """Nobody is asked for a key's password at the terminal either."""
    folder = CERTIFICATE.parent
    with pytest.raises(InputError, match=r"--tls-cert and --tls-key: got .*in PEM and without a password"):
        Settings(tls_cert=folder / certificate, tls_key=folder / key)


@pytest.mark.requirement("R-4.10")
@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "trials.example.org"])
def test_nothing_listens_beyond_loopback_in_the_clear(host: str) -> None:
    with pytest.raises(InputError, match=r"--host: got .*keys would cross the network in the clear"):
        Settings(host=host)
    assert Settings(host=host, behind_proxy=True).encrypted
    assert Settings(host=host, tls_cert=CERTIFICATE, tls_key=CERTIFICATE.with_name("key.pem")).encrypted
    assert Settings(host="localhost").loopback
    assert Settings(host="::1").loopback
