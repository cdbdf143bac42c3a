"""Torn write-ahead logs: what SQLite's -wal holds before the first damaged byte is there, whole, and nothing else.

A store writes, one request after the other, and it is written down how long the -wal was when each was acknowledged.
Then the files are copied as a kill would leave them, and the -wal is cut off, garbled or zeroed from some byte on. What
must hold, exactly: the database opens, its log ends with the last event that was acknowledged when the -wal was no
longer than the undamaged part, the audit passes, and the trial goes on. What was acknowledged later was in the part
that the disk destroyed; that it is missing is what anchors show. What was not synced yet was not acknowledged.
"""

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gates.gate import Found, Gate, Run
from store_internals import engine
from takeup.errors import TakeupError
from takeup.live import Trial, audit
from takeup.randomness import stream
from takeup.store import looking

SPEC = {"name": "Torn", "space": {"proposals": 2, "contexts": 2}, "policy": {"kind": "TSObs"}}
TEARS = 250
"""So many of each database."""

REQUESTS = 30
HEAD, FRAME = 32, 24


@dataclass(frozen=True, slots=True)
class Victim:
    """A database and its -wal as a kill leaves them.

    Attributes:
        database: the bytes of the file.
        log: the bytes of its -wal.
        marks: how long the -wal was, and how long the trial's log, after each request.
    """

    database: bytes
    log: bytes
    marks: tuple[tuple[int, int], ...]

    def events(self, intact: int) -> int:
        """How many events there must be where so many bytes of the -wal are undamaged."""
        return max((events for size, events in self.marks if size <= intact), default=0)


def victim(folder: Path, rng: np.random.Generator) -> Victim:
    """A new one: a trial that began before its -wal did, and some requests."""
    path = folder / "victim.db"
    log = folder / "victim.db-wal"
    with Trial.create(path, SPEC) as trial:
        trial.start()
    marks = [(0, 2)]
    with Trial.open(path) as trial:
        driver = engine(trial.store).raw_connection().driver_connection
        assert driver is not None
        driver.execute("PRAGMA wal_autocheckpoint = 0")
        for i in range(REQUESTS):
            some = int(rng.integers(1, 4))
            decided = trial.decide_many([{"unit": f"{i}-{j}", "context": j % 2} for j in range(some)])
            marks.append((log.stat().st_size, trial.progress().sequence))
            for made in decided:
                trial.report(made, implemented=int(rng.integers(2)), outcome=int(rng.integers(2)))
                marks.append((log.stat().st_size, trial.progress().sequence))
        found = Victim(path.read_bytes(), log.read_bytes(), tuple(marks))
    for each in folder.glob("victim.db*"):
        each.unlink()
    return found


def tear(log: bytes, rng: np.random.Generator) -> tuple[bytes, int]:
    """The -wal with damage, and how much of it is undamaged before that."""
    at = int(rng.integers(len(log)))
    kind = rng.integers(4)
    if kind == 0:  # the end is missing
        return log[:at], at
    length = int(rng.integers(1, 2_000))
    if kind == 1:  # some bytes are others
        noise = bytes((byte ^ int(rng.integers(1, 256))) for byte in log[at : at + length])
        return log[:at] + noise + log[at + length :], at
    sector = at // 512 * 512
    missing = 512 if kind == 2 else len(log) - sector  # a sector was never written, or all from there on
    torn = (log[:sector] + bytes(missing) + log[sector + missing :])[: len(log)]
    others = np.flatnonzero(np.frombuffer(log, np.uint8) != np.frombuffer(torn, np.uint8))
    return torn, int(others[0]) if others.size else len(log)


def found(folder: Path, victim: Victim, log: bytes, expected: int | None, *, goes_on: bool) -> str | None:
    """What is wrong with a database and its -wal; None where nothing is.

    Args:
        folder: where to put them.
        victim: whose database it is.
        log: its -wal.
        expected: how many events there must be.
        goes_on: whether to ask for another decision.
    """
    path = folder / "torn.db"
    for name, content in (("torn.db", victim.database), ("torn.db-wal", log)):
        (folder / name).write_bytes(content)
        (folder / name).chmod(0o600)
    try:
        with looking(path) as connection:
            seen = audit(connection, "torn")
        if not seen.passed:
            return f"the audit found {seen.difference}"
        if seen.events != expected:
            return f"{seen.events} events where {expected} must be"
        if goes_on:
            with Trial.open(path) as trial:
                trial.decide("another", 0)
                return None if trial.audit().passed else "it does not go on"
    except TakeupError as error:
        return str(error)
    finally:
        for each in folder.glob("torn.db*"):
            each.unlink()
    return None


def torn(run: Run) -> Found:
    """So many tears."""
    rng, wrong, lost, whole = stream(run.seed, "torn"), list[str](), 0, 0
    of = victim(run.folder, rng)
    for i in range(run.times):
        if i and i % TEARS == 0:
            of = victim(run.folder, rng)
        log, intact = tear(of.log, rng)
        expected = of.events(intact)
        whole += expected == of.marks[-1][1]
        lost += of.marks[-1][1] - expected
        problem = found(run.folder, of, log, expected, goes_on=i % 10 == 0)
        if problem is not None:
            wrong.append(f"{problem} ({intact} of {len(of.log)} bytes intact)")
        run.step(i + 1)
    figures = f"{run.times:,} logs, {lost:,} events in damaged parts, {len(wrong)} that are not the exact beginning"
    return Found(not wrong, f"{figures}: {wrong[0]}" if wrong else f"{figures}, every audit passed")


def unsummed(run: Run) -> Found:
    """Other bytes within a page, with checksums that fit: what SQLite would make of a -wal without them."""
    rng, wrong = stream(run.seed, "unsummed"), list[str]()
    of = victim(run.folder, rng)
    for _ in range(run.times):
        damaged = resummed(_spoiled(of.log, rng))
        problem = found(run.folder, of, damaged, of.marks[-1][1], goes_on=False)
        wrong += [] if problem is None else [problem]
    figures = f"{run.times} logs, {len(wrong)} wrong"
    return Found(not wrong, f"{figures}, the first: {wrong[0][:160]}" if wrong else figures)


def _spoiled(log: bytes, rng: np.random.Generator) -> bytes:
    """Every hundredth byte of a page is another, where nothing later in the -wal takes its place."""
    size = FRAME + _page(log)
    last = {log[place : place + 4]: place for place in range(HEAD, len(log) - size + 1, size)}
    place = list(last.values())[int(rng.integers(len(last)))] + FRAME
    page = bytearray(log[place : place + _page(log)])
    for i in range(0, len(page), 100):
        page[i] ^= 0xA5
    return log[:place] + bytes(page) + log[place + _page(log) :]


def resummed(log: bytes) -> bytes:
    """A -wal whose checksums fit what it holds: each goes on from the one before, over the frame's head and page."""
    order = ">" if struct.unpack(">I", log[:4])[0] & 1 else "<"
    sums = struct.unpack(">II", log[24:32])
    out, size = bytearray(log), FRAME + _page(log)
    for place in range(HEAD, len(log) - size + 1, size):
        sums = _summed(sums, out[place : place + 8] + out[place + FRAME : place + size], order)
        struct.pack_into(">II", out, place + 16, *sums)
    return bytes(out)


def _page(log: bytes) -> int:
    return int(struct.unpack(">I", log[8:12])[0])


def _summed(sums: tuple[int, int], content: bytes | bytearray, order: str) -> tuple[int, int]:
    one, other = sums
    for a, b in struct.iter_unpack(f"{order}II", content):
        one = (one + a + other) & 0xFFFFFFFF
        other = (other + b + one) & 0xFFFFFFFF
    return one, other


GATES = (
    Gate(
        name="torn-logs",
        part="faults",
        shows="SQLite's write-ahead log cut off, garbled or zeroed from any byte on: the log is the exact beginning "
        "that was acknowledged up to there, its audit passes, the trial goes on",
        unit="logs",
        times=5_000,
        suite=12,
        run=torn,
        without="the checksums of the -wal: other bytes, with sums that fit",
        control=unsummed,
        control_times=4,
    ),
)
