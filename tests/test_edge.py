"""Decisions at the edge, against a real service: the same proposals, once in the log, whatever breaks."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPMessage
from pathlib import Path
from typing import Any

import pytest

import edges
from browser import served_here
from edges import Clock, edge, until
from proxy import Proxy
from serving import Served
from takeup.client import Client, Edge
from takeup.client.transport import HttpAnswer
from takeup.errors import (
    AccessError,
    ConflictError,
    InputError,
    LabelError,
    LeaseError,
    NotFoundError,
    StateError,
    StoreError,
    UnreachableError,
)
from takeup.trial.ingested import Ingested


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with served_here(folder / "trials.db") as running:
        yield running


@pytest.fixture(scope="module")
def key(server: Served) -> str:
    return server.key(*edges.SCOPES)


@pytest.fixture
def trial(server: Served, key: str, request: pytest.FixtureRequest) -> str:
    return edges.running(server, key, request.node.name[:60])


@pytest.fixture
def line(server: Served) -> Iterator[Proxy]:
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.mark.requirement("R-12.1")
def test_what_an_edge_decides_is_in_the_log(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    with edge(server.url, key, trial, tmp_path) as here:
        made = {f"u{i}": here.decide(f"u{i}", i % 2) for i in range(100)}
        assert here.decide("u0", "young") is here.decide("u0") is here.decide("u0", 0) is made["u0"]
        assert {each.proposal for each in made.values()} == {"rest", "drug"}
        lease = here.lease
        assert all(
            each.proposal == lease.proposals[lease.draw(each.unit, None, lease.contexts.index(each.context))]
            for each in made.values()
        )
        assert here.flush()
        assert (here.ingested.rows, here.ingested.recorded, here.waiting) == (100, 100, 0)
        for i in range(100):
            here.report(made[f"u{i}"], implemented=i % 2, outcome=1)
        assert here.flush()
        assert here.ingested.reported == 100
        here.report("u0", outcome=0, reason="mistyped")
        here.report("u1", missing=["implemented"], reason="never seen")
    events = edges.logged(server.database, trial)
    assert [(each["unit"], each["proposal"], each["drawn"]) for each in events["decided"]] == [
        (each.unit, each.proposal, each.drawn) for each in made.values()
    ]
    assert all(lease.issued <= each.drawn < lease.expires for each in made.values())
    assert len(events["reported"]) == 102
    assert edges.lost(server.database, trial, {unit: each.proposal for unit, each in made.items()}) == []
    assert list(tmp_path.glob("*.rows")) == []


def test_a_report_that_comes_at_once_is_one_event_with_its_decision(
    server: Served, key: str, trial: str, tmp_path: Path
) -> None:
    with edge(server.url, key, trial, tmp_path) as here:
        for i in range(2_000):
            here.report(here.decide(f"u{i}", 0), implemented="rest", outcome=i % 2)
        assert here.flush()
        assert here.ingested.recorded == 2_000
        assert here.ingested.recorded + here.ingested.reported == here.ingested.rows
    events = edges.logged(server.database, trial)
    joined = sum(each.get("outcome") is not None for each in events["decided"])
    assert joined + len(events.get("reported", [])) == 2_000


def test_what_is_wrong_is_said_at_once(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    with edge(server.url, key, trial, tmp_path) as here:
        here.decide("ann", "old")
        wrong: list[tuple[type[Exception], str, Callable[[], Any]]] = [
            (InputError, "context is missing", lambda: here.decide("bob")),
            (LabelError, "one of young, old", lambda: here.decide("bob", "ancient")),
            (LabelError, "one of young, old", lambda: here.decide("ann", "ancient")),
            (LabelError, "one of young, old", lambda: here.decide("bob", ["old"])),  # type: ignore[arg-type]
            (ConflictError, "made in context 'old'", lambda: here.decide("ann", "young")),
            (InputError, "not blank", lambda: here.decide("", 0)),
            (InputError, "not blank", lambda: here.decide("  ", 0)),
            (InputError, "not blank", lambda: here.decide(7, 0)),  # type: ignore[arg-type]
            (InputError, "not blank", lambda: here.decide(["ann"], 0)),  # type: ignore[arg-type]
            (InputError, "at most 200", lambda: here.decide("x" * 201, 0)),
            (InputError, "control characters", lambda: here.decide("a\nb", 0)),
            (InputError, "lone surrogates", lambda: here.decide("a\ud800", 0)),
            (InputError, "one decision for a unit", lambda: here.decide("bob", 0, "first")),
            (InputError, "the report is empty", lambda: here.report("ann")),
            (InputError, "implemented", lambda: here.report("ann", implemented="surgery")),
            (InputError, "outcome", lambda: here.report("ann", outcome=7)),
            (InputError, "either a value or missing", lambda: here.report("ann", outcome=1, missing=["outcome"])),
            (InputError, "missing", lambda: here.report("ann", missing=["age"])),
            (InputError, "at most 2000", lambda: here.report("ann", outcome=1, reason="x" * 3_000)),
        ]
        for kind, words, call in wrong:
            with pytest.raises(kind, match=words):
                call()
        for end in (here.flush, here.close):
            with pytest.raises(InputError, match="timeout: got -1, expected a number of seconds"):
                end(-1)
        assert here.decide("Zoë\u00a0Ångström", 0).unit == "Zoë\u00a0Ångström"
    assert len(edges.logged(server.database, trial)["decided"]) == 2


def test_a_unit_with_many_decisions(server: Served, key: str, tmp_path: Path) -> None:
    name = server.trial({**edges.SPEC, "name": "many", "decisions": "many"}, key)
    with edge(server.url, key, name, tmp_path) as here:
        made = [here.decide("ann", 0, f"visit {i}") for i in range(20)]
        assert len({each.proposal for each in made}) == 2
        assert here.decide("ann", 0, "visit 3") is made[3]
        with pytest.raises(InputError, match="makes many"):
            here.decide("ann", 0)
        here.report("ann", outcome=1, occasion="visit 3")
    assert edges.lost(server.database, name, {}) == []
    assert len(edges.logged(server.database, name)["decided"]) == 20


def test_another_lease_another_draw_but_the_same_answer_to_whom_is_remembered(
    server: Served, key: str, trial: str, tmp_path: Path
) -> None:
    with edge(server.url, key, trial, tmp_path, remember=40) as here:
        first = {f"u{i}": here.decide(f"u{i}", 0).proposal for i in range(100)}
        assert 20 <= here.remembered <= 40
        number = here.lease.number
        assert here.renew().number == number + 1
        late = {f"u{i}": here.decide(f"u{i}", 0) for i in range(80, 100)}
        assert all(each.lease == number and each.proposal == first[unit] for unit, each in late.items())
        forgotten = {f"u{i}": here.decide(f"u{i}", 0).proposal for i in range(40)}
        differ = [unit for unit, proposal in forgotten.items() if proposal != first[unit]]
        assert 0 < len(differ) < 40
        assert here.flush()
        assert (here.ingested.recorded, here.ingested.set_aside) == (100, 40)
    assert edges.lost(server.database, trial, first) == []


@pytest.mark.requirement("R-12.5")
def test_two_edges_that_disagree_first_recorded_stands(
    server: Served, key: str, trial: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Ingested] = []
    with (
        edge(server.url, key, trial, tmp_path / "one") as one,
        edge(server.url, key, trial, tmp_path / "two", told=told.append, seconds=1e9) as two,
    ):
        units = [f"u{i}" for i in range(50)]
        first = {unit: one.decide(unit, 0).proposal for unit in units}
        second = {unit: two.decide(unit, 0).proposal for unit in units}
        assert first != second
        assert one.flush()
        with caplog.at_level(logging.WARNING, "takeup.client"):
            assert two.flush()
        (found,) = told
        assert (found.set_aside, found.recorded) == (50, 0)
        assert "the unit has another decision, which stands" in found.refused[0][1]
        assert two.ingested.refused == found.refused
        assert "50 of the 50 rows" in caplog.text
        assert "the unit has another decision, which stands" in caplog.text
        assert not any(repr(unit) in caplog.text for unit in units)
        again = {unit: two.decide(unit, 0) for unit in units}
        assert {unit: made.proposal for unit, made in again.items()} == second
    events = edges.logged(server.database, trial)
    assert {each["unit"]: each["proposal"] for each in events["decided"]} == first
    assert {each["unit"]: each["proposal"] for each in events["set aside"]} == second
    assert edges.lost(server.database, trial, first) == []


def test_batches_are_as_large_as_they_may_be(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    told: list[Ingested] = []
    with edge(server.url, key, trial, tmp_path, batch=50, seconds=1e9, told=told.append) as here:
        for i in range(120):
            here.decide(f"u{i}", 0)
        assert here.flush()
        assert [each.rows for each in told] == [50, 50, 20]


def test_a_telling_that_fails_stops_nothing(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    def fail(_: Ingested) -> None:
        raise RuntimeError("of the user's own")

    with edge(server.url, key, trial, tmp_path, told=fail) as here:
        here.decide("ann", 0)
        assert here.flush()
        here.decide("bob", 0)
        assert here.flush()


def test_the_lease_is_renewed_before_it_ends(
    server: Served, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By itself: one that lasts a second, and one of four decisions, of which the third asks for another."""
    monkeypatch.setattr("takeup.client.renewer.FIRST_PAUSE", 0.01)
    name = edges.running(server, key, "short", seconds=1)
    few = edges.running(server, key, "few", most=4)
    with edge(server.url, key, name, tmp_path / "short") as here:
        first = here.lease.number
        until(lambda: here.lease.number > first)
    with edge(server.url, key, few, tmp_path / "few") as here:
        with here._renewer.asking:
            for i in range(4):
                here.decide(f"u{i}", 0)
            with pytest.raises(LeaseError, match="is used up: it allows 4 decisions, and another is on its way"):
                here.decide("u4", 0)
        for i in range(40):
            until(lambda unit=f"u{i}": _decided(here, unit))  # type: ignore[misc]  # mypy gives lambdas no defaults
        assert here.lease.number >= 10
        assert here.flush()
        assert here.ingested.recorded == 40


@pytest.mark.requirement("R-12.7")
def test_without_the_service_decisions_go_on_until_the_lease_ends(
    line: Proxy, key: str, server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, trial = Clock(), edges.running(server, key, "away and back", seconds=60)
    with edge(line.url, key, trial, tmp_path, clock=clock) as here:
        monkeypatch.setattr("takeup.client.renewer.LEASE_SECONDS", 0.5)  # that a lease is asked for in vain
        line.mode = "refuse"
        line.hang_up()
        made = {"ann": here.decide("ann", 0).proposal}
        clock.pass_(59)
        made["bob"] = here.decide("bob", 0).proposal
        clock.pass_(1)
        with pytest.raises(LeaseError, match=r"expired .* seconds ago.*RemoteTrial.*longer leases"):
            here.decide("eve", 0)
        assert here.decide("ann", 0).proposal == made["ann"]
        here.report("ann", outcome=1)
        assert not here.flush(0.2)
        assert here.waiting >= 1
        until(lambda: "did not answer" in (here.problem or ""))
        monkeypatch.undo()
        line.mode = "pass"
        until(lambda: here.lease.expires > 0 and _decided(here, "eve"))
        made["eve"] = here.decide("eve", 0).proposal
        assert here.flush()
        until(lambda: here.problem is None)
    assert edges.lost(server.database, trial, made) == []


def test_what_the_clock_of_the_machine_says_does_not_matter(
    server: Served, key: str, trial: str, tmp_path: Path
) -> None:
    """The lease's times are the service's; the edge counts from the lease on."""
    clock = Clock()
    with edge(server.url, key, trial, tmp_path, clock=clock) as here:
        lease = here.lease
        assert here.decide("ann", 0).drawn == lease.issued
        clock.pass_(600 - 1e-6)
        assert here.decide("bob", 0).drawn == lease.expires - 1


@pytest.mark.requirement("R-12.3")
def test_a_revoked_lease_is_replaced(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    clock = Clock()
    with Client(server.url, key) as client, edge(server.url, key, trial, tmp_path, clock=clock) as here:
        kept, number = here.decide("ann", 0), here.lease.number
        assert client.call("DELETE", f"/trials/{trial}/leases/{number}?reason=lost+phone") == {
            "trial": trial,
            "number": number,
        }
        clock.pass_(200)
        here.decide("bob", 0)
        assert here.flush()
        assert (here.ingested.recorded, here.ingested.set_aside) == (1, 1)
        assert "revoked" in here.ingested.refused[0][1]
        until(lambda: here.lease.number > number)
        with pytest.raises(NotFoundError, match="has no lease 99"):
            client.call("DELETE", f"/trials/{trial}/leases/99")
    events = edges.logged(server.database, trial)
    assert events["revoked"][0]["reason"] == "lost phone"
    assert [each["unit"] for each in events["decided"]] == [kept.unit]


def test_what_a_process_left_is_sent_by_the_next(
    line: Proxy, key: str, trial: str, server: Served, tmp_path: Path
) -> None:
    with edge(line.url, key, trial, tmp_path, seconds=1e9) as here:
        line.mode = "refuse"
        line.hang_up()
        made = {f"u{i}": here.decide(f"u{i}", 0).proposal for i in range(30)}
        here.close(0.1)
        here.close()
        for call in (lambda: here.decide("late", 0), lambda: here.report("u0", outcome=1)):
            with pytest.raises(LeaseError, match="this edge is closed"):
                call()
        assert here.waiting == 1
    line.mode = "pass"
    with edge(line.url, key, trial, tmp_path) as later:
        assert later.remembered == 30
        assert {unit: later.decide(unit, 0).proposal for unit in made} == made
        assert later.flush()
        assert later.ingested.recorded + here.ingested.recorded == 30  # whoever of them got through
    assert edges.lost(server.database, trial, made) == []


def test_an_answer_that_was_lost_is_asked_for_again(
    line: Proxy, key: str, trial: str, server: Served, tmp_path: Path
) -> None:
    with edge(line.url, key, trial, tmp_path, seconds=1e9) as here:
        made = {f"u{i}": here.decide(f"u{i}", 0).proposal for i in range(10)}
        line.mode = "swallow"
        line.hang_up()
        here._writer.roll()
        until(lambda: line.swallowed > 0)
        line.mode = "pass"
        until(here.flush)
        assert here.ingested.recorded == 10
    assert edges.lost(server.database, trial, made) == []
    assert len(edges.logged(server.database, trial)["taken in"]) == 1


@pytest.mark.requirement("R-12.4")
def test_who_gets_no_lease(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    blinded, other = server.key("lease"), server.key("decide", "read-unblinded")
    for token, words in ((blinded, "a blinded key gets none.*read-unblinded too"), (other, "needs the scope lease")):
        with pytest.raises(AccessError, match=words), edge(server.url, token, trial, tmp_path):
            pass
    plain = server.trial({**edges.SPEC, "name": "plain", "edge": {"allowed": False}}, key)
    with pytest.raises(StateError, match=r"its spec has no \[edge\]"), edge(server.url, key, plain, tmp_path / "plain"):
        pass
    with Client(server.url, key) as client:
        client.call("PUT", f"/trials/{trial}/state", {"state": "paused"})
    with pytest.raises(StateError, match="paused"), edge(server.url, key, trial, tmp_path):
        pass
    with pytest.raises(UnreachableError), edge("http://127.0.0.1:9", key, trial, tmp_path, timeout=0.2):
        pass
    wrong: list[tuple[str, Any]] = [("batch", 0), ("share", 1), ("seconds", -1), ("seconds", float("nan"))]
    for name, value in [*wrong, ("seconds", "5")]:
        with pytest.raises(InputError, match=f"{name}: got"), edge(server.url, key, trial, tmp_path, **{name: value}):
            pass


def test_a_trial_that_was_paused_or_stopped_still_takes_what_was_drawn(
    server: Served, key: str, trial: str, tmp_path: Path
) -> None:
    with Client(server.url, key) as client, edge(server.url, key, trial, tmp_path) as here:
        made = {"ann": here.decide("ann", 0).proposal}
        client.call("PUT", f"/trials/{trial}/state", {"state": "paused"})
        made["bob"] = here.decide("bob", 0).proposal
        with pytest.raises(StateError, match="paused"):
            here.renew()
        client.call("PUT", f"/trials/{trial}/state", {"state": "stopped"})
        assert here.flush()
        assert here.ingested.recorded == 2
    assert edges.lost(server.database, trial, made) == []


def test_a_batch_that_the_service_never_takes_is_kept(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    with edge(server.url, key, trial, tmp_path, seconds=1e9) as here:
        here.decide("ann", 0)
        with Client(server.url, key) as client, here._sender._turn:
            here._writer.roll()
            (path,) = here._segments.closed()
            where = f"/trials/{trial}/ingest?batch={path.stem}"
            client.raw("POST", where, b'{"unit": "eve", "outcome": 1}\n', media="application/x-ndjson")
        here._sender.send_all(10)
        assert "was sent before with other rows" in (here.problem or "")
        (kept,) = tmp_path.glob("*.refused")
        here.decide("bob", 0)
        assert not here.flush()
        assert (here.ingested.recorded, here.waiting) == (1, 0)
        assert "was sent before with other rows" in (here.problem or "")
    with edge(server.url, key, trial, tmp_path, seconds=1e9) as here:
        assert "1, the first" in (here.problem or "")
        kept.rename(kept.with_name(f"{kept.name[:10]}-again.rows"))
        assert here.flush()
        assert here.problem is None
    assert {each["unit"] for each in edges.logged(server.database, trial)["decided"]} == {"ann", "bob"}


def test_with_sync_a_decision_is_on_the_disk_before_it_is_told(
    line: Proxy, key: str, trial: str, server: Served, tmp_path: Path
) -> None:
    """Twenty threads at once; a few commits for all of them."""
    made: dict[str, str] = {}

    def work(name: int) -> None:
        for i in range(10):
            decision = here.decide(f"{name}-{i}", 0)
            written = b"".join(path.read_bytes() for path in tmp_path.glob("*-*"))
            assert f'"{decision.unit}"'.encode() in written
            made[decision.unit] = decision.proposal
            here.report(decision, outcome=1)

    with edge(server.url, key, trial, tmp_path, sync=True, seconds=1e9) as here:
        threads = [threading.Thread(target=work, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 200
    assert edges.lost(server.database, trial, made) == []


def test_a_disk_that_takes_nothing(
    server: Served, key: str, trial: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With sync nobody is told of what is not on the disk; without it the edge stops before its memory is full."""
    broken = threading.Event()
    write = os.write

    def writing(file: int, data: bytes) -> int:
        if broken.is_set() and data.startswith(b"# "):
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr("takeup.whole_lines.os.write", writing)
    monkeypatch.setattr("takeup.client.edge_writer.RETRY_SECONDS", 0.01)
    monkeypatch.setattr("takeup.client.edge_writer.MOST_WAITING", 5)
    with edge(server.url, key, trial, tmp_path / "one", sync=True) as here:
        made = {"ann": here.decide("ann", 0).proposal}
        broken.set()
        with pytest.raises(StoreError, match=r"cannot be written \(No space left on device\)"):
            here.decide("bob", 0)
        broken.clear()
        until(lambda: here.problem is None)
        made["bob"] = here.decide("bob", 0).proposal
        made["eve"] = here.decide("eve", 0).proposal
    with edge(server.url, key, trial, tmp_path / "two") as here:
        broken.set()
        for i in range(10):
            made[f"u{i}"] = here.decide(f"u{i}", 0).proposal
        until(lambda: "too many rows wait" in (here.problem or ""))
        with pytest.raises(LeaseError, match="too many rows wait"):
            here.decide("late", 0)
        broken.clear()
        until(lambda: here.problem is None)
        made["late"] = here.decide("late", 0).proposal
    assert edges.lost(server.database, trial, made) == []


def test_an_answer_that_is_none_of_the_services(
    server: Served, key: str, trial: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with edge(server.url, key, trial, tmp_path) as here:
        made = {"ann": here.decide("ann", 0).proposal}
        with monkeypatch.context() as patch:
            patch.setattr(here._client, "raw", lambda *_, **__: HttpAnswer(200, HTTPMessage(), b"<html>"))
            assert not here.flush()
            assert "none of the service's" in (here.problem or "")
            with pytest.raises(ValueError, match="Expecting value"):
                here.renew()
        assert here.flush()
        assert here.problem is None
    assert edges.lost(server.database, trial, made) == []


def test_an_edge_does_not_survive_a_fork(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    with edge(server.url, key, trial, tmp_path) as here:
        here._forked()
        with pytest.raises(LeaseError, match="made before a fork"):
            here.decide("ann", 0)
        here._ended = False


def test_two_edges_need_two_folders(server: Served, key: str, trial: str, tmp_path: Path) -> None:
    with (
        edge(server.url, key, trial, tmp_path),
        pytest.raises(InputError, match="no other process is using"),
        edge(server.url, key, trial, tmp_path),
    ):
        pass
    other = edges.running(server, key, "other folder")
    with edge(server.url, key, trial, tmp_path, seconds=1e9) as here:
        here.decide("ann", 0)
        here._sender.end(0)
        here._writer.roll()
        here.close(0)
    with pytest.raises(InputError, match=f"rows of trial {trial}"), edge(server.url, key, other, tmp_path):
        pass
    with edge(server.url, key, trial, tmp_path):
        pass
    with pytest.raises(NotFoundError), edge(server.url, key, "mistypd", tmp_path):
        pass
    with edge(server.url, key, other, tmp_path) as here:
        assert here.flush()


def _decided(here: Edge, unit: str) -> bool:
    try:
        here.decide(unit, 0)
    except LeaseError:
        return False
    return True
