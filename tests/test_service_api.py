"""The API as its users meet it: a trial's life, what blinded keys see, errors of one shape, limits."""

import asyncio
import csv
import io
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

import asgi
from asgi import SPEC, Api
from takeup.live import Trial, new_key
from takeup.service import Settings, create_app, keys, turn
from takeup.service.key_cache import KeyCache, Limiter
from takeup.service.middleware import LargeBodies, RequestLog
from takeup.service.problem import MEDIA, Refused
from takeup.service.routes import log as log_routes
from takeup.service.routes.reports import AT_ONCE
from takeup.service.service import Service
from takeup.store import Store
from takeup.trial import Ask, Decide

SEED = "5eed" * 16
MORNING = {"context": "morning"}


@pytest.fixture
def api() -> Iterator[Api]:
    with asgi.api() as running:
        yield running


@pytest.fixture
def key(api: Api) -> str:
    return api.key("decide", "report", "read-unblinded", "design")


@pytest.fixture
def trial(api: Api, key: str) -> str:
    """A trial that is running, at its path."""
    api.request("POST", "/trials?trial=t", {**SPEC, "name": "A trial", "rehearsal": True, "seed": SEED}, key)
    assert api.request("PUT", "/trials/t/state", {"state": "running"}, key).json["state"] == "running"
    return "/trials/t"


def test_a_trial_from_draft_to_stop(api: Api, key: str) -> None:
    made = api.request("POST", "/trials", {**SPEC, "rehearsal": True, "seed": 1}, key)
    assert (made.status, made.json["trial"], made.json["state"]) == (201, "tea-or-coffee", "draft")
    assert made.json["fallback"] == {"tea": 0.5, "coffee": 0.5}
    path = "/trials/tea-or-coffee"
    early = api.request("POST", f"{path}/decisions", {"unit": "a", "context": "morning"}, key)
    assert (early.status, early.json["type"]) == (409, "urn:takeup:state")
    changed = api.request("PUT", f"{path}/spec", {**SPEC, "rehearsal": True, "burn_in": 7}, key)
    assert changed.json["spec"]["burn_in"] == 7
    assert api.request("PUT", f"{path}/state", {"state": "running"}, key).status == 200
    assert api.request("PUT", f"{path}/spec", SPEC, key).json["type"] == "urn:takeup:state"
    decision = api.request("POST", f"{path}/decisions", {"unit": "a", "context": "morning"}, key).json
    assert set(decision) == {"trial", "number", "unit", "occasion", "context", "proposal", "at"}
    assert api.request("POST", f"{path}/decisions", {"unit": "a", "context": "morning"}, key).json == decision
    receipt = api.request("POST", f"{path}/reports", {"decision": 1, "implemented": "tea"}, key)
    assert receipt.json == {"sequence": 6, "decision": 1, "corrected": []}
    api.request("POST", f"{path}/reports", {"unit": "a", "missing": ["outcome"]}, key)
    changed = api.request("POST", f"{path}/reports", {"unit": "a", "outcome": "good", "reason": "it turned up"}, key)
    assert changed.json["corrected"] == ["outcome"]
    assert api.request("PUT", f"{path}/state", {"state": "paused", "reason": "a holiday"}, key).status == 200
    assert api.request("PUT", f"{path}/state", {"state": "stopped"}, key).status == 200
    assert api.request("PUT", f"{path}/state", {"state": "running"}, key).json["type"] == "urn:takeup:state"
    progress = api.request("GET", f"{path}/progress", key=key).json
    assert (progress["decisions"], progress["outcomes_counted"], progress["corrections"]) == (1, 1, 1)
    assert api.request("GET", f"{path}/audit", key=key).json["passed"] is True
    log = api.request("GET", f"{path}/events", key=key).json["events"]
    assert [each["kind"] for each in log[:4]] == ["created", "amended", "moved", "decided"]
    assert log[3]["event"]["by"].startswith("decide/report")


def test_a_spec_in_toml(api: Api, key: str) -> None:
    text = 'name = "from toml"\n[space]\nproposals = 2\n[policy]\nkind = "TS"\n'
    made = api.request("POST", "/trials", key=key, raw=text.encode(), headers={"content-type": "application/toml"})
    assert (made.status, made.json["trial"]) == (201, "from-toml")
    wrong = api.request("POST", "/trials", key=key, raw=b"name = ", headers={"content-type": "application/toml"})
    assert (wrong.status, wrong.json["type"]) == (400, "urn:takeup:malformed")
    assert api.request("POST", "/trials", key=key, raw=b"<a/>", headers={"content-type": "text/xml"}).status == 415


def test_a_trial_that_is_to_be_anchored_is_refused_where_nothing_anchors(api: Api, key: str) -> None:
    """And told why: 503 would say that it may be tried again."""
    reply = api.request("POST", "/trials?trial=strict", {**SPEC, "anchored": True}, key=key)
    assert (reply.status, reply.json["argument"]) == (422, "spec: anchored")
    assert "--anchors" in reply.json["detail"]


def test_batches(api: Api, key: str, trial: str) -> None:
    units = [{"unit": f"u{i}", "context": "morning"} for i in range(50)]
    headers = {"Idempotency-Key": "b"}
    made = api.request("POST", f"{trial}/decisions/batch", {"units": units}, key, headers=headers).json["decisions"]
    assert [each["number"] for each in made] == list(range(1, 51))
    again = api.request("POST", f"{trial}/decisions/batch", {"units": units}, key, headers=headers)
    assert again.json["decisions"] == made
    reports = [{"decision": 1, "outcome": "good"}, {"decision": 99, "outcome": "good"}, {"decision": 1, "outcome": 0}]
    results = api.request("POST", f"{trial}/reports/batch", {"reports": reports}, key, headers={"Idempotency-Key": "r"})
    assert results.status == 200
    first, second, third = results.json["results"]
    assert first["receipt"]["decision"] == 1
    assert second["problem"]["status"] == 404
    assert third["problem"]["type"] == "urn:takeup:conflict"
    again = api.request("POST", f"{trial}/reports/batch", {"reports": reports}, key, headers={"Idempotency-Key": "r"})
    assert again.json["results"][0] == first
    assert api.request("GET", f"{trial}/progress", key=key).json["sequence"] == 2 + 50 + 1 + 1


def test_a_batch_of_reports_leaves_room_for_others(
    api: Api, key: str, trial: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few are handed in at a time, in their order, under the keys of their places."""
    api.request("POST", f"{trial}/decisions/batch", {"units": [{"unit": f"u{i}"} | MORNING for i in range(1_000)]}, key)
    queued, most, submit = 0, 0, Service.submit

    async def counting(*asked: Any) -> Any:
        nonlocal queued, most
        queued += 1
        most = max(most, queued)
        try:
            return await submit(*asked)
        finally:
            queued -= 1

    monkeypatch.setattr(Service, "submit", counting)
    reports = [{"decision": i, "outcome": "good"} for i in range(1, 1_001)]
    made = api.request("POST", f"{trial}/reports/batch", {"reports": reports}, key, headers={"Idempotency-Key": "r"})
    assert most == AT_ONCE
    assert [each["receipt"]["decision"] for each in made.json["results"]] == list(range(1, 1_001))
    again = api.request("POST", f"{trial}/reports", reports[998], key, headers={"Idempotency-Key": "r/998"})
    assert again.json == made.json["results"][998]["receipt"]


def test_the_same_key_with_another_body_is_refused(api: Api, key: str, trial: str) -> None:
    def ask(path: str, body: object) -> int:
        return api.request("POST", f"{trial}/{path}", body, key, headers={"Idempotency-Key": "k"}).status

    assert ask("decisions", {"unit": "a", "context": "morning"}) == 200
    assert ask("decisions", {"unit": "b", "context": "morning"}) == 422
    assert ask("reports", {"decision": 1, "outcome": "good"}) == 422
    assert ask("decisions/batch", {"units": [{"unit": "a", "context": "morning"}]}) == 422
    assert ask("decisions", {"unit": "a", "context": "morning"}) == 200


def test_a_trial_whose_name_ends_in_a_newline_is_no_name(api: Api, key: str, trial: str) -> None:
    for route in ("decisions", "decisions/batch"):  # the second goes the longer way
        wrong = api.request("POST", f"{trial}%0A/{route}", {"unit": "a", "context": "morning"}, key)
        assert (wrong.status, wrong.json["argument"]) == (422, "trial")


def test_what_nobody_waits_for_any_more_is_not_written(api: Api, key: str, trial: str) -> None:
    """A request that is cancelled while the database is held up has no effect, and its key is free again."""
    began, release, service = threading.Event(), threading.Event(), api.app.state.service

    def hold(_: object) -> bool:
        began.set()
        return release.wait(30)

    held = api.store.write(hold)
    assert began.wait(30)
    command = Decide(ask=Ask(unit="a", context="morning"), key="k")

    async def give_up() -> None:
        waiting = asyncio.create_task(service.submit("t", command, "k"))
        while not service.flights:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting

    try:
        api.run(give_up())
    finally:
        release.set()
    assert held.result(30)
    made = api.request("POST", f"{trial}/decisions", {"unit": "b", "context": "morning"}, key)
    assert made.json["number"] == 1
    assert not service.flights


def test_errors_read_as_sentences(api: Api, key: str, trial: str) -> None:
    """What is missing is said to be so, and no word is pydantic's."""

    def said(path: str, body: object) -> str:
        refused = api.request("POST", path, body, key)
        assert refused.status == 422
        return str(refused.json["detail"])

    api.request("POST", f"{trial}/decisions", {"unit": "a", "context": "morning"}, key)
    empty = "the report is empty: give implemented or outcome, or name in missing what will never be known"
    assert said(f"{trial}/reports", {"decision": 1}) == empty
    floors = {**SPEC, "limits": {"floor": 0.6}}
    assert said("/trials?trial=u", floors) == "spec: limits: the floors sum to 1.2, more than 1; lower them"
    for route in ("decisions", "decisions/batch"):
        missing = said(f"{trial}/{route}", {"units": [{"context": "morning"}]} if "batch" in route else {})
        assert missing.endswith("unit is missing; expected a value")
    assert said(f"{trial}/decisions", {"unit": "b"}) == "context is missing; expected one of morning, evening"
    assert said(f"{trial}/decisions", {"unit": ""}) == "unit: got '', expected at least 1 character"
    assert said(f"{trial}/decisions", {"unit": 3}) == "unit: got 3, expected a text"
    mistyped = said(f"{trial}/decisions", {"unit": "b", "contxt": "morning"})
    assert mistyped == "contxt is not a key that this request has; leave it out, or correct its name"
    many = said(f"{trial}/reports", {"decision": 1, "missing": ["outcome"] * 3})
    assert many == "missing: got ['outcome', 'outcome', 'outcome'], expected at most 2 items"


def test_a_key_in_flight_is_refused(api: Api, key: str, trial: str) -> None:
    """The database is held up, so that the first request is on its way while the second comes."""
    begun, gate = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        begun.set()
        gate.wait(300)

    held = api.store.write(hold)
    assert begun.wait(300)
    headers = {"Idempotency-Key": "k"}
    body = {"unit": "a", "context": "morning"}

    async def both() -> tuple[asgi.Reply, asgi.Reply]:
        first = asyncio.ensure_future(api.asked("POST", f"{trial}/decisions", body, key, headers=headers))
        while not api.app.state.service.flights:
            await asyncio.sleep(0.001)
        second = await api.asked("POST", f"{trial}/decisions", body, key, headers=headers)
        gate.set()
        return await first, second

    first, second = api.run(both())
    held.result()
    assert first.status == 200
    assert (second.status, second.json["type"]) == (409, "urn:takeup:in-flight")
    assert second.headers["retry-after"] == "1"
    third = api.request("POST", f"{trial}/decisions", body, key, headers=headers)
    assert third.json == first.json
    assert not api.app.state.service.flights


def test_blinded_keys_see_no_arm_and_nobody_sees_the_seed(api: Api, key: str, trial: str) -> None:
    """All that a blinded reader can ask for, before and after the stop, names no arm, outcome, probability or hash."""
    blinded = api.key("read-blinded")
    for i in range(30):
        decision = api.request("POST", f"{trial}/decisions", {"unit": f"u{i}", "context": "evening"}, key).json
        report = {"decision": decision["number"], "implemented": decision["proposal"], "outcome": i % 2}
        api.request("POST", f"{trial}/reports", report, key)
    reading = ["progress", "summary", "course", "events?limit=1000", "events?kind=reported", "audit"]
    reading += [f"export?format={kind}" for kind in ("csv", "jsonl", "parquet")]
    for state in ("running", "stopped"):
        api.request("PUT", f"{trial}/state", {"state": state}, key)
        hashes = [each["hash"] for each in api.request("GET", f"{trial}/events?limit=1000", key=key).json["events"]]
        for path in reading:
            reply = api.request("GET", f"{trial}/{path}", key=blinded)
            if path in ("summary", "course"):
                assert reply.status == 403
                continue
            assert reply.status == 200
            text = reply.body.decode("latin-1")
            if path == "export?format=parquet":
                frame = pl.read_parquet(io.BytesIO(reply.body))
                text = frame.write_json()
                assert frame.height == 30
            for word in ("tea", "coffee", "good", "bad", "probabilit", SEED, *hashes):
                assert word not in text, (path, word)
            whole = api.request("GET", f"{trial}/{path}", key=key).body.decode("latin-1")
            assert (SEED in whole) == (state == "stopped" and path == "events?limit=1000")


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
        found = running.request("GET", "/trials/t/audit", key=key).json
        assert (found["passed"], found["decisions"], found["anchors"]) == (True, 1, 3)
        shown = running.request("GET", "/trials/t/export", key=key)
        assert b"evening" in shown.body

        async def two() -> list[int]:

            asked = (running.asked("GET", "/trials/t/audit", key=key) for _ in range(2))
            return sorted(reply.status for reply in await asyncio.gather(*asked))

        assert running.run(two()) == [200, 429]
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
                with pytest.raises(Refused, match="another audit or export is running"):
                    async with one.taken(wait=wait):
                        pass
        async with one.taken(wait=True):
            pass

    asyncio.run(main())


def test_errors_have_one_shape(api: Api, key: str, trial: str) -> None:
    cases = {
        400: ("POST", f"{trial}/decisions", b"{"),
        401: ("GET", "/trials", None),
        403: ("GET", "/keys", None),
        404: ("GET", "/trials/none", None),
        405: ("PATCH", "/trials", None),
        409: ("PUT", f"{trial}/spec", json.dumps(SPEC).encode()),
        422: ("POST", f"{trial}/decisions", b'{"unit": "a", "context": "noon"}'),
    }
    for status, (method, path, raw) in cases.items():
        reply = api.request(method, path, raw=raw, key=None if status == 401 else key)
        assert reply.status == status
        assert reply.headers["content-type"] == MEDIA
        problem = reply.json
        assert problem["status"] == status
        assert {"type", "title", "detail"} <= set(problem)
    assert problem["argument"] == "context"
    assert problem["value"] == "'noon'"
    assert "morning" in problem["allowed"]
    missing = api.request("POST", f"{trial}/decisions", {}, key).json
    assert (missing["argument"], missing["value"]) == ("unit", "nothing")
    unknown = api.request("POST", f"{trial}/decisions", {"unit": "a", "contxt": 1}, key).json
    assert unknown["argument"] == "contxt"
    page = api.request("GET", f"{trial}/events?limit=0", key=key).json
    assert (page["argument"], page["value"]) == ("limit", "'0'")


def test_what_is_not_foreseen_is_a_500_that_says_nothing(
    api: Api, key: str, trial: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("the cause")

    monkeypatch.setattr(Trial, "progress", fail)
    reply = api.request("GET", f"{trial}/progress", key=key, headers={"X-Request-ID": "abc.1"})
    assert (reply.status, reply.json["type"]) == (500, "urn:takeup:internal")
    assert b"cause" not in reply.body
    assert reply.headers["x-request-id"] == "abc.1"
    assert "request abc.1 failed" in caplog.text


def test_every_answer_has_an_id_and_safe_headers(api: Api, key: str) -> None:
    seen = set()
    for method, path, given in (
        ("GET", "/health", {}),
        ("GET", "/nowhere", {}),
        ("GET", "/trials", {"X-Request-ID": "é"}),
    ):
        reply = api.request(method, path, key=key, headers=given)
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert "strict-transport-security" not in reply.headers
        seen.add(reply.headers["x-request-id"])
    assert len(seen) == 3
    with asgi.api(settings=Settings(behind_proxy=True, host="0.0.0.0")) as proxied:
        assert "strict-transport-security" in proxied.request("GET", "/health").headers


def test_limits_of_body_and_rate(api: Api, trial: str, key: str) -> None:
    huge = b'{"unit": "' + b"a" * 2_000_000 + b'"}'
    for headers in ({}, {"content-length": str(len(huge))}):
        reply = api.request("POST", f"{trial}/decisions", raw=huge, key=key, headers=headers)
        assert (reply.status, reply.json["type"]) == (413, "urn:takeup:too-large")
    with asgi.api(settings=Settings(rate=0.5, burst=3)) as slow:
        one, other = slow.key("design"), slow.key("design")
        assert [slow.request("GET", "/trials", key=one).status for _ in range(4)] == [200, 200, 200, 429]
        refused = slow.request("GET", "/trials", key=one)
        assert (refused.json["type"], refused.headers["retry-after"]) == ("urn:takeup:too-many", "2")
        assert slow.request("GET", "/trials", key=other).status == 200


def test_a_bucket_fills_again() -> None:
    """Two tokens a second, three at most: after 3 requests at once, the fourth waits half a second."""
    at = 0.0
    limiter = Limiter(rate=2, burst=3, clock=lambda: at)
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    at = 0.5
    assert [limiter.wait("a") for _ in range(2)] == [0, 0.5]
    at = 100.0
    assert [limiter.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]


def test_too_much_waiting_is_turned_away(trial: str, api: Api, key: str) -> None:

    gate = threading.Event()
    object.__setattr__(api.app.state.service, "settings", Settings(queue_limit=1))
    held = api.store.write(lambda _: gate.wait(300))
    while api.store.queued:  # until the writer has taken it
        pass
    waiting = api.store.write(lambda _: None)
    try:
        refused = api.request("POST", f"{trial}/decisions", {"unit": "a", "context": "morning"}, key)
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
        assert api.request("GET", "/health").status == 200
    finally:
        gate.set()
    held.result()
    waiting.result()
    assert api.request("POST", f"{trial}/decisions", {"unit": "a", "context": "morning"}, key).status == 200


def test_metrics_are_what_prometheus_reads(api: Api, key: str, trial: str) -> None:
    api.request("POST", f"{trial}/decisions", {"unit": "a", "context": "morning"}, key)
    api.request("GET", "/trials/none", key=key)
    reply = api.request("GET", "/metrics", key=key)
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(reply.body.decode())
        for sample in family.samples
    }
    labels = (("method", "POST"), ("route", "/trials/{trial}/decisions"))
    assert samples["takeup_requests_total", *labels, ("status", "200")] == 1
    assert samples["takeup_request_seconds_count", *labels] == 1
    assert samples["takeup_requests_running",] == 1
    assert samples["takeup_queued",] == 0


def test_keys_are_kept_as_hashes_and_read_once(tmp_path: Path) -> None:
    at, reads = 0.0, 0
    with Store(tmp_path / "t.db") as store:
        key, token = keys.new("x", ["decide"], at=1)
        keys.add(store, key)
        assert token.encode() not in (tmp_path / "t.db").read_bytes() + (tmp_path / "t.db-wal").read_bytes()
        assert token not in repr(key)

        look = store.read

        def counted(*given: object) -> object:
            nonlocal reads
            reads += 1
            return look(*given)  # type: ignore[arg-type]

        store.read = counted  # type: ignore[method-assign, assignment]

        async def use() -> None:
            nonlocal at
            cache = KeyCache(store, pool, 2.0, clock=lambda: at)
            for _ in range(100):
                assert await cache.find(token) == key
                assert await cache.find(token[:-1]) is None
                assert await cache.find("takeup_000000000000_x") is None
            assert reads == 1
            keys.revoke(store, key.id, at=5)
            assert await cache.find(token) == key  # another process revoked it: this one learns it within seconds
            at = 2.1
            assert await cache.find(token) is None
            assert reads == 2

        with ThreadPoolExecutor(1) as pool:
            asyncio.run(use())


def test_the_first_key_is_made_once(database: str) -> None:
    with Store(database) as one, Store(database) as other:
        made = [keys.add_first(store) for store in (one, other, one)]
        assert [token is None for token in made] == [False, True, True]
        assert [key.scopes for key in one.read(keys.load).values()] == [keys.SCOPES]


def _scope(path: str, key: str | None) -> dict[str, object]:
    headers = [(b"content-type", b"application/json")]
    if key is not None:
        headers.append((b"authorization", f"Bearer {key}".encode()))
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    return {**scope, "http_version": "1.1", "scheme": "http", "root_path": "", "server": ("x", 1), "client": ("x", 1)}


@pytest.mark.parametrize("path", ["/trials/t/decisions", "/trials/t/decisions/batch", "/trials", "/keys"])
def test_a_client_that_goes_away_is_no_error_of_the_service(path: str, caplog: pytest.LogCaptureFixture) -> None:
    out = io.StringIO()
    with Store("sqlite://") as store:
        api = Api(create_app(asgi.GENEROUS, store, RequestLog(out)))
        key = api.key("decide", "design", "admin")
        said = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]

        async def receive() -> object:
            return said.pop(0)

        async def send(_: object) -> None:
            raise AssertionError("nobody is there")

        api.run(api.app(_scope(path, key), receive, send))  # type: ignore[arg-type]
        metrics = api.request("GET", "/metrics", key=key).body.decode()
        api.close()
    line = json.loads(out.getvalue().splitlines()[0])
    assert (line["status"], line["problem"]) == (499, "gone")
    assert f'route="{line["route"]}",status="499"' in metrics
    assert "failed" not in caplog.text


def test_a_body_is_not_read_before_the_key_is_known(api: Api, key: str) -> None:
    async def receive() -> object:
        raise AssertionError("it was read")

    sent: list[dict[str, int]] = []

    async def send(message: dict[str, int]) -> None:
        sent.append(message)

    for path in ("/trials/t/decisions", "/trials/t/decisions/batch", "/trials", "/keys", "/app/new", "/nowhere"):
        api.run(api.app(_scope(path, None), receive, send))  # type: ignore[arg-type]
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

            async def receive() -> object:
                if len(parts) == 1:
                    began.set()
                    await go_on.wait()
                part = parts.pop(0)
                return {"type": "http.request", "body": part, "more_body": bool(parts)}

            sent: list[dict[str, int]] = []

            async def send(message: dict[str, int]) -> None:
                sent.append(message)

            first = asyncio.create_task(api.app(_scope(path, key), receive, send))  # type: ignore[arg-type]
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
    with pytest.raises(Refused, match="too many large bodies"):
        bodies.take("one", 6)
    for other in ("two", "three", "four", "five"):
        bodies.take(other, 20)
    with pytest.raises(Refused, match="too many large bodies"):
        bodies.take("six", 1)
    bodies.release("one", 20)
    bodies.take("one", 20)
