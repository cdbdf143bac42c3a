"""Bodies: how large, whose, and when they are read."""

import asyncio
import io
import json
from collections.abc import Iterator

import pytest
from starlette.types import Message

import asgi
from asgi import Api
from takeup.service import Settings, create_app
from takeup.service.middleware import LargeBodies, RequestLog
from takeup.service.problem import ProblemError
from takeup.store import Store


@pytest.fixture
def api() -> Iterator[Api]:
    with asgi.api() as running:
        yield running


@pytest.mark.requirement("R-9.3")
def test_limits_of_body_and_rate(api: Api, trial: str, key: str) -> None:
    huge = b'{"unit": "' + b"a" * 2_000_000 + b'"}'
    for headers in ({}, {"content-length": str(len(huge))}):
        reply = api.request("POST", f"{trial}/decisions", raw=huge, key=key, headers=headers)
        assert (reply.status, reply.json["type"]) == (413, "urn:takeup:too-large")
    with asgi.api(settings=Settings(rate=1e-4, burst=3)) as slow:
        one, other = slow.key("design"), slow.key("design")
        assert [slow.request("GET", "/trials", key=one).status for _ in range(4)] == [200, 200, 200, 429]
        refused = slow.request("GET", "/trials", key=one)
        assert refused.json["type"] == "urn:takeup:too-many"
        assert 1 <= int(refused.headers["retry-after"]) <= 10_000
        assert slow.request("GET", "/trials", key=other).status == 200


@pytest.mark.parametrize("path", ["/trials/t/decisions", "/trials/t/decisions/batch", "/trials", "/keys"])
def test_a_client_that_goes_away_is_no_error_of_the_service(path: str, caplog: pytest.LogCaptureFixture) -> None:
    out = io.StringIO()
    with Store("sqlite://") as store:
        api = Api(create_app(asgi.GENEROUS, store, RequestLog(out)))
        key = api.key("decide", "design", "admin")
        said: list[Message] = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]

        async def receive() -> Message:
            return said.pop(0)

        async def send(_: Message) -> None:
            raise AssertionError("nobody is there")

        api.run(api.app(asgi.scope("POST", path, key), receive, send))
        metrics = api.request("GET", "/metrics", key=key).body.decode()
        api.close()
    line = json.loads(out.getvalue().splitlines()[0])
    assert (line["status"], line["problem"]) == (499, "gone")
    assert f'route="{line["route"]}",status="499"' in metrics
    assert "failed" not in caplog.text


def test_a_body_is_not_read_before_the_key_is_known(api: Api, key: str) -> None:
    async def receive() -> Message:
        raise AssertionError("it was read")

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    for path in ("/trials/t/decisions", "/trials/t/decisions/batch", "/trials", "/keys", "/app/new", "/nowhere"):
        api.run(api.app(asgi.scope("POST", path, None), receive, send))
        assert sent[0]["status"] in (401, 404)
        sent.clear()


def test_large_bodies_share_a_bounded_room() -> None:
    """One that is half there takes its key's part until it is answered; small ones and others always get through."""
    with asgi.api(settings=Settings(rate=1e6, burst=1e6, batch_limit=160_000, bodies_limit=640_000)) as api:
        key, other = api.key("decide"), api.key("decide")
        large, small = b" " * 150_000, b"{}"
        path = "/trials/t/decisions"

        async def both() -> list[int]:
            go_on, began = asyncio.Event(), asyncio.Event()
            parts = [large, b"{}"]

            async def receive() -> Message:
                if len(parts) == 1:
                    began.set()
                    await go_on.wait()
                part = parts.pop(0)
                return {"type": "http.request", "body": part, "more_body": bool(parts)}

            sent: list[Message] = []

            async def send(message: Message) -> None:
                sent.append(message)

            first = asyncio.create_task(api.app(asgi.scope("POST", path, key), receive, send))
            await began.wait()
            second = await api.asked("POST", path, key=key, raw=large)
            third = await api.asked("POST", path, key=key, raw=small)
            others = await api.asked("POST", path, key=other, raw=large)
            go_on.set()
            await first
            after = await api.asked("POST", path, key=key, raw=large)
            return [sent[0]["status"], second.status, third.status, others.status, after.status]

        assert api.run(both()) == [422, 503, 422, 400, 400]


def test_one_key_has_a_part_of_the_room_for_large_bodies() -> None:
    bodies = LargeBodies(100, 25)
    bodies.take("one", 20)
    with pytest.raises(ProblemError, match="too many large bodies"):
        bodies.take("one", 6)
    for other in ("two", "three", "four", "five"):
        bodies.take(other, 20)
    with pytest.raises(ProblemError, match="too many large bodies"):
        bodies.take("six", 1)
    bodies.release("one", 20)
    bodies.take("one", 20)


def test_a_log_that_cannot_be_written_keeps_nobody_from_being_answered() -> None:
    class Full(io.StringIO):
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

    with Store("sqlite://") as store:
        api = Api(create_app(asgi.GENEROUS, store, RequestLog(Full())))
        assert api.request("GET", "/health").status == 200
        api.close()
