"""How long a live decision takes with covariates, in process, after many events: with few features, 20 and 50.

Every decision is one transaction on a SQLite file, synced to the disk; `computing` is the same in memory, without any
database: the policy from the evidence, the event, and what it adds to the sums.
"""

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from takeup.live import Trial
from takeup.randomness import stream
from takeup.store import reading
from takeup.trial.commands import Ask, Decide, perform
from takeup.trial.reporting import Report

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


def measured(folder: Path, name: str, features: int) -> dict[str, tuple[float, float]]:
    """Median and 99th percentile in milliseconds: of a decision, of a report, and of computing a decision."""
    rng = stream(1, name, features)
    with Trial.create(folder / f"{name}-{features}.db", spec(features, POLICIES[name])) as trial:
        trial.start()
        for first in range(0, BEFORE, TOGETHER):
            some = [{"unit": str(first + i), "covariates": unit(rng, features)} for i in range(TOGETHER)]
            for decision in trial.decide_many(some):
                trial.submit(_report(decision.number, rng))
            trial.tick()
        deciding, reporting = [], []
        for i in range(MEASURED):
            who = unit(rng, features)
            begun = time.perf_counter()
            decision = trial.decide(f"measured {i}", covariates=who)
            deciding.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            trial.submit(_report(decision.number, rng)).result()
            reporting.append(time.perf_counter() - begun)
        book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id, time_series=False))
    computing = []
    for i in range(MEASURED):
        command = Decide(ask=Ask(unit=f"computed {i}", covariates=unit(rng, features)))
        begun = time.perf_counter()
        decided = perform(command, book, book.at + 1)
        computing.append(time.perf_counter() - begun)
        perform(_report(decided.number, rng), book, book.at + 1)
        book.forget()
    every = {"a decision": deciding, "a report": reporting, "computing": computing}
    return {what: tuple(1_000 * np.quantile(each, (0.5, 0.99))) for what, each in every.items()}


def _report(number: int, rng: np.random.Generator) -> Report:
    return Report(decision=number, implemented=int(rng.integers(2)), outcome=int(rng.integers(2)))


def main() -> None:
    """A table."""
    print(f"median and 99th percentile in ms, after {BEFORE:,} decisions with their reports")
    with tempfile.TemporaryDirectory() as folder:
        for name, features in (("TS", 20), ("LinTS", 4), ("LinTS", 20), ("LinUCB", 20), ("LinTS", 50)):
            found = measured(Path(folder), name, features)
            told = ", ".join(f"{what} {median:.2f} and {most:.2f}" for what, (median, most) in found.items())
            print(f"{name:7} {features:3} features: {told}", flush=True)


if __name__ == "__main__":
    main()
