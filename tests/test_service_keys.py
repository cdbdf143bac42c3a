"""Keys: how they are kept, how often they may ask, and when they are no longer valid."""

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from sqlalchemy import literal, update
from starlette.types import Message

import asgi
from asgi import Api
from takeup.service import keys
from takeup.service.callers import SCOPES
from takeup.service.key_cache import KeyCache, Limiter
from takeup.service.sessions import form_token
from takeup.service.settings import Settings
from takeup.service.throttle import WRONG_KEYS, WrongKeys
from takeup.store import Store
from takeup.store.schema import api_keys


@pytest.fixture
def api() -> Iterator[Api]:
    with asgi.api() as running:
        yield running


def test_a_bucket_fills_again() -> None:
    """Two tokens a second, three at most: after 3 requests at once, the fourth waits half a second."""
    at = 0.0
    limiter = Limiter(rate=2, burst=3, clock=lambda: at)
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    at = 0.5
    assert [limiter.wait("a") for _ in range(2)] == [0, 0.5]
    at = 100.0
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


@pytest.mark.requirement("R-4.5", "R-4.7")
def test_keys_are_kept_as_hashes_and_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at, reads = 0.0, 0
    with Store(tmp_path / "t.db") as store:
        key, token = keys.new("x", ["decide"], at=1)
        keys.add(store, key).result()
        assert token.encode() not in (tmp_path / "t.db").read_bytes() + (tmp_path / "t.db-wal").read_bytes()
        assert token not in repr(key)

        look = store.read

        def counted(*given: Any) -> Any:
            nonlocal reads
            reads += 1
            return look(*given)

        monkeypatch.setattr(store, "read", counted)

        async def use() -> None:
            nonlocal at
            cache = KeyCache(store, pool, Settings().key_seconds, clock=lambda: at)
            for _ in range(100):
                assert await cache.find(token) == key
                assert await cache.find(token[:-1]) is None
                assert await cache.find("takeup_000000000000_x") is None
            assert reads == 1
            keys.revoke(store, key.id, at=5).result()
            assert await cache.find(token) == key  # another process revoked it: this one learns it within two seconds
            at = 2.0 + 1e-6
            assert await cache.find(token) is None
            assert reads == 2

        with ThreadPoolExecutor(1) as pool:
            asyncio.run(use())


def test_keys_are_read_again_before_anybody_has_to_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Halfway to their end those that are known still count, while a thread reads; then what it found does."""
    at, begun, go_on = 0.0, threading.Event(), threading.Event()
    with Store(tmp_path / "t.db") as store, ThreadPoolExecutor(1) as pool:
        key, token = keys.new("app", ["decide"], at=1)
        keys.add(store, key).result()
        look = store.read

        def slow(*given: Any) -> Any:
            begun.set()
            assert go_on.wait(asgi.WAIT)
            return look(*given)

        async def use() -> None:
            nonlocal at
            cache = KeyCache(store, pool, 2.0, clock=lambda: at)
            assert await cache.find(token) == key
            keys.revoke(store, key.id, at=5).result()
            monkeypatch.setattr(store, "read", slow)
            at = 0.9
            assert await cache.find(token) == key
            assert not begun.is_set()
            at = 1.1
            for _ in range(3):
                assert await cache.find(token) == key
            assert await asyncio.to_thread(begun.wait, asgi.WAIT)
            at = 1.9
            assert await cache.find(token) == key
            go_on.set()
            async with asyncio.timeout(asgi.WAIT):
                while await cache.find(token) is not None:
                    await asyncio.sleep(0.001)

        asyncio.run(use())


@pytest.mark.parametrize("said", ["", "{", '"decide"', "[1]", b"\x00", 7, pytest.param("[" * 100_000, id="deep")])
def test_a_key_that_was_made_illegible_lets_nobody_in_and_keeps_nobody_out(tmp_path: Path, said: object) -> None:
    with Store(tmp_path / "t.db") as store:
        made = [keys.new(name, ["decide"], at=1)[0] for name in "ab"]
        for key in made:
            keys.add(store, key).result()
        change = update(api_keys).where(api_keys.c.id == made[0].id).values(scopes=literal(said))
        store.write(lambda connection: connection.execute(change)).result()
        assert store.read(keys.load) == {made[1].id: made[1]}


def test_the_first_key_is_made_once(database: str) -> None:
    with Store(database) as one, Store(database) as other:
        made = [keys.add_first(store) for store in (one, other, one)]
        assert [token is None for token in made] == [False, True, True]
        assert [key.scopes for key in one.read(keys.load).values()] == [SCOPES]


@pytest.mark.requirement("R-4.5")
@pytest.mark.parametrize("path", ["/trials/t/decisions", "/trials/t/decisions/batch", "/trials", "/keys"])
def test_a_key_that_is_revoked_while_a_body_comes_is_not_let_in(path: str, api: Api) -> None:
    """A body may take half an hour to come: whoever had begun to send one could use a key for as long."""
    token = api.key("decide", "design", "admin")
    service, sent = api.app.state.service, list[Message]()

    async def receive() -> Message:
        key = await service.keys.find(token)
        assert key is not None
        await service.keys.revoke(key.id, by="test")
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    api.run(api.app(asgi.scope("POST", path, token), receive, send))
    assert sent[0]["status"] == 401


def test_keys_that_are_made_all_the_time_keep_nobody_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the keys are read others are made: what was read counts, and so do they."""
    with Store(tmp_path / "t.db") as store, ThreadPoolExecutor(1) as pool:
        before, after, late = (keys.new(name, ["decide"], at=1) for name in ("before", "after", "late"))
        keys.add(store, before[0]).result()
        look, reads = store.read, 0

        async def use() -> None:
            loop, cache = asyncio.get_running_loop(), KeyCache(store, pool, 2.0)

            def slow(*given: Any) -> Any:
                nonlocal reads
                reads += 1
                assert reads == 1
                found = look(*given)
                asyncio.run_coroutine_threadsafe(cache.add(after[0]), loop).result(asgi.WAIT)
                return found

            monkeypatch.setattr(store, "read", slow)
            assert await cache.find(before[1]) == before[0]
            assert await cache.find(after[1]) == after[0]
            await cache.add(late[0])
            assert await cache.find(late[1]) == late[0]

        asyncio.run(use())


def test_who_makes_keys_takes_none_of_the_threads_that_let_people_in(api: Api) -> None:
    """Those are two, and whoever waits for a slow disk would keep everybody out."""
    service, gate = api.app.state.service, threading.Event()
    held = api.store.write(lambda _: gate.wait(asgi.WAIT))

    async def asked() -> None:
        made = [keys.new(str(i), ["decide"], at=1)[0] for i in range(5)]
        adding = [asyncio.create_task(service.keys.add(key)) for key in made]
        await asyncio.sleep(0)
        assert await asyncio.get_running_loop().run_in_executor(service.keys._readers, lambda: "free") == "free"
        assert not any(each.done() for each in adding)
        gate.set()
        await asyncio.gather(*adding)

    try:
        api.run(asyncio.wait_for(asked(), asgi.WAIT / 2))
    finally:
        gate.set()
    assert held.result()


def test_wrong_keys_are_slowed_down_and_right_ones_never(api: Api) -> None:
    """By address, over the API and at the sign-in together; a request without a key is no try."""
    at = 0.0
    service = api.app.state.service
    service.keys.wrong = WrongKeys(clock=lambda: at)
    right, most, rate = api.key("decide"), int(WRONG_KEYS[0]), WRONG_KEYS[1]
    guesses = [right[:-1] + "!", f"takeup_{'0' * 12}_x", "made up", "é"]
    for _ in range(2 * most):
        assert api.request("GET", "/trials").status == 401
    for i in range(most):
        assert api.request("GET", "/trials", key=guesses[i % len(guesses)]).status == 401
    refused = [api.request("GET", "/trials", key=guess) for guess in guesses]
    assert {(reply.status, reply.json["type"]) for reply in refused} == {(429, "urn:takeup:too-many")}
    assert {reply.headers["retry-after"] for reply in refused} == {"1"}
    assert not any(guess in refused[0].body.decode() for guess in guesses)
    assert api.request("GET", "/trials", key=right).status == 200
    form = {"cookie": "takeup=x", "content-type": "application/x-www-form-urlencoded"}

    def sign_in(key: str) -> asgi.Reply:
        sent = urlencode({"key": key, "form_token": form_token("x")}).encode()
        return api.request("POST", "/app/sign-in", raw=sent, headers=form)

    assert (sign_in("made up").status, sign_in("made up").headers["retry-after"]) == (429, "1")
    assert sign_in(right).status == 303
    at = 1 / rate + 1e-6
    assert [api.request("GET", "/trials", key="made up").status for _ in range(2)] == [401, 429]


def test_the_counts_of_wrong_keys_stay_few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("takeup.service.throttle.MOST_NAMES", 50)
    counts = WrongKeys(clock=lambda: 0.0)
    assert all(counts.wait(f"1.1.1.{i}") == 0 for i in range(200))
    assert len(counts) == 50
    assert sum(counts.wait("2.2.2.2") == 0 for _ in range(1_000)) == WRONG_KEYS[0]


def test_refusing_a_key_is_the_same_work_whether_or_not_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is hashed and the hashes are compared in constant time, once, whatever was sent."""
    key, token = keys.new("x", ["decide"], at=1)
    compared: list[tuple[int, int]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("takeup.service.keys.hmac.compare_digest", compare)
    found = {token: key}
    for sent in (token, token[:-1], token[:20], f"takeup_{'0' * 12}_x", "made up", "", "\ud800", "x" * 10_000):
        assert keys.matches(found.get(sent), sent) is (sent == token)
        assert keys.matches(key, sent) is (sent == token)
        assert keys.id_of(sent) == (key.id if sent[:19] == token[:19] else "0" * 12 if "0000" in sent else "")
    assert compared == [(64, 64)] * 16
