"""How long a live decision takes with covariates, in process, after many events: with few features, 20 and 50.

Every decision is one transaction on a SQLite file, synced to the disk; `computing` is the same in memory, without any
database: the policy from the evidence, the event, and what it adds to the sums.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from takeup.checks import FloatArray
from takeup.live import Trial
from takeup.randomness import stream
from takeup.store import reading
from takeup.trial.commands import Ask, Decide, perform
from takeup.trial.reporting import Report

Done = TypeVar("Done")
BEFORE, MEASURED, TOGETHER = 2_000, 1_000, 500
POLICIES: dict[str, dict[str, Any]] = {"TS": {"kind": "TS"}, "LinTS": {"kind": "LinTS"}, "LinUCB": {"kind": "LinUCB"}}


def spec(features: int, policy: dict[str, Any]) -> dict[str, Any]:
    """A trial with so many features: an intercept, and measures."""
    known = {f"v{i}": {"kind": "measure", "low": 0, "high": 100} for i in range(features - 1)}
    space = {"proposals": ["usual", "new"], "covariates": known}
    return {"name": "Pace", "space": space, "policy": policy}


def unit(rng: np.random.Generator, features: int) -> dict[str, Any]:
    """Somebody."""
    return {f"v{i}": int(value) for i, value in enumerate(rng.integers(0, 101, features - 1))}


def measured(folder: Path, name: str, features: int) -> dict[str, FloatArray]:
    """Seconds on the clock and of the processor, [each, 2]: of decisions, of reports, and of computing decisions."""
    rng = stream(1, name, features)
    found: dict[str, list[tuple[float, float]]] = {"a decision": [], "a report": [], "computing": []}
    with Trial.create(folder / f"{name}-{features}.db", spec(features, POLICIES[name])) as trial:
        trial.start()
        for first in range(0, BEFORE, TOGETHER):
            some = [{"unit": str(first + i), "covariates": unit(rng, features)} for i in range(TOGETHER)]
            for decision in trial.decide_many(some):
                trial.submit(_report(decision.number, rng))
            trial.tick()
        for i in range(MEASURED):
            ask = Ask(unit=f"measured {i}", covariates=unit(rng, features))
            decision = timed(found["a decision"], lambda ask=ask: trial.submit(Decide(ask=ask)).result())  # type: ignore[misc]  # mypy knows no type of such a default
            report = _report(decision.number, rng)
            timed(found["a report"], lambda report=report: trial.submit(report).result())  # type: ignore[misc]  # likewise
        book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id, time_series=False))
    for i in range(MEASURED):
        command = Decide(ask=Ask(unit=f"computed {i}", covariates=unit(rng, features)))
        decision = timed(found["computing"], lambda command=command: perform(command, book, book.at + 1))  # type: ignore[misc]  # likewise
        perform(_report(decision.number, rng), book, book.at + 1)
        book.forget()
    return {what: np.array(each) for what, each in found.items()}


def timed(into: list[tuple[float, float]], work: Callable[[], Done]) -> Done:
    """Do it, and write down how long it took."""
    clock, processor = time.perf_counter(), time.process_time()
    done = work()
    into.append((time.perf_counter() - clock, time.process_time() - processor))
    return done


def _report(number: int, rng: np.random.Generator) -> Report:
    return Report(decision=number, implemented=int(rng.integers(2)), outcome=int(rng.integers(2)))


def main() -> None:
    """A table."""
    print(
        f"ms, median and 99th percentile, after {BEFORE:,} decisions with their reports: on the clock (the processor)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, features in (("TS", 20), ("LinTS", 4), ("LinTS", 20), ("LinUCB", 20), ("LinTS", 50)):
            words = []
            for what, each in measured(Path(folder), name, features).items():
                (clock, cpu), (late, late_cpu) = 1_000 * np.quantile(each, (0.5, 0.99), axis=0)
                words.append(f"{what} {clock:.1f} and {late:.1f} ({cpu:.1f} and {late_cpu:.1f})")
            print(f"{name:7} {features:3} features: {', '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
