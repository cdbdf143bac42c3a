"""Gates of a service whose processes die or stand still: in the suite one service bears it all, one after the other."""

import asyncio
import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gated
from gates import clocks, copies, disks
from gates.gate import AbsentError, Found, Gate, Run
from gates.processes import kill_service, kill_writer, stop_writer
from gates.scene import Fault, Scene, lived_through
from requirements import absent


@pytest.mark.requirement("R-3.1", "R-3.3", "R-3.4")
def test_what_clients_saw_can_be_whatever_befalls_a_service(tmp_path: Path) -> None:
    """The clock a day ahead, right, a day behind; the writer stopped and killed; the disk full; the service killed.

    Under all of it 32 clients ask, and ask again. A copy that is made meanwhile is whole. What each of these faults
    does to a service of its own, and what befalls one by chance, is for `make long`, with the controls.
    """
    missing: list[str] = []

    def run(run: Run) -> Found:
        copied: list[tuple[str, int, str]] = []

        async def copy(made: Scene, *_: object) -> None:
            path = f"/trials/{made.trial}/progress"
            status, known = await asyncio.to_thread(made.running[0].request, "GET", path, None, made.key)
            assert status == 200, known
            to = made.folder / "copy.db"
            await asyncio.to_thread(copies.backup, Path(made.database), to)
            to.chmod(0o600)
            copied.append((made.trial, known["sequence"], made.database))

        faults: list[tuple[Fault, int]] = [*((clocks.jump, i) for i in range(3)), (stop_writer, 0), (kill_writer, 0)]
        with ExitStack() as stack:
            database = None
            if shutil.which("sqlite3"):
                faults.append((copy, 0))
            else:
                missing.append("no sqlite3: install SQLite's own program")
            try:
                database = stack.enter_context(disks.small(run.folder)) / "trials.db"
                faults.append((disks.fill, 0))
            except AbsentError as error:
                missing.append(str(error))
            faults.append((kill_service, 0))

            async def befall(made: Scene, rng: np.random.Generator, i: int) -> None:
                fault, time = faults[i]
                await fault(made, rng, time)

            all_of_them = replace(run, times=len(faults))
            environment = clocks.at_hand(run.folder)
            found = lived_through(all_of_them, befall, environment=environment, database=database, pause=0.2)
            if not found.passed:
                return found
            for trial, known, original in copied:
                events, whole = copies.hashes(run.folder / "copy.db", trial), copies.hashes(original, trial)
                assert known <= len(events) < len(whole)
                assert events == whole[: len(events)]
        return found

    gated.hold(replace(gated.gate("histories"), run=run), tmp_path, control=False)
    if missing:
        absent("; ".join(missing))


@pytest.mark.long
@gated.each("processes", "clocks", "histories")
def test_it_holds_and_its_control_does_not(gate: Gate, tmp_path: Path) -> None:
    gated.hold(gate, tmp_path)
