"""What `docs/reliability.md` says, thousands of times: kills, power failures, forged logs, decisions derived again.

PYTHONPATH=tests python benchmarks/torture.py [--kills 1000] [--powers 1000] [--forgeries 10000] [--decisions 10000]
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

import hammer
import tampering
from takeup.live import Trial, audit, read_anchors, read_key
from takeup.randomness import stream
from takeup.store import looking
from takeup.store.sqlite import Synchronous


def kills(folder: Path, times: int, *, power: bool, control: bool = False) -> bool:
    """Whether nothing was lost; for the control, whether something was."""
    synchronous: Synchronous = "OFF" if control else "FULL"
    result = hammer.torture(folder / "hammer", times, seed=1, power=power, synchronous=synchronous)
    what = "power failures" if power else "SIGKILLs"
    print(
        f"{result.kills} {what}, synchronous={synchronous}: {result.acknowledged} acknowledged,"
        f" {len(result.lost)} lost, {len(result.differences)} logs that differ"
    )
    return bool(result.lost) if control else not (result.lost or result.differences)


def forgeries(folder: Path, times: int) -> bool:
    """Whether all were found."""
    path = tampering.victim(folder, stream(3))
    anchors = read_anchors(folder / "anchors", read_key(folder / "key"))
    missed = []
    for i in range(times):
        forged = tampering.copied(path, folder / "forged.db")
        forger = tampering.Forger(forged, stream(7, i))
        done = forger.tamper()
        forger.close()
        with looking(forged) as connection:
            if audit(connection, "victim", anchors, at_rest=True).passed:
                missed.append(done)
        for leftover in folder.glob("forged.db*"):
            leftover.unlink()
    print(f"{times} forgeries, {len(missed)} not found {missed[:3]}")
    return not missed


def decisions(folder: Path, times: int) -> bool:
    """Whether all logged decisions are derived again exactly."""
    spec = {
        "name": "Again",
        "space": {"proposals": 6, "contexts": 4},
        "policy": {"kind": "TSObs"},
        "limits": {"floor": 0.02},
    }
    rng = stream(9)
    with Trial.create(folder / "again.db", spec) as trial:
        trial.start()
        for first in range(0, times, 20):
            units = [{"unit": f"u{i}", "context": i % 4} for i in range(first, min(first + 20, times))]
            for decision in trial.decide_many(units):
                trial.report(decision, implemented=int(rng.integers(6)), outcome=int(rng.integers(2)))
        found = trial.audit()
    print(f"{found.rederived} of {times} decisions derived again exactly; difference: {found.difference}")
    return found.passed and found.rederived == times


def main() -> None:
    """Run everything, and fail if anything falls short."""
    parser = argparse.ArgumentParser()
    for name, times in (("kills", 1_000), ("powers", 1_000), ("forgeries", 10_000), ("decisions", 10_000)):
        parser.add_argument(f"--{name}", type=int, default=times)
    chosen = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="takeup-torture-"))
    begun = time.monotonic()
    try:
        passed = [
            kills(folder, chosen.kills, power=False),
            kills(folder, chosen.powers, power=True),
            kills(folder, 20, power=True, control=True),
            forgeries(folder, chosen.forgeries),
            decisions(folder, chosen.decisions),
        ]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(not all(passed))


if __name__ == "__main__":
    main()
