"""Errors of one shape, and headers of every answer."""

import json
from collections.abc import Iterator

import pytest

import asgi
from asgi import SPEC, Api
from takeup.live import Trial
from takeup.service import Settings
from takeup.service.problem import MEDIA


@pytest.fixture
def api() -> Iterator[Api]:
    with asgi.api() as running:
        yield running


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


VISITS = {"kind": "count", "most": 50, "exposure": "days", "longest": 90}
WRONG = {
    "true": "outcome: got True, expected a text, or a whole number, or a number, or a table of keys and values",
    "[3]": "outcome: got [3], expected a text, or a whole number, or a number, or a table of keys and values",
    '{"events": 3.5, "exposure": 60}': "events: got 3.5, expected a whole number from 0 to 50",
    '{"events": -1, "exposure": 60}': "events: got -1, expected a whole number from 0 to 50",
    '{"events": true, "exposure": 60}': "outcome.events: got True, expected a whole number, or a number, or a text",
    '{"events": 3, "exposure": true}': "outcome.exposure: got True, expected a whole number, or a number, or a text",
    '{"event": 3, "exposure": 60}': (
        "outcome.event is not a key that this request has; leave it out, or correct its name"
    ),
    '{"events": 3}': "outcome: got {'events': 3}, expected events and exposure, as in {'events': 3, 'exposure': 90}",
    '{"events": 3, "exposure": "60 days"}': (
        "exposure: got '60 days', expected a number from 0 to 90 days; give the number alone, without a unit"
    ),
    "3": "outcome: got 3, expected events and exposure, as in {'events': 3, 'exposure': 90}",
}


def test_outcomes_that_are_none_are_refused_in_words_that_help(api: Api, key: str) -> None:
    spec = {"name": "visits", "space": {"proposals": 2, "outcomes": VISITS}, "policy": {"kind": "TS"}}
    assert api.request("POST", "/trials", spec, key).status == 201
    api.request("PUT", "/trials/visits/state", {"state": "running"}, key)
    api.request("POST", "/trials/visits/decisions", {"unit": "a"}, key)
    for outcome, words in WRONG.items():
        raw = f'{{"unit": "a", "outcome": {outcome}}}'.encode()
        reply = api.request("POST", "/trials/visits/reports", raw=raw, key=key)
        assert (reply.status, reply.json["detail"]) == (422, words)
    several = {"reports": [{"unit": "a"}, {"unit": "a", "outcome": False}]}
    batch = api.request("POST", "/trials/visits/reports/batch", several, key)
    assert batch.json["detail"].startswith("reports.1.outcome: got False, expected a text, or")
    for outcome in ('{"events": 3.0, "exposure": "60"}', '"3/60"', '{"events": "3", "exposure": 60.2}'):
        raw = f'{{"unit": "a", "outcome": {outcome}}}'.encode()
        assert api.request("POST", "/trials/visits/reports", raw=raw, key=key).status == 200


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
