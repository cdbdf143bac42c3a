"""Leases and batches over HTTP: what is taken, what is refused in words, and that others are served meanwhile."""

import asyncio
import io
import json
import struct
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import polars as pl
import pytest

import asgi
from asgi import Api, Reply
from takeup.errors import StateError
from takeup.service import Settings
from takeup.service.arrow_bodies import arrow_slices
from takeup.service.edge_bodies import ARROW, LINES, SLICE, read_batch
from takeup.service.problem import ProblemError
from takeup.trial import ingesting
from takeup.trial.edge_rows import MOST_ROWS, EdgeColumns
from takeup.trial.leases import Lease

SPEC = {**asgi.SPEC, "edge": {"allowed": True, "seconds": 600, "most": 1_000_000}}
SCOPES = ("lease", "read-unblinded")


@pytest.fixture(scope="module")
def key(api: Api) -> str:
    return api.key(*SCOPES)


@pytest.fixture
def trial(api: Api, request: pytest.FixtureRequest) -> str:
    return started(api, f"t{abs(hash(request.node.name)) % 10**12}")


def started(api: Api, name: str) -> str:
    design = api.key("design")
    assert api.request("POST", f"/trials?trial={name}", SPEC, design).status == 201
    assert api.request("PUT", f"/trials/{name}/state", {"state": "running"}, design).status == 200
    return name


def lent(api: Api, trial: str, key: str, **headers: str) -> Lease:
    reply = api.request("POST", f"/trials/{trial}/leases", key=key, headers=headers)
    assert reply.status == 201, reply.body
    lease = Lease.of_plain(reply.json)
    assert reply.json["fingerprint"] == lease.fingerprint
    return lease


def drawn(lease: Lease, units: range, **rest: Any) -> list[dict[str, Any]]:
    """What a client would draw for these units."""
    rows = []
    for i in units:
        z = lease.draw(f"u{i}", None, i % 2)
        rows.append(
            {
                "unit": f"u{i}",
                "context": lease.contexts[i % 2],
                "proposal": lease.proposals[z],
                "lease": lease.number,
                "drawn": lease.issued,
                **rest,
            }
        )
    return rows


def lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def sent(api: Api, trial: str, key: str, body: bytes, batch: str = "b", media: str = LINES) -> Reply:
    return api.request(
        "POST", f"/trials/{trial}/ingest?batch={batch}", key=key, raw=body, headers={"content-type": media}
    )


def test_a_lease_is_given_once_under_its_key_and_is_in_the_log_without_its_secret(
    api: Api, trial: str, key: str
) -> None:
    lease = lent(api, trial, key, **{"idempotency-key": "mine"})
    assert lent(api, trial, key, **{"idempotency-key": "mine"}) == lease
    assert lent(api, trial, key).number == 2
    stranger = api.key(*SCOPES)
    reply = api.request("POST", f"/trials/{trial}/leases", key=stranger, headers={"idempotency-key": "mine"})
    assert (reply.status, reply.json["type"]) == (422, "urn:takeup:reused-key")
    events = api.request("GET", f"/trials/{trial}/events", key=key)
    assert [each["kind"] for each in events.json["events"]].count("leased") == 2
    assert lease.key not in events.body.decode()


@pytest.mark.requirement("R-12.6")
def test_a_batch_is_taken_once(api: Api, trial: str, key: str) -> None:
    lease = lent(api, trial, key)
    rows = drawn(lease, range(10), implemented="tea", outcome="good")
    reply = sent(api, trial, key, lines(rows) + b"\n  \n")
    assert reply.status == 200, reply.body
    assert {name: reply.json[name] for name in ("rows", "taken", "recorded", "refused")} == {
        "rows": 10,
        "taken": 10,
        "recorded": 10,
        "refused": [],
    }
    assert sent(api, trial, key, lines(rows) + b"\n  \n").json == reply.json
    again = sent(api, trial, key, lines(rows), "other").json
    assert (again["recorded"], again["standing"]) == (0, 10)
    conflict = sent(api, trial, key, lines(rows[:3]))
    assert (conflict.status, conflict.json["type"]) == (409, "urn:takeup:conflict")
    assert "give these another name" in conflict.json["detail"]


@pytest.mark.requirement("R-12.3")
def test_a_row_that_is_wrong_stops_no_other_and_is_told_of(api: Api, trial: str, key: str) -> None:
    lease = lent(api, trial, key)
    good, other = drawn(lease, range(2)), drawn(lease, range(2, 9))
    others = {"tea": "coffee", "coffee": "tea"}
    bad = [
        ({**other[0], "proposal": others[other[0]["proposal"]]}, "the lease gives another proposal"),
        ({**other[1], "lease": 99}, "no lease with this number"),
        ({**other[2], "drawn": 1}, "before the lease was given"),
        ({**other[3], "context": "noon"}, "context"),
        ({**other[4], "age": 63}, "'age': no row has that; rows may have unit, occasion, context"),
        ({**other[5], "outcome": "perhaps"}, "outcome"),
        ({"unit": "nobody", "outcome": "good"}, "has no decision for unit 'nobody'"),
        ({"unit": 7, "outcome": "good"}, "a text that is not blank"),
    ]
    reply = sent(api, trial, key, lines([good[0], *(row for row, _ in bad), good[1]])).json
    assert (reply["recorded"], reply["set_aside"]) == (2, 3)
    assert [each["row"] for each in reply["refused"]] == list(range(1, 9))
    for each, (_, words) in zip(reply["refused"], bad, strict=True):
        assert words in each["why"]


def test_bodies_that_are_no_batch(api: Api, trial: str, key: str) -> None:
    wrong = [
        (b"", LINES, 422, "got none, expected from 1 to 100000; an empty batch says nothing"),
        (b"\n\n", LINES, 422, "from 1 to 100000"),
        (b'{"unit": "a"}\n{"unit": ', LINES, 400, "line 2: it is not JSON"),
        (b'{"unit": "a', LINES, 400, "line 1: it is not JSON: Unterminated string starting at character 9"),
        (b'{"unit": "a", "unit": "b"}\n', LINES, 400, "line 1: the key 'unit' is there twice"),
        (b'{"unit": NaN}\n', LINES, 400, "line 1: NaN is not a JSON number"),
        (b"[1]\n", LINES, 422, "line 1"),
        (b"\xff\n", LINES, 400, "line 1: it is not UTF-8"),
        (b"{}", "application/json", 415, "expected application/x-ndjson or application/vnd.apache.arrow.stream"),
        (b"{}\n" * (MOST_ROWS + 1), LINES, 422, f"{MOST_ROWS + SLICE // SLICE}"),
        (b"\n" * (2 * MOST_ROWS + 1), LINES, 422, "send them in several batches"),
        (b"nonsense", ARROW, 400, "no stream of Arrow"),
        (b"", ARROW, 400, "no stream of Arrow"),
        (b" " * 16_000_001, LINES, 413, "more than 16000000 bytes"),
    ]
    for body, media, status, words in wrong:
        reply = sent(api, trial, key, body, media=media)
        assert reply.status == status, (body[:40], reply.body)
        assert words in reply.json["detail"], reply.body
    assert sent(api, trial, key, b"{}\n", batch="x" * 151).status == 422
    assert sent(api, trial, key, b"{}\n", batch="%00").status == 422
    assert sent(api, "nowhere", key, b'{"unit": "a", "outcome": "good"}\n').status == 404
    design = api.key("design")
    api.request("POST", "/trials?trial=undone", SPEC, design)
    assert sent(api, "undone", key, b'{"unit": "a", "outcome": "good"}\n').json["type"] == "urn:takeup:state"
    assert api.request("POST", "/trials/undone/leases", key=key).json["type"] == "urn:takeup:state"


@pytest.mark.requirement("R-12.6")
def test_a_batch_that_broke_off_goes_on(api: Api, trial: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of three; the database fails at the second one, and the same batch sent again takes the rest."""
    monkeypatch.setattr(ingesting, "CHUNK", 3)
    rows = lines(drawn(lent(api, trial, key), range(8)))
    service = api.app.state.service
    submit, times = service.store.submit_to, iter(range(100))

    def failing(pending: Any, name: str, command: Any) -> None:
        if next(times) == 1:
            pending.set_exception(StateError("the power was cut"))
            return
        submit(pending, name, command)

    monkeypatch.setattr(service.store, "submit_to", failing)
    assert sent(api, trial, key, rows).status == 409
    reply = sent(api, trial, key, rows).json
    assert (reply["recorded"], reply["standing"], reply["taken"]) == (8, 0, 8)
    assert next(times) == 4  # one that was taken, one that failed, and the two that were left


def arrow(frame: pl.DataFrame, **options: Any) -> bytes:
    written = io.BytesIO()
    frame.write_ipc_stream(written, **options)
    return written.getvalue()


@pytest.mark.parametrize("compat", ["newest", "oldest"])
def test_the_same_rows_as_arrow(api: Api, trial: str, key: str, compat: str) -> None:
    rows = drawn(lent(api, trial, key), range(2_500), implemented="tea")
    for i, row in enumerate(rows):
        row["outcome"] = "good" if i % 3 else None
        row["missing"] = None if i % 3 else ["outcome"]
    level = getattr(pl.CompatLevel, compat)()
    frame = pl.DataFrame(rows)
    reply = sent(api, trial, key, arrow(frame, compat_level=level), media=ARROW)
    assert reply.status == 200, reply.body
    assert (reply.json["recorded"], reply.json["refused"]) == (2_500, [])
    progress = api.request("GET", f"/trials/{trial}/progress", key=key).json
    assert (progress["outcomes_counted"], progress["outcomes_missing"]) == (1_666, 834)


def test_arrow_that_would_unfold_is_refused(api: Api, trial: str, key: str) -> None:
    one = pl.DataFrame({"unit": ["a"], "outcome": ["good"]})
    nested = pl.DataFrame({"unit": ["a"], "outcome": [{"time": 1}]})
    long = pl.DataFrame({"unit": ["a" * 9_000]})
    many = pl.DataFrame({"unit": ["a"], "missing": [["outcome"] * 3]})
    wide = pl.DataFrame({f"c{i}": ["a"] for i in range(17)})
    strange = pl.DataFrame({"unit": ["a"], "y" * 1_000_000: ["good"]})
    whole = arrow(one)[:-8]  # without the end
    parts = whole + whole[whole.rindex(b"\xff" * 4) :] * 10_000
    for body, status, words in (
        (arrow(one, compression="zstd"), 422, "write it without compression"),
        (arrow(one, compression="lz4"), 422, "write it without compression"),
        (arrow(nested), 422, "as JSON lines"),
        (arrow(long), 422, "too long"),
        (arrow(many), 422, "more than two"),
        (arrow(wide), 422, "from 1 to 16"),
        (arrow(strange), 422, "some of unit, occasion, context, proposal"),
        (parts, 422, "more than 10000, expected 10000 at the most; put more rows into each batch"),
        (arrow(pl.DataFrame({"unit": ["a"] * (MOST_ROWS + 1)})), 422, "several batches"),
        (arrow(one)[:-60], 400, "no stream of Arrow"),
        (arrow(one)[:60], 400, "no stream of Arrow"),
        (struct.pack("<ii", -1, -5) + bytes(40), 400, "no stream of Arrow"),
    ):
        reply = sent(api, trial, key, body, media=ARROW)
        assert reply.status == status, (words, reply.body)
        assert words in reply.json["detail"], reply.body
        assert len(reply.body) < 1_000


def test_names_that_no_row_has_are_told_in_part() -> None:
    """A megabyte of keys in each of some rows: what is wrong with each is short."""
    body = lines([{"unit": "a", "k" * 100_000: 1, **{f"{i}": i for i in range(1_000)}}] * 10)
    rows = read_batch(LINES, body)
    assert len(rows.problems) == 10
    assert all(len(why) < 500 for why in rows.problems.values())
    assert "no row has that; rows may have unit, occasion" in rows.problems[9]


def test_arrow_with_any_byte_wrong_is_read_or_refused() -> None:
    """Every byte of a small stream, set to 0 and to 255: an answer in words, and never anything else."""
    whole = arrow(pl.DataFrame({"unit": ["a", "b"], "lease": [1, 2]}))
    read = 0
    for place in range(len(whole)):
        for byte in (0, 255):
            body = whole[:place] + bytes([byte]) + whole[place + 1 :]
            with suppress(ProblemError, ValueError):
                read += len(list(arrow_slices(body, EdgeColumns._fields, 10, 5)))
    assert read


def test_arrow_is_read_as_polars_reads_it() -> None:
    """Every kind of column that there is, with and without values, in two batches, against polars."""
    frame = pl.DataFrame(
        {
            "text": ["a", None, "Zoë", "x" * 40, ""],
            "whole": [1, None, -3, 2**40, 0],
            "small": pl.Series([1, 2, None, 4, 255], dtype=pl.UInt8),
            "number": [0.5, None, -2.0, 1e300, 0.0],
            "half": pl.Series([0.5, 1.5, None, 0.0, 1.0], dtype=pl.Float32),
            "truth": [True, None, False, True, False],
            "list": [["a"], None, [], ["b", None], ["x" * 30, "y"]],
            "nothing": [None] * 5,
        }
    )
    for level in (pl.CompatLevel.newest(), pl.CompatLevel.oldest()):
        for some in (frame, frame.head(0), pl.concat([frame, frame.reverse()], rechunk=False), frame.slice(1, 3)):
            found = [
                row for rows in arrow_slices(arrow(some, compat_level=level), frame.columns, 100, 2) for row in rows
            ]
            assert found == [{name: v for name, v in row.items() if v is not None} for row in some.to_dicts()]


def test_arrow_that_points_at_itself_again_and_again_is_bounded() -> None:
    """Views of one long text, of which the stream has one copy: refused before they are unfolded."""
    one = pl.DataFrame({"unit": ["x" * 7_000]}).select(pl.col("unit").repeat_by(10_000).explode())
    with pytest.raises(ValueError, match="64000000 in all"):
        list(arrow_slices(arrow(one), ["unit"], 100_000, 1_000))


@pytest.fixture(scope="module")
def strict() -> Iterator[Api]:
    with asgi.api(settings=Settings(rate=1e6, burst=1e6, leases=2)) as running:
        yield running


def test_a_key_has_so_many_leases_a_minute(strict: Api) -> None:
    trial, one, other = started(strict, "few"), strict.key(*SCOPES), strict.key(*SCOPES)
    for _ in range(2):
        lent(strict, trial, one)
    reply = strict.request("POST", f"/trials/{trial}/leases", key=one)
    assert (reply.status, reply.json["type"]) == (429, "urn:takeup:too-many")
    assert "let leases last longer" in reply.json["detail"]
    assert int(reply.headers["retry-after"]) >= 1
    lent(strict, trial, other)


def test_who_may_revoke_a_lease(api: Api, trial: str, key: str) -> None:
    lease = lent(api, trial, key)
    path = f"/trials/{trial}/leases/{lease.number}"
    for scopes in (SCOPES, ("lease",)):
        reply = api.request("DELETE", path, key=api.key(*scopes))
        assert (reply.status, reply.json["type"]) == (403, "urn:takeup:forbidden")
        assert "a key with the scope lease revokes its own" in reply.json["detail"]
    assert sent(api, trial, key, lines(drawn(lease, range(1)))).json["recorded"] == 1
    assert api.request("DELETE", path, key=key).status == 200
    other = lent(api, trial, key)
    assert api.request("DELETE", f"/trials/{trial}/leases/{other.number}", key=api.key("design")).status == 200
    assert api.request("DELETE", f"/trials/{trial}/leases/99", key=key).status == 404


def test_a_batch_on_its_way_and_too_many_rows_at_once(api: Api, trial: str, key: str) -> None:
    service = api.app.state.service
    body = b'{"unit": "a", "outcome": "good"}\n'
    service.flights.add((trial, "batch b 0"))
    reply = sent(api, trial, key, body)
    assert (reply.status, reply.json["type"]) == (409, "urn:takeup:in-flight")
    service.flights.clear()
    id_ = key.split("_")[1]
    with service.edges.taking(id_, 200_000):
        reply = sent(api, trial, key, body)
        assert (reply.status, reply.json["type"]) == (429, "urn:takeup:too-many")
        assert sent(api, trial, api.key(*SCOPES), body, "c").status == 200
    assert sent(api, trial, key, body).status == 200


def test_others_are_served_while_a_batch_is_read_and_taken(api: Api, trial: str, key: str) -> None:
    """Between two chunks of a batch others have their turn: a decision does not wait for its end."""
    rows = lines(drawn(lent(api, trial, key), range(12_000)))
    other = api.key("decide")

    async def both() -> list[str]:
        order: list[str] = []

        async def batch() -> None:
            reply = await api.asked(
                "POST", f"/trials/{trial}/ingest?batch=b", key=key, raw=rows, headers={"content-type": LINES}
            )
            assert reply.status == 200, reply.body
            order.append("batch")

        async def decision() -> None:
            reply = await api.asked("POST", f"/trials/{trial}/decisions", {"unit": "x", "context": "morning"}, other)
            assert reply.status == 200, reply.body
            order.append("decision")

        await asyncio.gather(batch(), decision())
        return order

    assert api.run(both()) == ["decision", "batch"]
