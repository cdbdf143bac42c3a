"""Run gates, keep what they find, and write docs/gates.md."""

import argparse
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from gates.gate import AbsentError, Found, Gate, Run
from gates.kept import FOLDER, Result, commit, keep, kept, lasting, machine
from gates.known import known
from gates.page import page


def say(begun: float, text: str) -> None:
    """A line of progress, with the seconds since the gate began."""
    print(f"  {time.monotonic() - begun:6.0f} s  {text}", flush=True)


def tried(go: Callable[[Run], Found], times: int, seed: int, said: Callable[[str], None], broken: bool) -> Found:
    """One run in a folder of its own; whatever it raises, it did not do what it is for."""
    folder = Path(tempfile.mkdtemp(prefix="takeup-gate-"))
    try:
        found = go(Run(folder, times, seed, say=said))
        return Found(found.passed, found.figures.replace(f"{folder}/", ""))
    except AbsentError:
        raise
    except Exception as error:
        traceback.print_exc()
        return Found(broken, f"broke: {type(error).__name__}: {error}"[:300].replace(f"{folder}/", ""))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(gate: Gate, scale: float, seed: int, results: Path = FOLDER) -> Result:
    """The gate and its control."""
    begun, where = time.monotonic(), machine()
    said, times = partial(say, begun), gate.at(scale)
    last = kept(results).get(gate.name)
    before = f"; took {lasting(last.seconds)} for {last.times:,} last time" if last else ""
    print(f"{gate.name}: {times:,} {gate.unit}{before}", flush=True)
    passed: bool | None
    try:
        found = tried(gate.run, times, seed, said, broken=False)
        passed, figures = found.passed, found.figures
        said(f"{'held' if passed else 'FAILED'}: {figures}")
        control = tried(gate.control, gate.control_times, seed, said, broken=True)
        said(f"control {'SEES NOTHING' if control.passed else 'fails, as it must'}: {control.figures}")
    except AbsentError as error:
        passed, figures, control = None, str(error), Found(True, "")
        said(f"left out: {error}")
    said(f"{gate.name} took {lasting(time.monotonic() - begun)}")
    return Result(
        gate=gate.name,
        passed=passed,
        figures=figures,
        control=control.figures,
        control_failed=not control.passed,
        times=times,
        scale=scale,
        seed=seed,
        seconds=round(time.monotonic() - begun, 1),
        commit=commit(),
        machine=where,
        date=datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
    )


def ended(number: int, _: object) -> None:
    """End as Ctrl-C does, so that services end, too; what was found before is kept."""
    raise KeyboardInterrupt(signal.Signals(number).name)


def main() -> None:
    """Run those that were asked for; the exit code says whether all held."""
    gates = known()
    parser = argparse.ArgumentParser(prog="python -m gates")
    parser.add_argument("--only", action="append", metavar="NAME", help="A gate; repeatable.")
    parser.add_argument("--scale", type=float, default=1.0, help="Which part of the full count.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="Write the page from all that was kept.")
    parser.add_argument("--results", type=Path, default=FOLDER, metavar="FOLDER", help="Where results are kept.")
    parser.add_argument("--list", action="store_true", help="Name the gates, and run none.")
    parser.add_argument("--none", action="store_true", help="Run none; for --write.")
    chosen = parser.parse_args()
    unknown = set(chosen.only or ()) - set(gates)
    if unknown:
        parser.error(f"--only {', '.join(sorted(unknown))}: expected some of {', '.join(gates)}")
    if not chosen.scale > 0:
        parser.error(f"--scale {chosen.scale}: expected a number above 0; 1 is the full count")
    took = {name: result.seconds for name, result in kept(chosen.results).items()}
    if chosen.list:
        for gate in gates.values():
            last = f", {lasting(took[gate.name])}" if gate.name in took else ""
            print(f"{gate.name}: {gate.shows} ({gate.times:,} {gate.unit}{last})")
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    names = () if chosen.none else tuple(chosen.only or gates)
    if names:
        whole = lasting(sum(took.get(name, 0.0) for name in names))
        print(f"{len(names)} of {len(gates)} gates, which took {whole} when they were run last", flush=True)
    held = []
    for name in names:
        result = run(gates[name], chosen.scale, chosen.seed, chosen.results)
        keep(result, chosen.results)
        held.append(result.held or result.passed is None)
    if chosen.write:
        chosen.write.write_text(page(gates, kept(chosen.results)))
    sys.exit(not all(held))


if __name__ == "__main__":
    main()
