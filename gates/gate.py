"""A gate, what a run of it is given, and what it finds."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SOMETIMES = 5.0
"""Seconds between two lines of progress."""


class AbsentError(Exception):
    """What a gate needs is not on this machine: a PostgreSQL, the right to mount a small disk. It says what."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came out.

    Attributes:
        passed: whether all was as it must be.
        figures: counts and what was seen, in words; where it did not pass, what was wrong.
    """

    passed: bool
    figures: str


@dataclass(slots=True)
class Run:
    """What a gate is run with.

    Attributes:
        folder: an empty folder of its own.
        times: how often, in the gate's own unit.
        seed: all chance of the gate follows from it.
        timed: whether bounds of time count; in the suite, beside other work, they do not.
        say: takes lines of progress.
    """

    folder: Path
    times: int
    seed: int
    timed: bool = True
    say: Callable[[str], None] = field(default=lambda _: None)
    _said: float = field(default_factory=time.monotonic)

    def step(self, done: int, what: str = "") -> None:
        """So much is done; a line every few seconds says it."""
        if time.monotonic() > self._said + SOMETIMES:
            self._said = time.monotonic()
            self.say(f"{done:,} of {self.times:,} {what}".strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Something that must hold, however often it is tried.

    Attributes:
        name: a word or a few, for `--only`.
        part: under which heading of docs/gates.md it stands.
        shows: what was done and what must hold then, as a row of a table has it.
        unit: what `times` counts.
        times: how often at full scale.
        suite: how often in the suite; 0 where it is too dear or its verdict depends on the machine.
        run: does it.
        without: what the control takes away.
        control: the same without the protection, as often as it takes: it must not pass, or the gate sees nothing.
        control_times: what `times` is for the control.
    """

    name: str
    part: str
    shows: str
    unit: str
    times: int
    suite: int
    run: Callable[[Run], Found]
    without: str
    control: Callable[[Run], Found]
    control_times: int = 1

    def at(self, scale: float) -> int:
        """How often at a scale."""
        return max(1, round(self.times * scale))
