"""Kill processes that decide at the edge, the service and its writer, and look for what was acknowledged.

    python tests/edge_kills.py FOLDER --kills 12 [--victim edge] [--unsynced] [--control]

Prints what was lost as JSON. An edge that is synced has every decision on the disk before it tells anybody. The victim
`power` is an edge too, and of its spool the disk keeps what had been synced and any part of what was written later.
With --unsynced it must lose something. With --control one more edge is killed, unsynced, whose writer never wakes: what
it loses does not depend on when that is.
"""

import argparse
import json
import os
import signal
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

import edges
from serving import Served
from takeup.client import Client, Edge, edge_writer
from takeup.errors import TakeupError
from takeup.randomness import stream

VICTIMS = ("edge", "power", "service", "writer")
THREADS = 4
FRESH = 20
"""How many kills a database gets before a new one begins, so that audits stay short."""
SECONDS = 0.3
"""A kill comes within so many seconds after the first acknowledgement."""
AFTER = 0.3
"""How long an edge goes on without its service, or without the service's writer."""


@dataclass
class Result:
    """What became of it all."""

    kills: Counter[str] = field(default_factory=Counter)
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    control: tuple[int, int] = (0, 0)
    """What the control acknowledged, and how much of it the check misses."""


@dataclass(frozen=True)
class Job:
    """What an edge process is told."""

    url: str
    key: str
    trial: str
    spool: Path
    run: int
    sync: bool
    idle: bool


def decide_for_ever(job: Job, said: int, synced: int) -> None:
    """Decide and report, and say what was decided: one line each, in one atomic write."""
    fsync = os.fsync

    def recorded(fd: Any) -> None:
        fsync(fd)
        name = Path(os.readlink(f"/proc/self/fd/{fd}")).name
        os.write(synced, f"{json.dumps([name, os.fstat(fd).st_size])}\n".encode())

    os.fsync = recorded
    if job.idle:
        edge_writer.PAUSE = 3_600.0
    client = Client(job.url, job.key, timeout=5.0)
    with Edge(client, job.trial, spool=job.spool, sync=job.sync, seconds=0.05, batch=500) as here:

        def work(thread: int) -> None:
            for i in range(1_000_000):
                made = here.decide(f"{job.run}-{thread}-{i}", i % 2)
                os.write(said, f"{json.dumps([made.unit, made.proposal])}\n".encode())
                here.report(made, implemented=made.proposal, outcome=i % 2)
                if not job.sync:
                    time.sleep(0.001)

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


class Child:
    """An edge process, what it has acknowledged, and what the disk has of its spool."""

    def __init__(self, job: Job) -> None:
        (self._said, into), (self._synced, recorded) = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._said)
            os.close(self._synced)
            try:
                decide_for_ever(job, into, recorded)
            finally:
                os._exit(1)
        os.close(into)
        os.close(recorded)
        self._lines = {self._said: b"", self._synced: b""}
        self._threads = [threading.Thread(target=self._listen, args=(pipe,)) for pipe in self._lines]
        for thread in self._threads:
            thread.start()

    def _listen(self, pipe: int) -> None:
        while part := os.read(pipe, 1 << 16):
            self._lines[pipe] += part
        os.close(pipe)

    def wait(self) -> None:
        """Until it has acknowledged something."""
        while not self._lines[self._said]:
            if not self._threads[0].is_alive():
                raise ChildProcessError("the edge ended by itself")
            time.sleep(0.005)

    def kill(self) -> tuple[dict[str, str], dict[str, int]]:
        """What it acknowledged, a proposal by unit, and how much of each file was synced, by name."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        for thread in self._threads:
            thread.join()
        if os.waitstatus_to_exitcode(status) != -signal.SIGKILL:
            raise ChildProcessError(f"the edge ended by itself: {os.waitstatus_to_exitcode(status)}")
        said, synced = (self._lines[pipe].split(b"\n")[:-1] for pipe in (self._said, self._synced))
        return dict(json.loads(line) for line in said), dict(json.loads(line) for line in synced)


def lose_power(spool: Path, synced: dict[str, int], rng: np.random.Generator) -> None:
    """Leave of the file that is written to what was synced, and any part of the rest with any bytes wrong."""
    for path in spool.glob("*.open"):
        content, kept = path.read_bytes(), synced.get(path.name, 0)
        rest = bytearray(content[kept : kept + int(rng.integers(len(content) - kept + 1))])
        for place in range(len(rest)):
            if rng.random() < 0.1:
                rest[place] = int(rng.integers(256))
        path.write_bytes(content[:kept] + bytes(rest))


def kill_once(server: Served, job: Job, victim: str, rng: np.random.Generator) -> tuple[Served, dict[str, str]]:
    """One kill, and the end of the edge in any case; the service that runs afterwards, and what was acknowledged."""
    child = Child(job)
    try:
        child.wait()
        time.sleep(SECONDS * rng.random())
        if victim == "service":
            server.kill()
            time.sleep(AFTER * rng.random())
            server = Served(server.database, server.log.parent, ["--rate", "1000000"], server.port)
            time.sleep(AFTER)
        elif victim == "writer":
            writer = server.writer()
            assert writer is not None
            os.kill(writer, signal.SIGKILL)
            time.sleep(AFTER)
    finally:
        said, synced = child.kill()
    if victim == "power":
        lose_power(job.spool, synced, rng)
    return server, said


def drain(job: Job) -> None:
    """Send what the killed edges left, as the next edge on the same folder does."""
    while True:
        with Client(job.url, job.key, timeout=60.0) as client:
            try:
                with Edge(client, job.trial, spool=job.spool) as here:
                    if here.flush():
                        return
            except TakeupError:
                time.sleep(0.1)


def torture(
    folder: Path, kills: int, seed: int, *, victims: tuple[str, ...] = VICTIMS, sync: bool = True, control: bool = False
) -> Result:
    """Kill and look, so many times."""
    result, rng, run = Result(), stream(seed), 0
    while run < kills and not result.lost:
        place, acknowledged = folder / f"from-{run}", dict[str, str]()
        place.mkdir(parents=True)
        server = Served(place / "trials.db", place, ["--rate", "1000000"])
        try:
            key = server.key(*edges.SCOPES)
            trial = server.trial(edges.SPEC, key)
            for run in range(run, min(run + FRESH, kills)):  # noqa: B020  # goes on from where it was
                victim = victims[run % len(victims)]
                job = Job(server.url, key, trial, place / "spool", run, sync, idle=False)
                server, said = kill_once(server, job, victim, rng)
                acknowledged |= said
                result.kills[victim] += 1
            run += 1
            result.acknowledged += len(acknowledged)
            drain(job)
            result.lost = edges.lost(server.database, trial, acknowledged)
            if control and not result.lost:
                idle = replace(job, run=kills, sync=False, idle=True)
                server, said = kill_once(server, idle, "edge", rng)
                drain(job)
                result.control = len(said), len(edges.lost(server.database, trial, acknowledged | said))
        finally:
            server.stop()
    return result


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--victim", action="append", choices=VICTIMS)
    parser.add_argument("--unsynced", action="store_true")
    parser.add_argument("--control", action="store_true")
    chosen = parser.parse_args()
    result = torture(
        chosen.folder,
        chosen.kills,
        chosen.seed,
        victims=tuple(chosen.victim or VICTIMS),
        sync=not chosen.unsynced,
        control=chosen.control,
    )
    sys.stdout.write(json.dumps(result.__dict__) + "\n")


if __name__ == "__main__":
    main()
