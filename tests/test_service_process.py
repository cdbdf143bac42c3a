"""Real servers on loopback: the same key and the same unit from many at once, kills, and an orderly end."""

import asyncio
import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import load_clients
import servers
import service as benchmark
from load import Requests
from load_clients import SPEC, Acknowledged, Crowd
from pace import Load
from serving import WAIT, Served
from takeup.live import Trial

KEYS, UNITS = 100, 50
ROOM = 300
"""For connections."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Served]]:
    """A server that has room for so many; a new one where a test has ended it."""
    begun: list[Served] = []

    def found() -> Served:
        if not begun or begun[-1].process.poll() is not None:
            folder = tmp_path_factory.mktemp("served")
            options = ["--rate", "1000000", "--connections", str(ROOM), "--connections-per-address", str(ROOM)]
            begun.append(Served(folder / "trials.db", folder, options))
        return begun[-1]

    yield found
    for each in begun:
        each.stop()


@pytest.fixture
def server(running: Callable[[], Served]) -> Served:
    return running()


@pytest.mark.requirement("R-3.3")
def test_a_key_sent_sixteen_times_at_once_has_one_effect(server: Served) -> None:
    key = server.key("decide", "design")
    trial = server.trial({**SPEC, "name": "keys"}, key)
    answers = asyncio.run(load_clients.keys_at_once(Crowd([server.port], Requests(trial, key)), KEYS, 16))
    assert {len(each) for each in answers.values()} == {1}
    with Trial.open(server.database, trial) as opened:
        assert opened.progress().decisions == KEYS
        assert opened.progress().sequence == 2 + KEYS
        assert opened.audit().passed


@pytest.mark.requirement("R-3.3")
def test_a_unit_asked_for_by_many_at_once_has_one_decision(server: Served) -> None:
    key = server.key("decide", "design")
    trial = server.trial({**SPEC, "name": "units"}, key)
    numbers = asyncio.run(load_clients.units_at_once(Crowd([server.port], Requests(trial, key)), UNITS, 32))
    assert sorted(number for each in numbers.values() for number in each) == list(range(1, UNITS + 1))
    with Trial.open(server.database, trial) as opened:
        assert opened.progress().decisions == UNITS
        assert opened.audit().passed


@pytest.mark.long
def test_two_processes_on_one_database_agree(postgres: servers.Server, tmp_path: Path) -> None:
    """Keys and units go to two servers at once; PostgreSQL's lock puts them in one order."""
    folders = [tmp_path / "one", tmp_path / "other"]
    for folder in folders:
        folder.mkdir()
    with postgres.database() as url:
        one = Served(url, folders[0], ["--rate", "1000000"])
        other = Served(url, folders[1], ["--rate", "1000000"])
        try:
            assert other.admin is None
            key = one.key("decide", "design", "read-unblinded")
            trial = one.trial(SPEC, key)
            crowd = Crowd([one.port, other.port], Requests(trial, key))
            answers = asyncio.run(load_clients.keys_at_once(crowd, 60, 8))
            assert {len(each) for each in answers.values()} == {1}
            numbers = asyncio.run(load_clients.units_at_once(crowd, 20, 8))
            assert {len(each) for each in numbers.values()} == {1}
            status, progress = other.request("GET", f"/trials/{trial}/progress", key=key)
            assert (status, progress["decisions"]) == (200, 80)
            assert one.request("GET", f"/trials/{trial}/audit", key=key)[1]["passed"] is True
        finally:
            one.stop()
            other.stop()


@pytest.mark.requirement("R-9.4")
def test_silent_connections_keep_nobody_out(server: Served) -> None:
    """More of them than there may be; the service has no room left for files, were they let in."""
    silent = [socket.create_connection(("127.0.0.1", server.port), WAIT) for _ in range(ROOM + 60)]
    try:
        assert server.request("GET", "/ready")[0] == 200
        assert len(os.listdir(f"/proc/{server.process.pid}/fd")) < ROOM + 40
    finally:
        for each in silent:
            each.close()


def test_heads_without_end_are_refused_and_others_are_served(server: Served) -> None:
    quoted = 'takeup="' + r"\1" * 100_000 + '"'
    status, said = server.request("GET", "/app/sign-in", Cookie=quoted)
    assert (status, said["type"]) == (431, "urn:takeup:headers-too-large")
    status, said = server.request("GET", "/" + "a" * 100_000)
    assert (status, said["type"]) == (414, "urn:takeup:url-too-long")
    metrics = http.client.HTTPConnection("127.0.0.1", server.port, timeout=WAIT)
    metrics.request("GET", "/metrics", headers={"Authorization": f"Bearer {server.admin}"})
    text = metrics.getresponse().read().decode()
    metrics.close()
    assert 'takeup_connections_refused_total{reason="headers"} 1.0' in text
    assert 'takeup_connections_refused_total{reason="url"} 1.0' in text


@pytest.mark.long
def test_a_service_whose_writer_was_stopped_is_not_ready_and_ends_when_told_to(tmp_path: Path) -> None:
    server = Served(tmp_path / "trials.db", tmp_path)
    writer = server.writer()
    assert writer is not None
    os.kill(writer, signal.SIGSTOP)
    until = time.monotonic() + 60
    while (answer := server.request("GET", "/ready"))[0] == 200:  # who asks within a second gets the same answer
        assert time.monotonic() < until
    assert "nothing could be written" in answer[1]["detail"]
    server.stop()
    assert not Path(f"/proc/{writer}").exists()


@pytest.mark.requirement("R-4.9")
def test_logs_name_requests_and_tell_no_secret(server: Served) -> None:
    seed = "5eed" * 16
    key, admin = server.key("decide", "design", "read-unblinded"), server.admin
    server.request("POST", "/trials?trial=t", {**SPEC, "rehearsal": True, "seed": seed}, key, X_Request_ID="log-1")
    server.request("POST", "/trials?trial=t", {**SPEC, "rehearsal": True, "seed": seed}, key, X_Request_ID="log-2")
    server.request(
        "POST", "/trials?trial=u", {**SPEC, "rehearsal": True, "seed": seed + "0"}, key, X_Request_ID="log-3"
    )
    server.request("PUT", "/trials/t/state", {"state": "running"}, key)
    server.request("POST", "/trials/t/decisions", {"unit": "Jane Doe", "context": 0}, key, X_Request_ID="mine")
    server.request("GET", "/trials?secret=hunter2", key=key[:-1], X_Request_ID="log-4")
    lines: dict[str, Any] = {}
    while not {"mine", *(f"log-{i}" for i in (1, 2, 3, 4))} <= lines.keys():  # an answer comes before its line
        text = server.log.read_text().rpartition("\n")[0]
        lines = {line.get("request"): line for line in map(json.loads, text.splitlines())}
    assert admin is not None
    for secret in (key, key.split("_", 2)[2], admin, admin.split("_", 2)[2], seed, "Jane", "hunter2", "Bearer"):
        assert secret not in text
    mine = lines["mine"]
    assert (mine["method"], mine["route"], mine["status"]) == ("POST", "/trials/{trial}/decisions", 200)
    assert (mine["trial"], mine["key"]) == ("t", key.split("_")[1])
    assert [lines[f"log-{i}"]["status"] for i in (1, 2, 3, 4)] == [201, 409, 422, 401]
    assert {lines[f"log-{i}"]["route"] for i in (1, 2, 3, 4)} == {"/trials"}


@pytest.mark.long
def test_the_benchmark_runs(server: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Small, on one server: what it sends is taken, and what it says is what was measured."""
    size = benchmark.Size(pace=40, seconds=0.5, rounds=1, burst=0.2, batch=20, asked=10)
    service = benchmark.Checked([server], server.database, name="benchmark")
    benchmark.paced(service, size)
    benchmark.most(service, size)
    benchmark.kinds(service, size, ("times",))
    assert service.problems == []
    assert len(service.said.decided) > 20
    assert "none lost, audit passed" in capsys.readouterr().out
    loads = {name: Load([server.port], Requests(service.trial, service.key), 1) for name in ("long", "short")}
    assert benchmark.in_turn(loads, size) == []
    assert benchmark.fill(tmp_path / "filled.db", 100) == "load"
    with Trial.open(tmp_path / "filled.db") as filled:
        assert filled.progress().sequence == 100


@pytest.mark.requirement("R-9.7")
def test_what_was_accepted_is_finished_before_the_end(server: Served) -> None:
    """SIGTERM under load: whoever was let in gets an answer, nobody else does, and all of it is there.

    It is the last of this file, as it ends the server.
    """
    said = Acknowledged()
    key = server.key("decide", "report", "design")
    trial = server.trial({**SPEC, "name": "ended"}, key)

    async def under_load() -> None:
        load = load_clients.decide_and_report(server.port, Requests(trial, key), "x", said, asyncio.Event())
        running = asyncio.create_task(load)
        await load_clients.acknowledging(said)
        await asyncio.to_thread(server.stop)
        await running

    asyncio.run(under_load())
    assert len(said) > 0
    assert load_clients.lost(server.database, trial, said) == []
    with Trial.open(server.database, trial) as opened:
        assert opened.progress().sequence == 2 + len(said)
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert lines[-1]["message"].startswith("Finished server process")
