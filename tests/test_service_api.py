"""The API as its users meet it: a trial's life, batches, idempotency keys, what blinded keys see, metrics."""

import asyncio
import io
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import polars as pl
import pytest
from prometheus_client.parser import text_string_to_metric_families

import asgi
from asgi import SEED, SPEC, Api
from takeup.service import Settings
from takeup.service.routes.reports import AT_ONCE
from takeup.service.service import Service
from takeup.trial import Ask, Decide

MORNING = {"context": "morning"}


@pytest.fixture
def api() -> Iterator[Api]:
    with asgi.api() as running:
        yield running


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


def test_a_draft_takes_over_a_running_trial(api: Api, key: str) -> None:
    api.request("POST", "/trials?trial=over", SPEC, key)
    first: dict[str, Any] = {
        "unit": "p1",
        "context": "morning",
        "proposal": "tea",
        "implemented": "coffee",
        "outcome": "good",
    }
    past = [first | {"probability": [0.25, 0.75], "decided": 1_000}, {**MORNING, "unit": "p2", "proposal": "coffee"}]
    path = "/trials/over/past"
    ways: list[tuple[dict[str, Any], str]] = [
        ({"proposal": "milk"}, "past: unit 'p2', proposal"),
        ({"unit": "p1"}, "unit 'p1' is among the past assignments twice"),
        ({"decided": 999}, "past: unit 'p2'"),
        ({"probability": [1.0, 0.0]}, "a positive one of what was assigned"),
        ({"outcome": "fine"}, "past: unit 'p2', outcome"),
    ]
    for wrong, told in ways:
        refused = api.request("POST", path, {"past": [past[0], past[1] | wrong]}, key)
        assert 400 <= refused.status < 500
        assert told in refused.json["detail"]
    assert api.request("GET", "/trials/over/progress", key=key).json["decisions"] == 0
    for _ in range(2):
        done = api.request("POST", path, {"past": past}, key, headers={"idempotency-key": "over"})
        assert (done.status, done.json) == (200, {"past": 2})
    assert api.request("POST", path, {"past": past}, key).json["type"] == "urn:takeup:conflict"
    progress = api.request("GET", "/trials/over/progress", key=key).json
    assert (progress["decisions"], progress["past"], progress["outcomes_counted"]) == (2, 2, 1)
    api.request("PUT", "/trials/over/state", {"state": "running"}, key)
    assert api.request("POST", path, {"past": past}, key).json["type"] == "urn:takeup:state"
    standing = api.request("POST", "/trials/over/decisions", {"unit": "p2", **MORNING}, key).json
    assert (standing["number"], standing["proposal"]) == (2, "coffee")
    found = api.request("GET", "/trials/over/audit", key=key).json
    assert (found["passed"], found["past"]) == (True, 2)
    page = api.request("GET", "/trials/over/events?kind=taken%20over", key=key).json["events"]
    assert [each["event"]["unit"] for each in page] == ["p1", "p2"]
    assert ["key" in each["event"] for each in page] == [True, False]


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


@pytest.mark.requirement("R-4.2")
def test_blinded_keys_see_no_arm_and_nobody_sees_the_seed(api: Api, key: str, trial: str) -> None:
    """All that a blinded reader can ask for, before and after the stop, names no arm, outcome, probability or hash."""
    blinded = api.key("read-blinded")
    for i in range(30):
        decision = api.request("POST", f"{trial}/decisions", {"unit": f"u{i}", "context": "evening"}, key).json
        report = {"decision": decision["number"], "implemented": decision["proposal"], "outcome": i % 2}
        api.request("POST", f"{trial}/reports", report, key)
    reading = ["progress", "summary", "course", "learnt", "events?limit=1000", "events?kind=reported", "audit"]
    reading += [f"export?format={kind}" for kind in ("csv", "jsonl", "json", "parquet")]
    for state in ("running", "stopped"):
        api.request("PUT", f"{trial}/state", {"state": state}, key)
        hashes = [each["hash"] for each in api.request("GET", f"{trial}/events?limit=1000", key=key).json["events"]]
        for path in reading:
            reply = api.request("GET", f"{trial}/{path}", key=blinded)
            if path in ("summary", "course", "learnt"):
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
