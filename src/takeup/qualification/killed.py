"""A trial whose process is killed while it decides. As a program it is that process: it says what was acknowledged."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from threading import Thread, Timer
from typing import Any

from takeup import pipes
from takeup.errors import StoreError
from takeup.live import Anchors, Trial, new_key, read_key

SPEC: dict[str, Any] = {
    "name": "Qualification",
    "space": {
        "proposals": ["usual care", "new drug"],
        "contexts": ["young", "old"],
        "outcomes": ["died", "lived"],
    },
    "policy": {"kind": "TSObs"},
    "limits": {"floor": 0.1},
}
BEFORE, AFTER, THREADS = 20, 150, 4
"""Decisions before the copy that a thief of time would put back, acknowledgements until the kill, and who asks."""
WAIT_SECONDS = 300.0

Acknowledged = tuple[str, int, str, str]
"""What was done, its number, the unit, and what was proposed."""


class KilledTrial:
    """A trial in a folder, with anchors, whose process was killed.

    Args:
        folder: where it is kept.

    Attributes:
        database: its file.
        early: a copy of it from before the process began.
        acknowledged: all that the process said was done.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.database, self.early = folder, folder / "trial.db", folder / "early.db"
        new_key(folder / "anchors.key")
        with Trial.create(self.database, SPEC, witness=_anchors(folder)) as trial:
            trial.start(by="qualification")
            for i in range(BEFORE):
                trial.decide(f"early {i}", i % 2)
        self.early.write_bytes(self.database.read_bytes())
        self.acknowledged = _killed(folder)
        self.open().close()  # recovers what the kill left in the write-ahead log

    def open(self) -> Trial:
        """The trial, to go on with."""
        return Trial.open(self.database, witness=_anchors(self.folder))


def _anchors(folder: Path) -> Anchors:
    return Anchors(folder / "anchors.jsonl", read_key(folder / "anchors.key"))


def _killed(folder: Path) -> list[Acknowledged]:
    """Start the process, kill it when it has acknowledged enough, and return all that it had."""
    command = [*pipes.running("takeup.qualification.killed"), str(folder)]
    errors = folder / "killed.log"
    with errors.open("wb") as log, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log) as process:
        assert process.stdout is not None
        late = Timer(WAIT_SECONDS, process.kill)  # one that hangs says too little, and that is found
        late.start()
        try:
            lines = list(islice(process.stdout, AFTER))
        finally:
            process.kill()
            late.cancel()
        lines += process.stdout.read().splitlines(keepends=True)
    if len(lines) < AFTER:
        said = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise StoreError(f"the process that decides ended by itself: {' '.join(said) or 'without a word'}")
    return [tuple(json.loads(line)) for line in lines if line.endswith(b"\n")]


def logged(trial: Trial) -> "Counter[Acknowledged]":
    """How often each decision and each report is in a log."""
    found: Counter[Acknowledged] = Counter()
    for event in trial.events(limit=1_000_000):
        body = json.loads(event.body)
        if event.kind == "decided":
            found["decided", body["number"], body["unit"], body["proposal"]] += 1
        elif event.kind == "reported":
            found["reported", event.sequence, str(body["key"])[1:], ""] += 1
    return found


def not_once(acknowledged: Sequence[Acknowledged], log: "Counter[Acknowledged]") -> list[str]:
    """What was acknowledged and is not in the log exactly once."""
    return [
        f"{what} {n} of {unit}: {log[what, n, unit, arm]} times"
        for what, n, unit, arm in acknowledged
        if log[what, n, unit, arm] != 1
    ]


def _decide(folder: Path) -> None:
    """Decide and report until killed, and say what was acknowledged: a line each, in one write."""
    trial = Trial.open(folder / "trial.db", witness=_anchors(folder))

    def work(thread: int) -> None:
        for i in range(1_000_000):
            unit = f"{thread}-{i}"
            decision = trial.decide(unit, i % 2, key=f"d{unit}")
            _say("decided", decision.number, unit, decision.proposal)
            receipt = trial.report(decision, implemented=(i + thread) % 2, outcome=i % 3 % 2, key=f"r{unit}")
            _say("reported", receipt.sequence, unit, "")

    threads = [Thread(target=work, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _say(*words: object) -> None:
    os.write(sys.stdout.fileno(), f"{json.dumps(words)}\n".encode())


if __name__ == "__main__":
    _decide(Path(sys.argv[1]))
