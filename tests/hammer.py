"""Kill a process that writes to a store, again and again, and look for what it had acknowledged.

    python tests/hammer.py FOLDER --kills 25 [--power] [--synchronous OFF] [--early]

Prints what was lost as JSON; it forks, so it is a process without threads. Where the power fails it is not the process
alone that dies: the disk keeps what had been synced, and any part of what was written later (`disk.py`). With
--synchronous OFF it must lose something then; so must a process that acknowledges early.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import disk
from store_internals import engine
from takeup.live import Audit, Trial, audit
from takeup.randomness import stream
from takeup.store import Store, looking, reading
from takeup.store.sqlite import Synchronous

SPEC: dict[str, Any] = {
    "name": "Hammer",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "Forgetting", "base": {"kind": "Uniform"}, "half_life": 8, "epoch": 4},
    "window": 1,
}
THREADS = 4
FRESH = 25
"""How many kills a database gets before a new one begins, so that audits stay short."""


@dataclass
class Result:
    """What became of it all."""

    kills: int = 0
    acknowledged: int = 0
    events: int = 0
    lost: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def hammer(path: Path, said: int, run: int, synced: Path | None, synchronous: Synchronous, early: bool) -> None:
    """Write for ever, and say what was acknowledged: one line each, in one atomic write.

    Who is early says of a decision, whose number is not known then, that it is there before asking for it.
    """
    recorder = None if synced is None else disk.Recorder(synced)  # SQLite calls it as long as the process lives
    trial = Trial.open(Store(path, synchronous=synchronous))
    if run % 2:  # checkpoints all the time, where one is rare
        driver: Any = engine(trial.store).raw_connection().driver_connection
        driver.execute("PRAGMA wal_autocheckpoint = 20")

    def work(thread: int) -> None:
        for i in range(1_000_000):
            unit = f"{run}-{thread}-{i}"
            if early:
                os.write(said, f"{json.dumps(['decided', None, unit])}\n".encode())
            decision = trial.decide(unit, i % 2, key=f"d{unit}")
            os.write(said, f"{json.dumps(['decided', decision.number, unit])}\n".encode())
            receipt = trial.report(decision, implemented=i % 2, outcome=i % 2, key=f"r{unit}")
            os.write(said, f"{json.dumps(['reported', receipt.sequence, unit])}\n".encode())

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del recorder


def killed(
    path: Path, run: int, rng: np.random.Generator, synced: Path | None, synchronous: Synchronous, early: bool = False
) -> list[list[Any]]:
    """What a child acknowledged before it was killed: under load, or, one time in five, while it is starting."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(out)
        try:
            hammer(path, into, run, synced, synchronous, early)
        finally:
            os._exit(1)
    os.close(into)
    first = b"" if rng.random() < 0.2 else os.read(out, 1 << 16)
    time.sleep(rng.uniform(0, 0.3))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
        raise ChildProcessError(f"the child ended by itself: {os.waitstatus_to_exitcode(status)}")
    with os.fdopen(out, "rb") as pipe:
        lines = (first + pipe.read()).split(b"\n")
    return [json.loads(line) for line in lines[:-1]]


def check(path: Path, acknowledged: list[list[Any]], result: Result) -> None:
    """Every acknowledged event is there exactly once, and the database is what its log says."""
    try:
        found, logged = _read(path)
    except Exception as error:  # whatever damage leads to: where there is none, the same lines must read it
        result.lost.append(f"all of {len(acknowledged)}: {error}")
        return
    if not found.passed:
        result.differences.append(str(found.difference))
    result.events = max(result.events, found.events)
    for kind, number, unit in acknowledged:
        times = logged[kind, number, unit]
        if times != 1:
            result.lost.append(f"{kind} {number} of {unit}: {times} times")


def _read(path: Path) -> tuple[Audit, Counter[tuple[str, int | None, str]]]:
    """The audit, and how often each decision and each report is in the log."""
    logged: Counter[tuple[str, int | None, str]] = Counter()
    with looking(path) as connection:
        found = audit(connection, "hammer")
        for event in reading.log(connection, "hammer"):
            body = json.loads(event.body)
            if event.kind == "decided":
                logged["decided", body["number"], body["unit"]] += 1
                logged["decided", None, body["unit"]] += 1
            elif event.kind == "reported":
                logged["reported", event.sequence, body["key"][1:]] += 1
    return found, logged


def torture(
    folder: Path,
    kills: int,
    seed: int,
    *,
    power: bool = False,
    synchronous: Synchronous = "FULL",
    early: bool = False,
) -> Result:
    """Kill and look, so many times, or until something is lost."""
    result, acknowledged, rng = Result(), list[list[Any]](), stream(seed)
    path = folder / "hammer.db"
    for run in range(kills):
        if run % FRESH == 0:
            acknowledged = []
            shutil.rmtree(folder, ignore_errors=True)
            (folder / "synced").mkdir(parents=True)
            with Trial.create(path, SPEC) as trial:
                trial.start()
        synced = folder / "synced" if power else None
        if synced is not None:  # what is there when the machine starts is on the disk
            for file in (path, path.with_name(f"{path.name}-wal")):
                if file.exists():
                    shutil.copyfile(file, synced / file.name)
        try:
            new = killed(path, run, rng, synced, synchronous, early)
        except ChildProcessError as error:
            if run % FRESH == 0:
                raise
            result.lost.append(f"what the last power failure left cannot be written to: {error}")
            break
        acknowledged += new
        if power:
            lose_power(path, folder / "synced", rng)
        result.kills += 1
        check(path, acknowledged, result)
        result.acknowledged += len(new)
        if result.lost or result.differences:
            break
    return result


def lose_power(path: Path, synced: Path, rng: np.random.Generator) -> None:
    """Put in the place of the database what a power failure leaves of it; what was synced begins anew from there."""
    for name in (path.name, f"{path.name}-wal"):
        disk.after_power_failure(synced / name, path.with_name(name), path.with_name(name + ".after"), rng)
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)
    for name in (path.name, f"{path.name}-wal"):
        path.with_name(name + ".after").replace(path.with_name(name))
        (synced / name).unlink(missing_ok=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=FRESH)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--synchronous", choices=["FULL", "OFF"], default="FULL")
    parser.add_argument("--early", action="store_true")
    chosen = parser.parse_args()
    result = torture(
        chosen.folder,
        chosen.kills,
        chosen.seed,
        power=chosen.power,
        synchronous=chosen.synchronous,
        early=chosen.early,
    )
    sys.stdout.write(json.dumps(result.__dict__) + "\n")


if __name__ == "__main__":
    main()
