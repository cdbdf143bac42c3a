"""What was acknowledged is there exactly once, whatever dies. `make torture` does the same thousands of times."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import faults
import hammer
import servers
from store_internals import engine
from takeup.errors import StoreError
from takeup.live import Trial
from takeup.store import Store

HAMMER = Path(__file__).with_name("hammer.py")


def hammered(folder: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, str(HAMMER), str(folder / "hammer"), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.requirement("R-3.1")
def test_a_killed_process_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    result = hammered(tmp_path, "--kills", "6")
    assert result["acknowledged"] > 6
    assert (result["kills"], result["lost"], result["differences"]) == (6, [], [])


@pytest.mark.requirement("R-3.2")
def test_a_power_failure_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    result = hammered(tmp_path, "--kills", "6", "--power")
    assert result["acknowledged"] > 6
    assert (result["kills"], result["lost"], result["differences"]) == (6, [], [])


@pytest.mark.requirement("R-3.2")
def test_the_power_failure_is_a_real_one(tmp_path: Path) -> None:
    """The control: without syncs the same test sees loss. It ends with the first, after one or two failures."""
    assert hammered(tmp_path, "--kills", "100", "--power", "--synchronous", "OFF")["lost"]


@pytest.mark.parametrize("damage", ["noise in it", "half of it", "nothing of it", "another file", "no file"])
def test_a_database_that_cannot_be_read_is_lost(tmp_path: Path, damage: str) -> None:
    """The harness sees both kinds of loss: an event that is not there, and a file that says nothing any more."""
    path = tmp_path / "hammer.db"
    with Trial.create(path, hammer.SPEC) as trial:
        trial.start()
        for i in range(50):
            trial.decide(f"unit {i}", 0)
    kept, lost = ["decided", 50, "unit 49"], ["decided", 51, "unit 50"]
    result = hammer.Result()
    hammer.check(path, [kept], result)
    assert (result.lost, result.differences, result.events) == ([], [], 52)
    hammer.check(path, [kept, lost], result)
    assert result.lost == ["decided 51 of unit 50: 0 times"]
    content = path.read_bytes()
    damaged = {
        "noise in it": content[:4096] + b"\xa5" * (len(content) - 4096),
        "half of it": content[: len(content) // 2],
        "nothing of it": b"",
        "another file": b"What has been written here is not a database." * 1000,
    }
    path.unlink()
    if damage in damaged:
        path.write_bytes(damaged[damage])
    result = hammer.Result()
    hammer.check(path, [kept], result)
    assert len(result.lost) == 1
    assert result.lost[0].startswith("all of 1: ")


@pytest.mark.requirement("R-3.1")
def test_postgresql_that_crashes_loses_nothing_that_was_acknowledged(postgres: servers.Server) -> None:
    """The server dies without a checkpoint while four threads write, and comes back."""
    spec = {"name": "Crash", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}}
    acknowledged, failures, stop = [], [], threading.Event()
    with postgres.database() as url, Store(url) as store:
        trial = Trial.create(store, spec)
        trial.start()

        def work(thread: int) -> None:
            for i in range(1_000_000):
                if stop.is_set():
                    return
                try:
                    decision = trial.decide(f"{thread}-{i}")
                    acknowledged.append((decision.number, decision.unit))
                except StoreError as error:
                    failures.append(error)

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 50:
            stop.wait(0.01)
        postgres.stop("immediate")
        postgres.start()
        count = len(acknowledged)
        while len(acknowledged) < count + 50:
            stop.wait(0.01)
        stop.set()
        for thread in threads:
            thread.join()
        found = trial.audit()
        assert found.passed, found
        logged = [json.loads(each.body) for each in trial.events(kind="decided", limit=10**6)]
        assert failures
        assert len(set(acknowledged)) == len(acknowledged)
        assert set(acknowledged) <= {(body["number"], body["unit"]) for body in logged}
        assert len({body["unit"] for body in logged}) == len(logged)


@pytest.mark.requirement("R-3.5")
def test_lines_cut_around_commit_lose_nothing_and_do_nothing_twice(postgres: servers.Server, tmp_path: Path) -> None:
    """Before the COMMIT gets to PostgreSQL, and before its answer gets back; callers ask again under the same key."""
    with postgres.database() as url:
        said, cuts, wrong = faults.lines_cut(postgres, url, tmp_path, 8, seed=2)
    assert wrong == []
    assert min(cuts.values()) > 0
    assert len(said) > 0


@pytest.mark.requirement("R-3.4")
def test_a_full_disk_is_said_to_be_full_and_costs_nothing(tmp_path: Path) -> None:
    spec = {"name": "Full", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}}
    with Trial.create(tmp_path / "t.db", spec) as trial:
        trial.start()
        driver = engine(trial.store).raw_connection().driver_connection
        assert driver is not None
        pages = driver.execute("PRAGMA page_count").fetchone()[0]
        driver.execute(f"PRAGMA max_page_count = {pages + 4}")
        made, said = 0, list[str]()
        while len(said) < 3:
            try:
                trial.decide_many([f"{made}-{len(said)}-{i}" for i in range(20)], key=f"k{made}")
                made += 1
            except StoreError as error:
                said.append(str(error))
        assert all("full" in each and "same idempotency key" in each for each in said)
        assert trial.progress().decisions == 20 * made
        driver.execute("PRAGMA max_page_count = 1000000")
        trial.decide_many([f"{made}-0-{i}" for i in range(20)], key=f"k{made}")
        assert trial.progress().decisions == 20 * (made + 1)
        assert trial.audit().passed
