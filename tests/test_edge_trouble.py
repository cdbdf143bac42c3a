"""What goes wrong around an edge loses nothing that it told, and is told: disks, answers, forks, threads, leases."""

import json
import logging
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from edges import Clock, Nearby, until
from takeup.client import Client, Edge
from takeup.client.held import Held
from takeup.client.transport import HttpAnswer
from takeup.errors import ConflictError, InputError, LeaseError, TakeupError, UnreachableError
from takeup.live import Trial
from takeup.trial.edge_draws import OTHER_LEASE
from takeup.trial.ingested import Ingested


@pytest.fixture
def near() -> Iterator[Nearby]:
    made = Nearby()
    yield made
    made.trial.close()


def held_up(here: Edge, monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A disk that takes nothing until this is set; the thread that writes waits for it, with the row of a unit."""
    gate, asked, append = threading.Event(), threading.Event(), here._segments.append

    def slow(rows: bytes, count: int) -> None:
        asked.set()
        gate.wait()
        append(rows, count)

    monkeypatch.setattr(here._segments, "append", slow)
    here.decide("the first", 0)
    asked.wait()
    return gate


def told_rows(folder: Path) -> int:
    return sum(path.read_bytes().count(b'"drawn"') for path in folder.glob("0*"))


@pytest.mark.parametrize("batch", [20_000, 8_193, 1_000])
def test_all_rows_are_written_however_many_wait(
    near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    """A block ends where a file does, so that more blocks are needed than rows have room in."""
    for ending in (False, True):
        folder = tmp_path / str(ending)
        here = near.edge(folder, batch=batch)
        gate = held_up(here, monkeypatch)
        near.away = True
        for i in range(25_000):
            here.decide(f"u{i}", 0)
        threading.Timer(0.05, gate.set).start()
        if ending:
            here.close(0.0)
        else:
            assert not here.flush(0.1)
        assert not here._writer.rows
        assert told_rows(folder) == 25_001
        here.close(0.0)
        near.away = False


def test_whatever_is_told_while_an_edge_is_closed_is_written(near: Nearby, tmp_path: Path) -> None:
    for run in range(5):
        here, told = near.edge(tmp_path / str(run)), [0, 0, 0]
        near.away = True

        def work(name: int, here: Edge = here, told: list[int] = told) -> None:
            with suppress(LeaseError):
                while True:
                    here.decide(f"{name}-{told[name]}", 0)
                    told[name] += 1

        threads = [threading.Thread(target=work, args=(name,)) for name in range(3)]
        for thread in threads:
            thread.start()
        until(lambda told=told: min(told) > 100)  # type: ignore[misc]  # mypy gives lambdas no defaults
        here.close(0.0)
        for thread in threads:
            thread.join()
        assert sum(told) <= told_rows(tmp_path / str(run)) <= sum(told) + 3
        near.away = False


def test_a_disk_that_hangs_stops_the_edge_before_its_memory_is_full(
    near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("takeup.client.edge_writer.MOST_WAITING", 3_000)
    with near.edge(tmp_path) as here:
        gate = held_up(here, monkeypatch)
        try:
            with suppress(LeaseError):
                for i in range(10_000):
                    here.decide(f"u{i}", 0)
            with pytest.raises(LeaseError, match="too many rows wait: the disk is too slow"):
                here.decide("late", 0)
            assert 3_000 < len(here._writer.rows) < 5_000
            with pytest.raises(LeaseError, match="nothing can be reported: too many rows wait"):
                here.report("u0", outcome=1)
            leases = near.leases
            for _ in range(3):
                with pytest.raises(LeaseError, match="too many rows wait"):
                    here.decide("late", 0)
            assert not here._renewer.wanted.is_set()
            assert near.leases == leases
        finally:
            gate.set()
        until(lambda: here.problem is None)
        here.decide("late", 0)
        assert here.flush()


def test_a_file_that_cannot_be_closed_is_not_said_to_be_sent(
    near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("takeup.client.edge_writer.RETRY_SECONDS", 0.01)
    with near.edge(tmp_path) as here:
        here.decide("ann", 0)
        with monkeypatch.context() as patch:
            patch.setattr(here._segments, "_rename", failing)
            assert not here.flush()
            assert "cannot be written (Input/output error)" in (here.problem or "")
            assert not here.flush()
        until(here.flush)
        assert (here.ingested.recorded, here.problem) == (1, None)
    assert here.flush()


def problem(kind: str, status: int) -> bytes:
    return json.dumps({"type": f"urn:takeup:{kind}", "title": kind, "status": status, "detail": "said"}).encode()


class Alien:
    """A server that answers every request so."""

    def __init__(self, status: int, body: bytes) -> None:
        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
        often = 0.01  # how many seconds pass between two looks whether to end
        threading.Thread(target=self.server.serve_forever, args=(often,), daemon=True).start()

    def __enter__(self) -> Client:
        self.client = Client(f"http://127.0.0.1:{self.server.server_port}", "key", timeout=5)
        return self.client

    def __exit__(self, *_: object) -> None:
        self.client.close()
        self.server.shutdown()
        self.server.server_close()


HTML = b"<html>down for maintenance</html>"
PUT_OFF = [(status, HTML) for status in (302, 400, 401, 403, 404, 405, 409, 413, 422, 501)] + [
    (404, problem("not-found", 404)),
    (401, problem("unauthenticated", 401)),
    (405, problem("method", 405)),
    (409, problem("state", 409)),
    (422, b'{"type": "about:blank", "detail": "of another service"}'),
    (200, b'{"batch": "another", "rows": 1, "taken": 1, "recorded": 1, "standing": 0, "set_aside": 0, "reported": 0}'),
]


@pytest.mark.parametrize(("status", "body"), PUT_OFF)
def test_a_batch_waits_whoever_else_answers(near: Nearby, tmp_path: Path, status: int, body: bytes) -> None:
    with near.edge(tmp_path) as here, Alien(status, body) as client:
        here.decide("ann", 0)
        raw, here._client.raw = here._client.raw, client.raw  # type: ignore[method-assign]
        assert not here.flush()
        assert here.problem
        assert (here.waiting, list(tmp_path.glob("*.refused"))) == (1, [])
        if body == HTML:
            assert f"answered with status {status}, and not as the service does" in here.problem
            with pytest.raises(UnreachableError, match=f"status {status}"):
                client.call("POST", "/trials/t/decisions", {})
        here._client.raw = raw  # type: ignore[method-assign]
        assert here.flush()
        assert (here.waiting, here.ingested.recorded) == (0, 1)


@pytest.mark.parametrize(
    ("kind", "status", "error"),
    [("malformed", 400, InputError), ("too-large", 413, InputError), ("conflict", 409, ConflictError)],
)
def test_a_batch_that_is_wrong_itself_is_kept(
    near: Nearby, tmp_path: Path, kind: str, status: int, error: type[TakeupError]
) -> None:
    with near.edge(tmp_path) as here, Alien(status, problem(kind, status)) as client:
        here.decide("ann", 0)
        here._client.raw = client.raw  # type: ignore[method-assign]
        with pytest.raises(error) as raised:
            client.call("POST", "/trials", {})
        assert raised.value.kind == kind
        assert not here.flush()
        assert "not sent any more: 1, the first 0000000001-" in (here.problem or "")
        assert (here.waiting, len(list(tmp_path.glob("*.refused")))) == (0, 1)


@pytest.mark.parametrize("change", [{"batch": "another"}, {"rows": 2, "taken": 2}, {"taken": 0}])
def test_an_answer_about_something_else_deletes_nothing(
    near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    raw = near.raw

    def another(*args: Any, **options: Any) -> HttpAnswer:
        answer = raw(*args, **options)
        return HttpAnswer(200, answer.headers, json.dumps({**json.loads(answer.body), **change}).encode())

    with near.edge(tmp_path) as here:
        here.decide("ann", 0)
        with monkeypatch.context() as patch:
            patch.setattr(near, "raw", another)
            assert not here.flush()
            assert "the answer is about" in (here.problem or "")
            assert (here.waiting, here.ingested.rows) == (1, 0)
        assert here.flush()


def test_each_batch_has_its_own_time(near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, now = near.raw, Clock()

    def slow(*args: Any, **options: Any) -> HttpAnswer:
        assert options["timeout"] == near.timeout
        now.pass_(near.timeout / 2)
        return raw(*args, **options)

    monkeypatch.setattr(near, "raw", slow)
    monkeypatch.setattr("takeup.client.edge_sender.clock", lambda: now() / 1e9)
    with near.edge(tmp_path, batch=1) as here:
        for i in range(10):
            here.decide(f"u{i}", 0)
        until(lambda: here.ingested.recorded == 10)
        assert here.problem is None


def test_a_report_may_come_before_its_decision(near: Nearby, tmp_path: Path) -> None:
    with near.edge(tmp_path / "one") as one, near.edge(tmp_path / "two") as two:
        made = one.decide("ann", 0)
        one.decide("bob", 0)
        two.report(made, implemented=made.proposal, outcome=1)
        two.report("bob", outcome=1)
        assert two.flush()
        assert (two.ingested.recorded, two.ingested.unrecorded) == (1, 1)
        assert one.flush()
        assert (one.ingested.recorded, one.ingested.standing) == (1, 1)
        two.report(made, outcome=0, reason="mistyped")
        assert two.flush()
    assert near.outcomes() == {"ann": "0"}
    assert near.trial.audit().passed


@pytest.mark.parametrize("together", [True, False])
def test_what_is_reported_of_a_draw_that_does_not_stand_is_set_aside_with_it(
    near: Nearby, tmp_path: Path, together: bool
) -> None:
    with near.edge(tmp_path / "one") as one, near.edge(tmp_path / "two") as two:
        for i in range(20):
            one.decide(f"u{i}", 0)
        assert one.flush()
        for i in range(20):
            made = two.decide(f"u{i}", 0)
            if not together:
                two.flush()
            two.report(made if i % 2 else made.unit, implemented=made.proposal, outcome=1)
        assert two.flush()
        assert (two.ingested.recorded, two.ingested.reported) == (0, 0)
    assert near.outcomes() == {}


def test_a_unit_whose_draw_was_set_aside_is_drawn_again(near: Nearby, tmp_path: Path) -> None:
    clock = Clock()
    with near.edge(tmp_path, clock=clock) as here:
        early, number = here.decide("ann", 0), here.lease.number
        near.trial.revoke(number)
        clock.pass_(60)  # within what clocks may differ by
        late = here.decide("bob", 0)
        assert here.flush()
        until(lambda: here.lease.number > number)
        assert here.decide("ann", 0) is early
        again = here.decide("bob", 0)
        assert again is not late
        assert again.lease > number
        here.report("bob", outcome=1)
        assert here.flush()
        assert (here.ingested.recorded, here.ingested.set_aside) == (2, 1)
    assert near.outcomes() == {"bob": "1"}


def test_what_a_lease_gave_too_late_is_told_however_much_else_is_refused(near: Nearby, tmp_path: Path) -> None:
    clock = Clock()
    with near.edge(tmp_path / "one") as one, near.edge(tmp_path / "two", clock=clock) as two:
        for i in range(200):
            one.decide(f"u{i}", 0)
        assert one.flush()
        for i in range(200):
            two.decide(f"u{i}", 0)
        number = two.lease.number
        near.trial.revoke(number)
        clock.pass_(60)
        late = [two.decide(f"v{i}", 0) for i in range(50)]
        assert two.flush()
        assert (len(two.ingested.refused), two.ingested.set_aside) == (100, 250)
        assert [(each.lease, each.drawn) for each in two.ingested.lapsed] == [(number, min(m.drawn for m in late))]
        until(lambda: two.lease.number > number)
        assert all(two.decide(each.unit, 0) is not each for each in late)
        assert two.flush()
        assert two.ingested.recorded == 50


def test_a_lease_from_before_a_backup_was_restored_is_none_of_the_same_number_since(
    near: Nearby, tmp_path: Path
) -> None:
    """The seed and the number are the same, and so are the bits: its hash alone tells which lease a draw is of."""
    with near.edge(tmp_path) as here:
        made = [here.decide(f"u{i}", 0) for i in range(50)]
        assert here.flush()
        before = here.lease
        near.trial.close()
        near.trial = Trial.create("sqlite://", near.spec)
        near.trial.start()
        after = here.renew()
        assert (after.number, after.key) == (before.number, before.key)
        assert after.fingerprint != before.fingerprint
        for each in made:
            here.report(each, outcome=1)
        assert here.flush()
        assert (here.ingested.recorded, here.ingested.set_aside) == (50, 50)
        assert all(why == f"set aside: {OTHER_LEASE}" for _, why in here.ingested.refused)
        again = [here.decide(each.unit, 0) for each in made]
        assert {each.lease_hash for each in again} == {after.fingerprint}
        assert here.flush()
        assert here.ingested.recorded == 100
    assert near.trial.audit().passed


@pytest.mark.parametrize(
    "change",
    [{"context": ["young"]}, {"proposal": "none"}, {"lease": "1"}, {"lease": True}, {"drawn": math.nan}, {"drawn": -1}],
)
def test_a_decision_that_nobody_can_have_made_is_refused(near: Nearby, tmp_path: Path, change: dict[str, Any]) -> None:
    with near.edge(tmp_path) as here:
        made = here.decide("ann", 0)
        with pytest.raises(InputError, match="a decision that an edge of trial"):
            here.report(made._replace(**change), outcome=1)
        here.report(made, outcome=1)
        assert here.flush()
    assert near.outcomes() == {"ann": "1"}


def test_a_batch_is_no_larger_than_a_body_may_be(near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A letter may take twelve bytes."""
    monkeypatch.setattr("takeup.client.edge_writer.MOST_BLOCK_BYTES", 40_000)
    monkeypatch.setattr("takeup.client.edge_writer.MOST_BYTES", 80_000)
    with near.edge(tmp_path) as here:
        gate = held_up(here, monkeypatch)
        made = [here.decide(f"{i:06d}{chr(0x1F600) * 190}", 0) for i in range(200)]
        near.away = True
        gate.set()
        assert not here.flush()
        sizes = [len(here._segments.body(path)) for path in here._segments.closed()]
        assert sum(sizes) > 200 * 12 * 190
        assert max(sizes) < 120_000
        near.away = False
        assert here.flush()
        assert here.ingested.recorded == 1 + len(made)


def test_nobody_is_told_what_was_drawn_when_all_was_written(near: Nearby, tmp_path: Path) -> None:
    here = near.edge(tmp_path)
    serving = here._serving
    here.close()
    here._serving = serving  # a thread had it before the end
    with pytest.raises(LeaseError, match="this edge is closed"):
        here.decide("ann", 0)
    here._serving = serving.ended()
    with pytest.raises(LeaseError, match="this edge is closed"):
        here.decide("ann", 0)


def test_who_wants_another_lease_as_soon_as_there_is_one_is_heard(near: Nearby, tmp_path: Path) -> None:
    with near.edge(tmp_path) as here:
        renewed = here._renewer._renewed

        def at_once(held: Held) -> None:
            here._renewer._renewed = renewed
            renewed(held)
            here._want()

        here._renewer._renewed = at_once
        here._want()
        until(lambda: here.lease.number == 3)


def test_an_edge_that_was_closed_stays_closed(near: Nearby, tmp_path: Path) -> None:
    here = near.edge(tmp_path)
    stop = here._stop

    def stopped(why: str) -> None:
        stop(why)
        writing = threading.Thread(target=here._full, args=(False,))
        writing.start()
        writing.join(0.05)

    here._stop = stopped  # type: ignore[method-assign]
    here.close()
    here._full(False)
    here._serve(here._renewer.held)
    with pytest.raises(LeaseError, match="this edge is closed"):
        here.decide("ann", 0)


def test_a_renewal_that_failed_early_is_tried_again(tmp_path: Path) -> None:
    small = Nearby(most=100)
    with small.edge(tmp_path) as here:
        small.away = True
        for i in range(60):
            here.decide(f"u{i}", 0)
        until(lambda: "away" in (here.problem or ""))
        small.away = False
        until(lambda: here.lease.number > 1)
        until(lambda: here.problem is None)
    small.trial.close()


@pytest.mark.parametrize("part", ["writer", "sender", "renewer"])
def test_a_thread_that_fails_is_told_of_and_goes_on(
    near: Nearby, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise RuntimeError("of nobody's making")

    monkeypatch.setattr("takeup.client.edge_writer.RETRY_SECONDS", 0.01)
    monkeypatch.setattr("takeup.client.edge_sender.LATER_SECONDS", 0.01)
    monkeypatch.setattr("takeup.client.edge_sender.LOOK_SECONDS", 0.01)
    with near.edge(tmp_path, seconds=0.01) as here:
        broken: dict[str, tuple[Any, str]] = {
            "writer": (here._writer._lines, "of"),
            "sender": (here._segments, "sent"),
            "renewer": (near, "call"),
        }
        with monkeypatch.context() as patch:
            patch.setattr(*broken[part], failing)
            here.decide("ann", 0)
            here._want()
            until(lambda: "of nobody's making" in (here.problem or ""))
        until(lambda: here.ingested.recorded == 1 and here.problem is None)
        assert here.lease.number > 1
    assert near.trial.progress().decisions == 1


def test_a_thread_that_has_ended_is_told_of(near: Nearby, tmp_path: Path) -> None:
    with near.edge(tmp_path) as here:
        here._sender._ending.set()
        here._sender._rolled.set()
        here._sender.join()
        assert here.problem == "threads of this edge have ended: takeup-edge-sender; make another"


def test_what_is_told_of_rows_names_no_unit_in_the_log(
    near: Nearby, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[Ingested] = []
    with near.edge(tmp_path, told=told.append) as here, caplog.at_level(logging.WARNING, "takeup.client"):
        here.report("ann of 4 Elm Street", outcome=1)
        assert here.flush()
    assert "1 of the 1 rows" in caplog.text
    assert "Elm Street" not in caplog.text
    assert "Elm Street" in told[0].refused[0][1]


def in_child(work: Callable[[], object]) -> int:
    """What a child that does this ends with: 0 where it raises nothing."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_neither_decides_nor_keeps_the_folder(near: Nearby, tmp_path: Path) -> None:
    here, go, there = near.edge(tmp_path), os.pipe(), os.pipe()
    here.decide("ann", 0)
    until(lambda: here._segments.writing)

    def useless() -> None:
        for use in (lambda: here.decide("bob", 0), lambda: here.decide("ann", 0), here.flush, here.renew):
            with pytest.raises(LeaseError, match="made before a fork"):
                use()
        with pytest.raises(LeaseError, match="made before a fork"):
            here.report("ann", outcome=1)
        here.close()

    with here._writer._settled, here._sender._turn, here._renewer.asking:  # by threads that the child has not got
        assert in_child(useless) == 0
    child = os.fork()
    if child == 0:
        os.close(go[1])
        os.write(there[1], b"!")
        os.read(go[0], 1)  # until the parent ends
        os._exit(0)
    os.read(there[0], 1)
    here.close()
    near.edge(tmp_path).close()
    os.close(go[1])
    os.waitpid(child, 0)
    for end in (go[0], *there):
        os.close(end)
    assert near.trial.progress().decisions == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_child_has_connections_of_its_own() -> None:
    with Alien(200, b"{}") as client:
        client.call("POST", "/trials", {})
        (parents,) = client._transport._idle

        def ask() -> None:
            client.call("POST", "/trials", {})
            assert client._transport._idle[0] is not parents

        with client._transport._lock:  # held by a thread that the child has not got
            assert in_child(ask) == 0
        assert client._transport._idle == [parents]
        client.call("POST", "/trials", {})
