"""How long a live decision takes with covariates, in process, after many events, with 4, 20 or 50 features.

    python benchmarks/live_covariates.py [--events 2000] [--measured 1000] [--only LinTS-20,LogitTSObs-20]

Every decision is one transaction on a SQLite file, synced to the disk; `computing` is the same in memory, without any
database: the policy from the evidence, the event, and what it adds to the sums. The events before are past assignments
with their outcomes, written as taking them over would write them, which an audit of the first few confirms.
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection, insert, update

from takeup import Event, Rows
from takeup.checks import FloatArray, IntArray
from takeup.live import Trial
from takeup.randomness import stream
from takeup.store import Store, Writer, books, bulk, reading, sum_rows
from takeup.store.schema import decisions, events, evidence, trials
from takeup.trial.book import Book, Entry, Record
from takeup.trial.commands import Ask, Decide, perform
from takeup.trial.design import canonical
from takeup.trial.epoch_counts import Cell
from takeup.trial.events import TakenOver, body_of, link
from takeup.trial.reporting import Report

Done = TypeVar("Done")
CASES = ("TS-20", "LinTS-4", "LinTS-20", "LinUCB-20", "LinTSObs-20", "LogitTSObs-20", "LinTS-50")
TOGETHER = 10_000
CHECKED = 200
"""After how many events the audit looks whether they are what they should be."""


def spec(features: int, kind: str) -> dict[str, Any]:
    """A trial with so many features: an intercept, and measures."""
    known = {f"v{i}": {"kind": "measure", "low": 0, "high": 100} for i in range(features - 1)}
    space = {"proposals": ["usual", "new"], "covariates": known}
    return {"name": "Pace", "space": space, "policy": {"kind": kind}}


def unit(rng: np.random.Generator, features: int) -> dict[str, Any]:
    """Somebody."""
    return {f"v{i}": int(value) for i, value in enumerate(rng.integers(0, 101, features - 1))}


def filled(path: Path, kind: str, features: int, many: int) -> None:
    """A trial that has taken over so many people, and runs."""
    with Store(path) as store:
        trial = Trial.create(store, spec(features, kind), trial="pace")
        assert isinstance(store.writer, Writer)
        with store.writer.engine.begin() as connection:
            take_over(connection, reading.snapshot(connection, "pace"), features, many)
    with Trial.open(path) as trial:
        trial.start()


def take_over(connection: Connection, book: Book, features: int, many: int) -> None:
    """The events and the tables of so many past assignments, without a book that holds them all."""
    rng, space = stream(1, "past"), book.design.space
    table = rng.integers(0, 101, (many, features - 1))
    z, a, y = rng.integers(0, 2, (3, many))
    for first in range(0, many, TOGETHER):
        entries, records = [], []
        for i in range(first, min(first + TOGETHER, many)):
            covariates = {f"v{j}": value for j, value in enumerate(table[i].tolist())}
            event = TakenOver(
                at=book.at,
                number=i + 1,
                unit=f"past {i}",
                context=space.contexts[0],
                proposal=space.proposals[z[i]],
                implemented=space.implemented[a[i]],
                outcome=space.outcomes[y[i]],
                covariates=covariates,
            )
            body = body_of(event)
            book.sequence += 1
            book.hash = link(book.hash, book.sequence, body)
            entry = Entry(book.sequence, book.hash, event.kind, event.at, event.number, body)
            entries.append(books.event_row(book.trial, entry))
            known = (0, int(z[i]), book.at, None, book.sequence, int(a[i]), int(y[i]), False, False, True)
            record = Record(i + 1, event.unit, "", *known, canonical(covariates))
            records.append(books.record_row(book.trial, record))
        bulk.insert(connection, events, entries)
        bulk.insert(connection, decisions, records)
    book.decisions = book.tally.past = many
    book.version = book.sequence
    summed(connection, book, table, (z, a, y))
    connection.execute(update(trials).where(trials.c.id == book.trial).values(books.head_values(book)))


def summed(connection: Connection, book: Book, table: IntArray, known: tuple[IntArray, IntArray, IntArray]) -> None:
    """What they add to the evidence."""
    space = book.design.space
    assert space.covariates is not None
    order = [int(name[1:]) for name in space.covariates.names]
    v = np.concatenate([np.full((len(table), 1), 1_000), 10 * table[:, order]], axis=1)
    for first in range(0, len(table), TOGETHER):
        part = slice(first, first + TOGETHER)
        z, a, y = (each[part] for each in known)
        some = Rows.gathered(space, Event(np.zeros_like(z), z, a, y, features=v[part]))
        book.counts += some.evidence().counts
    cells: list[Cell] = [(x, z, a, y) for x, z, a, y in np.argwhere(book.counts[..., : space.outcome.cells]).tolist()]
    connection.execute(insert(evidence), [books.cell_values(book, cell) for cell in cells])
    book.changes.sums.update((x, z, a) for x, z, a, _ in cells)
    sum_rows.save(connection, book)


def measured(path: Path, features: int, many: int) -> dict[str, FloatArray]:
    """Seconds on the clock and of the processor, [each, 2]: of decisions, of reports, and of computing decisions."""
    rng = stream(2, os.urandom(8).hex())
    found: dict[str, list[tuple[float, float]]] = {"a decision": [], "a report": [], "computing": []}
    with Store(path) as store:
        trial = Trial(store, "pace")
        fit(store, trial, features)
        for _ in range(many):
            ask = Ask(unit=f"measured {rng.integers(10**15)}", covariates=unit(rng, features))
            decision = timed(found["a decision"], lambda ask=ask: trial.submit(Decide(ask=ask)).result())  # type: ignore[misc]  # mypy knows no type of such a default
            report = _report(decision.number, rng)
            timed(found["a report"], lambda report=report: trial.submit(report).result())  # type: ignore[misc]  # likewise
        book = store.read(lambda connection: reading.snapshot(connection, trial.id, time_series=False))
    for i in range(many):
        command = Decide(ask=Ask(unit=f"computed {i}", covariates=unit(rng, features)))
        decision = timed(found["computing"], lambda command=command: perform(command, book, book.at + 1))  # type: ignore[misc]  # likewise
        perform(_report(decision.number, rng), book, book.at + 1)
        book.forget()
    return {what: np.array(each) for what, each in found.items()}


def fit(store: Store, trial: Trial, features: int) -> None:
    """Let a policy that fits models fit them to all that there is, and say how long it took."""
    rng = stream(3, os.urandom(8).hex())
    trial.decide(f"warm {rng.integers(10**15)}", covariates=unit(rng, features))
    began = time.perf_counter()
    assert isinstance(store.writer, Writer)
    store.writer.fits.wait()
    took = time.perf_counter() - began
    if took > 1:
        print(f"models were fitted to all decisions within {took:.0f} s, by another process")
    for _ in range(20):
        trial.decide(f"warm {rng.integers(10**15)}", covariates=unit(rng, features))


def timed(into: list[tuple[float, float]], work: Callable[[], Done]) -> Done:
    """Do it, and write down how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    done = work()
    into.append((time.perf_counter() - clock, time.process_time() - processor))
    return done


def said(found: dict[str, FloatArray]) -> str:
    """Median and 99th percentile, in ms."""
    words = []
    for what, each in found.items():
        (clock, cpu), (late, late_cpu) = 1_000 * np.quantile(each, (0.5, 0.99), axis=0)
        words.append(f"{what} {clock:.1f} and {late:.1f} ({cpu:.1f} and {late_cpu:.1f})")
    return ", ".join(words)


def load() -> str:
    """How busy the machine is."""
    return f"load {' '.join(f'{each:.1f}' for each in os.getloadavg())} on {os.cpu_count()} cores"


def _report(number: int, rng: np.random.Generator) -> Report:
    return Report(decision=number, implemented=int(rng.integers(2)), outcome=int(rng.integers(2)))


def main() -> None:
    """A table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=2_000)
    parser.add_argument("--measured", type=int, default=1_000)
    parser.add_argument("--only", default=",".join(CASES))
    given = parser.parse_args()
    print(f"ms, median and 99th percentile, after {given.events:,} events: on the clock (the processor); {load()}")
    with tempfile.TemporaryDirectory() as folder:
        for case in given.only.split(","):
            kind, features = case.split("-")[0], int(case.split("-")[1])
            filled(Path(folder) / "checked.db", kind, features, CHECKED)
            with Trial.open(Path(folder) / "checked.db") as trial:
                assert trial.audit().passed, trial.audit()
            path = Path(folder) / f"{case}.db"
            began = time.perf_counter()
            filled(path, kind, features, given.events)
            wrote = time.perf_counter() - began
            words = said(measured(path, features, given.measured))
            print(f"{kind:10} {features:3} features: {words}; filled in {wrote:.0f} s; {load()}", flush=True)
            for each in Path(folder).iterdir():
                each.unlink()


if __name__ == "__main__":
    main()
