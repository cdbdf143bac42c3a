"""Hostile input gets a 4xx and leaves no trace."""

import copy
import json
import threading
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, text

import asgi
from asgi import SPEC, Api
from takeup.service import fast_routes
from takeup.service.body import MOST_DEPTH, MOST_KEYS, MOST_VALUES, READ_AT_ONCE, parse_json, parse_toml
from takeup.service.problem import ProblemError
from takeup.service.routes.decisions import UnitsAsked
from takeup.service.routes.reports import ReportsMade
from takeup.store import reading

KEY = "decide", "report", "design", "admin", "read-unblinded"
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("POST", "/trials"): {**SPEC, "name": "another", "description": "x", "rehearsal": True, "seed": 5},
    ("PUT", "/trials/draft/spec"): {**SPEC, "limits": {"floor": 0.1}, "fallback": {"tea": 0.5, "coffee": 0.5}},
    ("PUT", "/trials/t/state"): {"state": "paused", "reason": "x"},
    ("POST", "/trials/t/decisions"): {"unit": "new", "context": "morning"},
    ("POST", "/trials/t/decisions/batch"): {"units": [{"unit": "new", "context": "morning"}]},
    ("POST", "/trials/t/fallbacks"): {"unit": "new", "context": "morning", "proposal": "tea"},
    ("POST", "/trials/t/reports"): {"unit": "a", "implemented": "tea", "outcome": "good", "reason": "x"},
    ("POST", "/keys"): {"name": "new", "scopes": ["decide"], "trials": ["t"], "site": "north"},
}
"""A body for each operation that takes one; as it stands it would be taken."""

NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" * 5_000, "-" + "9" * 400]
TEXTS = [r'"\u0000"', r'"a\u0000b"', r'"\ud800"', r'"\udfff\ud800"', r'"\ud83d"', '"\x00"', '"\x1f"', '"']
WRECKS = [b"", b"nul", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"{'a': 1}", b"{} {}"]
WRECKS += [
    b"[" * 100_000 + b"]" * 100_000,
    b'{"a":' * 100_000,
    b'{"unit": "\xc3\x28"}',
    '{"unit": "a"}'.encode("utf-16"),
]


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with asgi.api() as running:
        _furnish(running)
        yield running


def _furnish(running: Api) -> str:
    """A running trial with a decision, and a draft."""
    key = running.key(*KEY)
    for trial in ("t", "draft"):
        running.request("POST", f"/trials?trial={trial}", SPEC, key)
    running.request("PUT", "/trials/t/state", {"state": "running"}, key)
    running.request("POST", "/trials/t/decisions", {"unit": "a", "context": "morning"}, key)
    return key


@pytest.fixture(scope="module")
def key(api: Api) -> str:
    return api.key(*KEY)


def contents(api: Api) -> dict[str, list[Any]]:
    """All rows of all tables."""

    def look(connection: Connection) -> dict[str, list[Any]]:
        names = reading.tables(connection)
        return {name: [tuple(row) for row in connection.execute(text(f"SELECT * FROM {name}"))] for name in names}

    return api.store.read(look)


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a body has values."""
    yield path
    for name, value in body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ():
        yield from places(value, (*path, name))


def hostile(body: dict[str, Any]) -> Iterator[bytes]:
    """The body with one value replaced, in every place; with keys twice; or not a body at all."""
    mark = "\N{SNOWMAN}"
    for place in places(body):
        if not place:
            continue
        broken = copy.deepcopy(body)
        inside = broken
        for step in place[:-1]:
            inside = inside[step]
        inside[place[-1]] = mark
        whole = json.dumps(broken, ensure_ascii=False)
        for value in (*NUMBERS, *TEXTS, "[" * 40 + "]" * 40, '{"a": {"b": []}}', "[[[]]]", "true"):
            raw = whole.replace(f'"{mark}"', value)
            if raw != json.dumps(body, ensure_ascii=False):
                yield raw.encode()
        inside.pop(place[-1])
        if isinstance(inside, dict):
            name, value = json.dumps(place[-1]), "1"
            yield json.dumps(broken).replace("{", f"{{{name}: {value}, {name}: {value}, ", 1).encode()
    yield from WRECKS
    yield json.dumps({**body, "unknown": 1}).encode()
    yield json.dumps({**body, "\0": 1}).encode()
    yield b'{"' + b"a" * 10_000_000 + b'": 1}'


@pytest.mark.requirement("R-9.1")
@pytest.mark.parametrize(("method", "path"), BODIES)
def test_hostile_bodies_are_refused_and_leave_no_trace(api: Api, key: str, method: str, path: str) -> None:
    before, tried = contents(api), 0
    for raw in hostile(BODIES[method, path]):
        reply = api.request(method, path, raw=raw, key=key)
        assert 400 <= reply.status < 500, (raw[:300], reply.body[:500])
        assert reply.json["status"] == reply.status
        assert reply.json["type"] != "urn:takeup:unauthenticated"
        assert contents(api) == before, raw[:300]
        tried += 1
    assert tried > 30


def test_the_bodies_as_they_stand_are_taken() -> None:
    """Else the test above would find nothing."""
    with asgi.api() as fresh:
        key = _furnish(fresh)
        for (method, path), body in BODIES.items():
            reply = fresh.request(method, path, body, key)
            assert reply.status < 300, reply.body
            if path == "/trials/t/state":
                fresh.request("PUT", path, {"state": "running"}, key)


@pytest.mark.parametrize("value", ["\0", "a\0", "\x1f", "é\x7f", "x" * 181, "", "x" * 100_000])
def test_hostile_idempotency_keys(api: Api, key: str, value: str) -> None:
    before = contents(api)
    for path in ("decisions", "decisions/batch", "reports", "reports/batch", "fallbacks"):
        body = (
            BODIES["POST", f"/trials/t/{path}"]
            if path != "reports/batch"
            else {"reports": [{"unit": "a", "outcome": 1}]}
        )
        reply = api.request("POST", f"/trials/t/{path}", body, key, headers={"Idempotency-Key": value})
        if path == "reports/batch" and reply.status == 200:
            assert [each["problem"]["status"] for each in reply.json["results"]] == [422]
        else:
            assert (path, reply.status) == (path, 422)
        assert contents(api) == before


@pytest.mark.requirement("R-9.1")
@pytest.mark.parametrize(
    "name", ["%00", "..", "T", "a" * 65, "%ff", "%F0%9F%92%A9", "a%2Fb", "'--", "%0d%0aX-Y:1", "-a"]
)
def test_hostile_names_in_paths(api: Api, key: str, name: str) -> None:
    before = contents(api)
    for method, path in (*BODIES, ("GET", "/trials/t/progress"), ("GET", "/trials/t"), ("GET", "/trials/t/export")):
        if "/t/" not in path:
            continue
        reply = api.request(method, path.replace("/t/", f"/{name}/"), BODIES.get((method, path)), key)
        assert reply.status in (404, 422)
    assert api.request("POST", f"/trials?trial={name}", SPEC, key).status == 422
    assert api.request("DELETE", f"/keys/{name}", key=key).status in (404, 405, 422)
    assert contents(api) == before


@pytest.mark.requirement("R-9.1")
@pytest.mark.parametrize(
    "query",
    [
        "after=-1",
        "after=1e400",
        "limit=1001",
        "limit=NaN",
        "decision=0",
        "decision=" + "9" * 400,
        "kind=%00",
        "backwards=2",
    ],
)
def test_hostile_queries(api: Api, key: str, query: str) -> None:
    assert api.request("GET", f"/trials/t/events?{query}", key=key).status == 422


def test_a_space_too_large_to_build_is_never_built(api: Api, key: str) -> None:
    for space in (
        {"proposals": 10**12},
        {"proposals": 2, "contexts": 10**9},
        {"proposals": 90_000, "contexts": 90_000},
    ):
        assert api.request("POST", "/trials", {**SPEC, "space": space}, key).status == 422
    many = {**SPEC, "space": {"proposals": 100}, "draws": 1_000_000}
    assert api.request("POST", "/trials", many, key).status == 422


def test_texts_that_look_like_escapes_are_fine() -> None:
    assert parse_json(rb'{"a": "\\u0000 \\ud800 \u00e9 \ud83d\ude00"}') == {"a": "\\u0000 \\ud800 é \N{GRINNING FACE}"}
    assert parse_json(b'{"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["}')["a"][0] == "["


def test_depth_is_what_counts_not_brackets() -> None:
    assert len(parse_json(json.dumps([[i] for i in range(10_000)]).encode())) == 10_000
    parse_json(b"[" * MOST_DEPTH + b"]" * MOST_DEPTH)
    for deep in (b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1), b'{"a":' * (MOST_DEPTH + 1)):
        with pytest.raises(ProblemError, match="nested"):
            parse_json(deep)


@pytest.mark.parametrize(
    "body",
    [
        *("a = nan", "a = inf", "a = 1979-05-27", "a = " + "[" * 40 + "]" * 40, ".".join("a" * 900) + " = 1"),
        *("a = 1\na = 2", 'a = "\\u0000"', "a = 0x" + "f" * 5_000, "a = " + "9" * 5_000, "a"),
    ],
)
def test_toml_says_no_more_than_json_can(body: str) -> None:
    with pytest.raises(ProblemError):
        parse_toml(body.encode())


@pytest.mark.parametrize(
    "body",
    [
        ".".join("a" * 50_000) + " = 1",
        " . ".join("a" * 9) + " = 1",
        "[" + ".".join("a" * 50_000) + "]",
        "a = {" + ".".join(['"a"', "'b'", "c"] * 3) + " = 1}",
        "a = '''#'''\n" + ".".join("a" * 9) + " = 1",
        "x" * 256_001 + " = 1",
    ],
)
def test_toml_that_takes_long_is_refused_before_it_is_read(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes the cube of a key's parts: 40 s for a key of 100 kB."""
    monkeypatch.setattr(tomllib, "loads", _never)
    with pytest.raises(ProblemError, match=r"parts|bytes of TOML"):
        parse_toml(body.encode())


def test_dots_that_are_not_in_keys_are_fine() -> None:
    floats, text = [0.5] * 40, ". " * 40
    body = f'a = {floats}  # {text}\nb = "{text}\\""\nc = \'\'\'\n{text}\'\'\'\nd = """{text}\\""""""\ne.f.g = 1.5'
    assert parse_toml(body.encode()) == {
        "a": floats,
        "b": text + '"',
        "c": text,
        "d": text + '"""',
        "e": {"f": {"g": 1.5}},
    }


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"1," * MOST_VALUES + b"1]",
        b"[" + b"{}," * MOST_VALUES + b"1]",
        b"[" + b'"",' * 4 * MOST_VALUES + b"1]",
        b"[" * MOST_VALUES * 3,
    ],
)
def test_more_values_than_any_request_has_are_refused_before_they_are_read(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json, "loads", _never)
    with pytest.raises(ProblemError, match=r"values|deep"):
        parse_json(body)


def test_as_many_values_as_a_batch_has_are_fine() -> None:
    report = {
        "decision": 1,
        "unit": "u, [",
        "occasion": "o",
        "implemented": 1,
        "outcome": 1,
        "missing": [],
        "reason": ",",
    }
    assert len(parse_json(json.dumps({"reports": [report] * 10_000}).encode())["reports"]) == 10_000
    with pytest.raises(ProblemError, match="keys"):
        parse_json(json.dumps(dict.fromkeys(map(str, range(MOST_KEYS + 1)))).encode())


@pytest.mark.parametrize(("model", "name"), [(UnitsAsked, "units"), (ReportsMade, "reports")])
def test_the_first_error_of_a_batch_ends_its_validation(model: type[Any], name: str) -> None:
    """10,000 wrong units with 20 unknown keys each would be 200,000 errors, which take a second to write down."""
    wrong = {str(i): 1 for i in range(20)}
    with pytest.raises(ValidationError) as error:
        TypeAdapter(model).validate_python({name: [wrong] * 9_999})
    assert error.value.error_count() <= 21


def test_large_bodies_are_read_beside_the_loop_one_at_a_time(
    api: Api, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []

    def noted(body: bytes) -> Any:
        threads.append(threading.current_thread().name)
        return parse_json(body)

    monkeypatch.setattr(fast_routes, "parse_json", noted)
    for size in (10, READ_AT_ONCE + 1, READ_AT_ONCE + 2):
        body = b'{"units": []}' + b" " * size
        assert api.request("POST", "/trials/t/decisions/batch", raw=body, key=key).status == 422
    assert threads[1:] == ["takeup-bodies_0"] * 2
    assert threads[0] not in threads[1:]


def test_what_is_wrong_is_shown_without_all_of_it(api: Api, key: str) -> None:
    wrong = api.request("POST", "/trials/t/decisions", {"unit": [["x" * 1_000] * 100] * 5}, key)
    assert (wrong.status, wrong.json["argument"]) == (422, "unit")
    assert len(wrong.json["value"]) <= 200


def _never(*_: object) -> None:
    raise AssertionError("it was read")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('abc"\\\\é', max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.booleans())
def test_what_is_well_formed_is_read_as_python_reads_it(value: Any, ascii_: bool) -> None:
    body = json.dumps(value, ensure_ascii=ascii_)
    assert parse_json(body.encode()) == json.loads(body)


@given(st.binary(max_size=60))
def test_bytes_are_read_or_refused(body: bytes) -> None:
    for read in (parse_json, parse_toml):
        try:
            read(body)
        except ProblemError as error:
            status = error.status_code
        else:
            continue
        assert status == 400
