"""More decisions and reports than can be written: some are turned away at once, and told when to come again."""

import asyncio
import json
from collections import deque
from pathlib import Path

import pytest

import asgi
from asgi import SPEC
from connecting import GET, Loop, Running, loops, run
from takeup.service import Settings, waiting
from takeup.service.fast_routes import Application
from takeup.service.problem import MEDIA
from takeup.service.waiting import CALM, LEAST, SOON, Waiting

POST = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n"


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def rush(room: Waiting, clock: Clock, rate: float) -> None:
    """More come all the time than there is room for, and so many a second are answered, who came first is first."""
    came = deque[tuple[int, float]]()
    for _ in range(5_000):
        while not room.full("a"):
            came.append(room.come("a"))
        clock.now += 1 / rate
        room.gone("a")
        room.answered(*came.popleft())
    for _ in came:
        room.gone("a")


def test_there_is_room_until_there_is_none() -> None:
    waiting = Waiting(3)
    for _ in range(3):
        assert not waiting.full("a")
        waiting.come("a")
    assert waiting.full("a")
    waiting.gone("a")
    assert not waiting.full("a")


def test_a_rush_to_one_trial_does_not_turn_others_away() -> None:
    """Of 6 places one trial has 6; another may have 3, its share of two, and then so on."""
    waiting = Waiting(6)
    for _ in range(6):
        waiting.come("a")
    for _ in range(3):
        assert not waiting.full("b")
        waiting.come("b")
    assert waiting.full("b")
    assert waiting.full("a")
    assert not waiting.full("c")


@pytest.mark.parametrize("rate", [1_000.0, 2_000.0])
def test_there_is_room_for_as_many_as_are_answered_soon(rate: float) -> None:
    clock = Clock()
    room = Waiting(640, clock)
    rush(room, clock, rate)
    assert room.room == pytest.approx(SOON * rate, rel=0.02)


def test_there_is_room_for_some_however_slow_it_is_and_for_all_where_it_is_fast() -> None:
    clock = Clock()
    room = Waiting(640, clock)
    rush(room, clock, 10.0)
    assert room.room == LEAST
    rush(room, clock, 10_000.0)
    assert room.room == 640


def test_who_had_few_before_it_says_nothing_of_the_room() -> None:
    """A stall while few come is none that turning others away would mend."""
    clock = Clock()
    room = Waiting(640, clock)
    for _ in range(1_000):
        came = [room.come("a") for _ in range(300)]
        clock.now += 10
        for each in came:
            room.gone("a")
            room.answered(*each)
    assert room.room == 640


def test_after_a_rush_there_is_room_again() -> None:
    clock = Clock()
    room = Waiting(640, clock)
    rush(room, clock, 1_000.0)
    for _ in range(room.room):
        room.come("a")
    clock.now += CALM / 2
    assert room.full("a")
    clock.now += 1.1 * CALM
    assert not room.full("a")
    assert room.room == 640


def test_errors_say_nothing_of_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many are found before anything has waited."""
    learned: list[int] = []
    monkeypatch.setattr(waiting.Waiting, "answered", lambda _, before, __: learned.append(before))
    room = Waiting(2)
    with pytest.raises(ValueError, match="broken"), room.place("a"):
        raise ValueError("broken")
    assert not learned
    with room.place("a"):
        pass
    assert learned == [0]


def test_those_who_were_read_and_have_yet_to_come_count() -> None:
    """Else all who are read at one turn of the event loop would be let in; another trial's are, up to its share."""

    async def read() -> None:
        room = Waiting(3)
        for _ in range(3):
            assert not room.full("a")
            room.expect("a")
        assert room.full("a")
        assert not room.full("b")
        await asyncio.sleep(0)
        assert not room.full("a")

    asyncio.run(read())


@loops
def test_who_is_turned_away_keeps_the_connection(loop: Loop) -> None:
    """The application hears nothing of it, and the next request is served, also where its body was late."""

    async def test(running: Running) -> None:
        running.crowded[:] = [True, True, False]
        client = await running.client(POST + b"abc", POST)
        for _ in range(2):
            assert await client.status() == 503
            assert (client.again, client.media) == ("1", MEDIA)
            assert json.loads(client.body)["type"] == "urn:takeup:unavailable"
        await client.send(b"abc" + GET)
        assert await client.status() == 200
        assert running.asked == ["/"]
        assert not running.refused("crowded")  # it is counted as a request

    run(test, loop)


@loops
def test_requests_that_were_sent_ahead_are_answered_in_order(loop: Loop) -> None:
    async def test(running: Running) -> None:
        running.crowded[:] = [True, False] * 200
        client = await running.client((POST + b"abc") * 400)
        assert [await client.status() for _ in range(400)] == [503, 200] * 200

    run(test, loop)


def test_who_is_turned_away_and_wants_no_more_is_let_go() -> None:
    async def test(running: Running) -> None:
        running.crowded[:] = [True]
        client = await running.client(b"POST /a HTTP/1.1\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        assert [await client.status(), await client.status()] == [503, 0]

    run(test)


def test_those_who_leave_are_forgotten() -> None:
    waiting = Waiting(2)
    for trial in ("a", "b", "b"):
        with waiting.place(trial):
            assert not waiting.full("c")
    with pytest.raises(ValueError, match="broken"), waiting.place("a"):
        raise ValueError("broken")
    assert not any(waiting.full(trial) for trial in "abc")


def test_whoever_is_turned_away_is_told_when_to_come_and_leaves_no_trace(tmp_path: Path) -> None:
    """Others may read, and a batch, of which a few are written at a time, is taken."""
    with asgi.api(str(tmp_path / "t.db"), settings=Settings(waiting_limit=0)) as api:
        key = api.key("design", "decide", "report", "read-blinded")
        api.request("POST", "/trials?trial=t", SPEC, key)
        api.request("PUT", "/trials/t/state", {"state": "running"}, key)
        for path, body in (("decisions", {"unit": "a", "context": "morning"}), ("reports", {"decision": 1})):
            reply = api.request("POST", f"/trials/t/{path}", body, key)
            assert (reply.status, reply.json["type"]) == (503, "urn:takeup:unavailable")
            assert reply.headers["retry-after"] == "1"
            assert "x-request-id" in reply.headers
        batch = {"units": [{"unit": "b", "context": "morning"}]}
        assert api.request("POST", "/trials/t/decisions/batch", batch, key).status == 200
        assert api.request("GET", "/trials/t/progress", key=key).json["decisions"] == 1


def test_whoever_is_turned_away_unread_is_counted_like_others(tmp_path: Path) -> None:
    """Batches and all other requests are read."""

    async def asked(app: Application, method: str, path: str) -> bool:
        return app.no_room(asgi.scope(method, path, "nobody"))

    for limit in (0, 1):
        with asgi.api(str(tmp_path / f"{limit}.db"), settings=Settings(waiting_limit=limit)) as api:
            assert isinstance(api.app, Application)
            for path in ("decisions", "reports"):
                assert api.run(asked(api.app, "POST", f"/trials/t/{path}")) is (limit == 0)
                route = f'method="POST",route="/trials/{{trial}}/{path}",status="503"'
                counted = f"takeup_requests_total{{{route}}} 1.0"
                assert (counted in api.app.state.service.metrics.text().decode()) is (limit == 0)
            for method, path in (("POST", "decisions/batch"), ("GET", "decisions"), ("GET", "progress")):
                assert not api.run(asked(api.app, method, f"/trials/t/{path}"))


def test_the_log_has_one_line_of_all_who_were_turned_away_unread(caplog: pytest.LogCaptureFixture) -> None:
    async def test(running: Running) -> None:
        running.crowded[:] = [True] * 30
        client = await running.client()
        for _ in range(30):
            await client.send(GET)
            assert await client.status() == 503
        watching = asyncio.create_task(running.connections.watch())
        await asyncio.sleep(0)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    run(test)
    (line,) = [record.getMessage() for record in caplog.records if record.name == "takeup.service"]
    assert line.startswith("30 requests refused: more decisions and reports come than can be written")
