"""What can happen below a service: a small disk, a database server that dies, lines cut at the worst moment."""

import contextlib
import itertools
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

import load_clients
from servers import Server
from takeup.errors import StoreError, TakeupError
from takeup.live import Trial
from takeup.randomness import stream

SOCKET = ".s.PGSQL.5432"
PATIENCE = 120.0
Result = TypeVar("Result")


def small_disk(folder: Path, megabytes: int) -> bool:
    """Mount a file system of this size; False where that is not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "takeup-small", str(folder)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def kill_postgres(postgres: Server) -> int:
    """SIGKILL for the postmaster and all its processes; how many they were."""
    pids = postgres_processes(postgres)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    until = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() and not _zombie(pid) for pid in pids) and time.monotonic() < until:
        time.sleep(0.01)
    # A dead process that nobody has waited for still has its number, and PostgreSQL would take it for alive.
    for lock in (postgres.data / "postmaster.pid", postgres.folder / f"{SOCKET}.lock"):
        lock.unlink(missing_ok=True)
    return len(pids)


def postgres_processes(postgres: Server) -> list[int]:
    """The postmaster and all its processes."""
    parent = int((postgres.data / "postmaster.pid").read_text().split()[0])
    return [parent, *_children(parent)]


def _children(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            if entry.name.isdecimal() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def _zombie(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


class Cutter:
    """Between a store and PostgreSQL: cuts the line before a COMMIT gets there, or before its answer gets back."""

    def __init__(self, folder: Path, postgres: Server, rng: np.random.Generator) -> None:
        self.share = 0.0
        self.cuts = {"before": 0, "after": 0}
        self._to, self._rng = str(postgres.folder / SOCKET), rng
        self._lock = threading.Lock()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """No new lines, and no more cuts."""
        self.share = 0.0
        self._listening.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(self._to)
                threading.Thread(target=self._ask, args=(near, far), daemon=True).start()
                threading.Thread(target=self._pass, args=(far, near), daemon=True).start()

    def _ask(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(1 << 20):
                cut = self._choose() if b"COMMIT" in data else None
                if cut == "before":
                    break
                if cut == "after":
                    near.shutdown(socket.SHUT_WR)  # whatever PostgreSQL says now, nobody hears it
                far.sendall(data)
                if cut == "after":
                    time.sleep(0.02)
                    break
        for line in (near, far):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def _pass(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(1 << 20):
                near.sendall(data)
        for line in (near, far):
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _choose(self) -> str | None:
        with self._lock:
            if self._rng.random() >= self.share:
                return None
            cut = "before" if self._rng.random() < 0.5 else "after"
            self.cuts[cut] += 1
            return cut


@contextmanager
def cutting(folder: Path, postgres: Server, seed: int) -> Iterator[Cutter]:
    """A cutter for a while; it cuts the share of lines that it is told to."""
    cutter = Cutter(folder, postgres, stream(seed))
    try:
        yield cutter
    finally:
        cutter.close()


def lines_cut(
    postgres: Server, url: str, folder: Path, cuts: int, seed: int, step: Callable[[int], None] = lambda _: None
) -> tuple[load_clients.Acknowledged, dict[str, int], list[str]]:
    """Cut so many lines around COMMIT, under four threads that ask again under the same keys."""
    said, spec, refused = load_clients.Acknowledged(), {**load_clients.SPEC, "name": "Cut"}, list[str]()
    with Trial.create(url, spec) as trial:
        trial.start()
        name = trial.id
    through = url.replace(str(postgres.folder), str(folder))
    with cutting(folder, postgres, seed) as cutter:
        with Trial.open(through) as trial:
            cutter.share = 0.3

            def work(thread: int) -> None:
                try:
                    decide_and_report(thread)
                except TakeupError as error:  # not that it cannot be done now: that is asked again
                    refused.append(str(error))

            def decide_and_report(thread: int) -> None:
                for i in itertools.count():
                    if sum(cutter.cuts.values()) >= cuts or refused:
                        return
                    step(sum(cutter.cuts.values()))
                    unit = f"{thread}-{i}"
                    decision = _until_done(partial(trial.decide, unit, i % 2, key=f"d{unit}"))
                    said.decided.append((decision.number, unit, decision.proposal))
                    receipt = _until_done(
                        partial(trial.report, decision, implemented=i % 3, outcome=i % 2, key=f"r{unit}")
                    )
                    said.reported.append((receipt.sequence, f"r{unit}"))

            threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        counted = dict(cutter.cuts)
    return said, counted, refused + load_clients.lost(url, name, said)


def _until_done(call: Callable[[], Result]) -> Result:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return call()
        except StoreError:
            assert time.monotonic() < until, "the database did not come back"
