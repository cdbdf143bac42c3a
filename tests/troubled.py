"""A policy that goes wrong when it is told to, and a writer in whose process it is known."""

import itertools
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np
from sqlalchemy import Connection, text

from takeup.policies import Allocation, Beliefs, Card, Exact, FromEvidence, Variant, registry
from takeup.store import Writer
from takeup.store.writer_process import Deadlines, WriterProcess
from takeup.trial.computing import METER, ComputingLimits

if TYPE_CHECKING:
    import pytest  # the process that writes has no use for it

FILE = "TAKEUP_TEST_TROUBLE"
"""The environment's name for the file that says what goes wrong; nothing does where there is none."""

SPEC: dict[str, Any] = {
    "name": "Troubled",
    "space": {"proposals": ["rest", "drug"], "contexts": ["young", "old"]},
    "policy": {"kind": "Troubled"},
    "rehearsal": True,
    "seed": 11,
}


def _compute() -> NoReturn:
    while True:
        pass


def _compute_on() -> NoReturn:
    while True:
        try:
            _compute()
        except Exception:
            continue


def _fail() -> NoReturn:
    raise ZeroDivisionError("an arm has 17 outcomes")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


TROUBLES: Mapping[str, Callable[[], object]] = {
    "computes": _compute,
    "catches everything": _compute_on,
    "fails": _fail,
    "wants memory": lambda: np.zeros(1 << 40),
    "hangs": lambda: time.sleep(1e6),  # no computing that a signal could interrupt
    "dies": _die,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Troubled(FromEvidence):
    """Proposes at random, unless there is trouble."""

    card: ClassVar[Card] = Card(
        name="Troubled",
        family="bandits",
        source="none",
        compliance="not used",
        variants=(Variant("For tests."),),
        parameters={},
    )

    def beliefs(self, evidence: Any, context: Any, rng: Any) -> Beliefs:
        file = Path(os.environ[FILE])
        trouble = file.read_text() if file.exists() else ""
        if trouble in TROUBLES:
            TROUBLES[trouble]()
        return Exact(np.full(2, np.nan if trouble == "refuses" else 0.5))

    def allocation(self, evidence: Any, context: int, rng: Any, draws: int = 0) -> Allocation:
        found = super().allocation(evidence, context, rng, draws)
        trouble = Path(os.environ[FILE])
        wrong = trouble.exists() and trouble.read_text() == "is not a number"
        return replace(found, probability=found.probability * np.nan) if wrong else found


def writer(database: str, ticking: bool) -> Writer:
    """In the process that writes; where it ticks, a second goes by whenever somebody looks at the clock."""
    registry.register(Troubled)
    METER.clock = itertools.count().__next__ if ticking else METER.clock
    return Writer(database)


def stop(connection: Connection) -> None:
    """Stop the process that writes, in a transaction, which holds the lock."""
    connection.execute(text("DELETE FROM sessions"))
    os.kill(os.getpid(), signal.SIGSTOP)


@contextmanager
def process(
    database: str,
    monkeypatch: "pytest.MonkeyPatch",
    folder: Path,
    deadlines: Deadlines | None = None,
    limits: ComputingLimits = ComputingLimits(decision=0.5),
    *,
    ticking: bool = False,
) -> Iterator[tuple[WriterProcess, Path]]:
    """A process that writes, and the file that says what goes wrong in it."""
    trouble = folder / "trouble"
    monkeypatch.setenv(FILE, str(trouble))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    monkeypatch.setattr(registry, "_registered", {})
    registry.register(Troubled)
    try:
        yield WriterProcess(partial(writer, database, ticking), None, limits, deadlines), trouble
    finally:
        registry.variants.cache_clear()
