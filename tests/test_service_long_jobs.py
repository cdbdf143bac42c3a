"""Audits and exports: one at a time, and in a process of their own where the trial is long."""

import asyncio
import csv
import io
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import asgi
from asgi import SPEC, Api
from takeup.live import Trial, new_key
from takeup.service import Settings, create_app, turn
from takeup.service.problem import ProblemError
from takeup.service.routes import log as log_routes


@pytest.fixture
def api() -> Iterator[Api]:
    with asgi.api() as running:
        yield running


def test_exports(api: Api, key: str, trial: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for i, unit in enumerate(("=1+1", "b", "c")):
        api.request("POST", f"{trial}/decisions", {"unit": unit, "context": "evening"}, key)
        api.request("POST", f"{trial}/reports", {"decision": i + 1, "implemented": "tea", "outcome": "good"}, key)
    reply = api.request("GET", f"{trial}/export", key=key, headers={"Range": "bytes=0-3"})
    assert reply.status == 200
    assert reply.headers["content-disposition"] == 'attachment; filename="t.csv"'
    rows = list(csv.DictReader(io.StringIO(reply.body.decode())))
    assert [row["unit"] for row in rows] == ["'=1+1", "b", "c"]
    assert {row["ACTARM"] for row in rows} == {"tea"}
    lines = api.request("GET", f"{trial}/export?format=jsonl", key=key).body.splitlines()
    assert [json.loads(line)["unit"] for line in lines] == ["=1+1", "b", "c"]
    frame = pl.read_parquet(io.BytesIO(api.request("GET", f"{trial}/export?format=parquet", key=key).body))
    assert frame["ARM"].is_in(["tea", "coffee"]).all()
    assert api.request("GET", f"{trial}/export?format=xls", key=key).status == 422


def test_long_jobs_are_run_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(log_routes, "LONG", 1)
    anchors, anchor_key = tmp_path / "anchors", tmp_path / "key"
    new_key(anchor_key)
    settings = Settings(database=str(tmp_path / "t.db"), anchors=anchors, anchor_key=anchor_key)

    running = Api(create_app(settings))
    try:
        key = running.key("decide", "read-unblinded", "design")
        running.request("POST", "/trials?trial=t", SPEC, key)
        running.request("PUT", "/trials/t/state", {"state": "running"}, key)
        running.request("POST", "/trials/t/decisions", {"unit": "a", "context": "evening"}, key)
        shown = running.request("GET", "/trials/t/export", key=key)
        assert b"evening" in shown.body

        async def two() -> list[asgi.Reply]:
            asked = (running.asked("GET", "/trials/t/audit", key=key) for _ in range(2))
            return sorted(await asyncio.gather(*asked), key=lambda reply: reply.status)

        passed, refused = running.run(two())
        assert (passed.status, refused.status) == (200, 429)
        found = passed.json
        assert (found["passed"], found["decisions"], found["anchors"]) == (True, 1, 3)
        anchors.write_text("{}\n")
        failed = running.request("GET", "/trials/t/audit", key=key)
        assert (failed.status, failed.json["type"]) == (503, "urn:takeup:unavailable")
        assert failed.json["detail"] == "the audit failed; the service's own log says why"
        assert "an anchor that this key has signed" in caplog.text
    finally:
        running.close()


def test_audits_and_exports_wait_for_their_turn(
    api: Api, key: str, trial: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However short they are: one runs, eight wait, and further ones are told to come again."""
    released, running, most = threading.Event(), 0, 0

    def slow(call: Callable[..., Any]) -> Callable[..., Any]:
        def slowly(*given: Any, **named: Any) -> Any:
            nonlocal running, most
            running += 1
            most = max(most, running)
            released.wait(asgi.WAIT)
            running -= 1
            return call(*given, **named)

        return slowly

    monkeypatch.setattr(turn, "TURN_SECONDS", asgi.WAIT)
    for name in ("audit", "export"):
        monkeypatch.setattr(Trial, name, slow(getattr(Trial, name)))

    async def asked() -> list[asgi.Reply]:
        paths = [f"{trial}/{what}" for what in ("audit", "export") * 6]
        asking = [asyncio.create_task(api.asked("GET", path, key=key)) for path in paths]
        early: set[asyncio.Task[asgi.Reply]] = set()
        while len(early) < 3:
            done, _ = await asyncio.wait(set(asking) - early, timeout=60, return_when=asyncio.FIRST_COMPLETED)
            if not done:
                break
            early |= done
        released.set()
        await asyncio.wait(asking)
        assert {each.result().status for each in early} == {429}
        return [each.result() for each in asking]

    replies = api.run(asked())
    assert most == 1
    assert [reply.status for reply in sorted(replies, key=lambda reply: reply.status)] == [200] * 9 + [429] * 3
    assert {reply.headers.get("retry-after") for reply in replies if reply.status == 429} == {"5"}
    assert api.request("GET", f"{trial}/audit", key=key).status == 200


def test_who_waits_too_long_for_its_turn_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "TURN_SECONDS", 0.01)

    async def main() -> None:
        one = turn.Turn()
        async with one.taken(wait=False):
            for wait in (True, False):
                with pytest.raises(ProblemError, match="another audit or export is running"):
                    async with one.taken(wait=wait):
                        pass
        async with one.taken(wait=True):
            pass

    asyncio.run(main())
