"""How fast what clients decided comes in, and how fast it is audited.

    PYTHONPATH=tests python benchmarks/ingest.py [--rows 100000] [--batch 20000] [--rounds 5]
                                                 [--databases sqlite,postgresql] [--audited 1000000]

As in `takeup serve`, this process parses JSON lines and another one writes: SQLite with synchronous FULL, PostgreSQL
with synchronous_commit on. Every row is a decision with its action and its outcome. Databases take turns, round by
round, and go on growing; two batches are on their way at a time, so that one is parsed while another is written. `here`
and `writer` are processor time of the two processes, a row; PostgreSQL's own is not in it. Then as many decisions as
`--audited` says are written to one more SQLite file, and audited.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import servers
from takeup.live import Trial
from takeup.randomness import stream
from takeup.store import Store, Writer
from takeup.store.writer_process import WriterProcess
from takeup.trial.leases import Lease

MICRO = 1e6
SPEC: dict[str, Any] = {
    "name": "Edge",
    "space": {
        "proposals": ["a", "b", "c", "d", "e", "f"],
        "contexts": ["morning", "noon", "evening", "night"],
        "outcomes": ["no", "yes"],
    },
    "policy": {"kind": "TSObs"},
    "edge": {"allowed": True, "seconds": 3_600, "most": 10_000_000},
}


class Took(NamedTuple):
    """What a round took."""

    rate: float
    here: float
    writer: float


class Ingestion:
    """A database that takes in batches, with a process that writes."""

    def __init__(self, url: str) -> None:
        self.process = WriterProcess(partial(Writer, url))
        self.store = Store(url, writer=self.process)
        self.trial = Trial.create(self.store, SPEC)
        self.trial.start()
        self.sent = 0

    def round(self, rows: int, batch: int) -> Took:
        """Send so many rows."""
        lease = self.trial.lease()
        bodies = [_lines(lease, first, min(batch, rows)) for first in range(self.sent, self.sent + rows, batch)]
        began, here, writer = time.perf_counter(), time.process_time(), self._writer()
        with ThreadPoolExecutor(2) as pool:
            found = list(pool.map(self._send, range(self.sent, self.sent + rows, batch), bodies))
        wall, here, writer = time.perf_counter() - began, time.process_time() - here, self._writer() - writer
        assert sum(found) == rows
        self.sent += rows
        return Took(rows / wall, MICRO * here / rows, MICRO * writer / rows)

    def close(self) -> None:
        """End the process."""
        self.store.close()

    def _send(self, first: int, body: bytes) -> int:
        return self.trial.ingest(f"batch {first}", map(json.loads, body.splitlines())).recorded

    def _writer(self) -> float:
        """Seconds of the processor that the process which writes has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _lines(lease: Lease, first: int, many: int) -> bytes:
    """A batch as a client sends it."""
    rng = stream(1, "rows", first)
    contexts, took, came = rng.integers(0, 4, many), rng.random(many) < 0.8, rng.integers(0, 2, many)
    lines, fingerprint = [], lease.fingerprint
    for i in range(many):
        unit, x = f"user-{first + i:012d}", int(contexts[i])
        z = lease.draw(unit, None, x)
        row = {
            "unit": unit,
            "context": lease.contexts[x],
            "proposal": lease.proposals[z],
            "lease": lease.number,
            "drawn": lease.issued + i,
            "lease_hash": fingerprint,
            "implemented": lease.proposals[z if took[i] else 0],
            "outcome": ("no", "yes")[came[i]],
        }
        lines.append(json.dumps(row))
    return "\n".join(lines).encode()


def _urls(names: list[str], stack: ExitStack) -> Iterator[tuple[str, str]]:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="takeup-ingest-"))
    for name in names:
        if name == "sqlite":
            yield name, f"sqlite:///{folder}/trials.db"
        else:
            server = stack.enter_context(servers.postgresql())
            if server is None:
                print("no PostgreSQL on this machine")
                continue
            yield name, stack.enter_context(server.database())


def _spread(values: list[float], digits: int = 0) -> str:
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def ingested(names: list[str], rows: int, batch: int, rounds: int) -> None:
    """Measure what comes in."""
    with ExitStack() as stack:
        took: dict[str, list[Took]] = {}
        running = {name: Ingestion(url) for name, url in _urls(names, stack)}
        for each in running.values():
            stack.callback(each.close)
        for _ in range(rounds):
            for name, each in running.items():
                took.setdefault(name, []).append(each.round(rows, batch))
        for name, found in took.items():
            rate, here, writer = ([each[i] for each in found] for i in range(3))
            print(
                f"{name}: {_spread(rate)} rows a second; here {_spread(here, 1)} us a row, writer {_spread(writer, 1)}"
            )


def audited(rows: int, batch: int) -> None:
    """Measure the audit."""
    with tempfile.TemporaryDirectory(prefix="takeup-ingest-") as folder:
        ingestion = Ingestion(f"sqlite:///{folder}/trials.db")
        took = [ingestion.round(min(100_000, rows - first), batch) for first in range(0, rows, 100_000)]
        print(f"written: {_spread([each.rate for each in took])} rows a second")
        began, spent = time.perf_counter(), time.process_time()
        found = ingestion.trial.audit()
        wall, spent = time.perf_counter() - began, time.process_time() - spent
        assert found.passed, found
        assert found.leased == rows
        print(f"audit of {rows:,} decisions: {wall:.1f} s, {spent:.1f} s of the processor")
        ingestion.close()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--databases", default="sqlite,postgresql")
    parser.add_argument("--audited", type=int, default=1_000_000)
    given = parser.parse_args()
    if given.rounds:
        ingested(given.databases.split(","), given.rows, given.batch, given.rounds)
    if given.audited:
        audited(given.audited, given.batch)


if __name__ == "__main__":
    main()
