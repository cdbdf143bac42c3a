"""More connections than there is room for: those who ask are let in, and those who do nothing make room."""

import pytest

from connecting import GET, UNREAD, Running, run
from takeup.service.connection import LINGER


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
