"""What a log proves: forgeries are found, and every decision is derived again."""

from unittest.mock import patch

import tampering
from gates.gate import Found, Gate, Run
from takeup.live import Trial, audit_database, read_anchors, read_key
from takeup.randomness import bits, stream
from takeup.store import looking
from takeup.trial import proposal

SPEC = {
    "name": "Again",
    "space": {"proposals": 6, "contexts": 4},
    "policy": {"kind": "TSObs"},
    "limits": {"floor": 0.02},
}


def forged(run: Run, *, anchored: bool = True) -> Found:
    """So many forgeries of one log, with recomputed chains and cut or replaced tails."""
    path = tampering.victim(run.folder, stream(run.seed, "victim"))
    anchors = read_anchors(run.folder / "anchors", read_key(run.folder / "key"))
    missed = []
    for i in range(run.times):
        copy = tampering.copied(path, run.folder / "forged.db")
        forger = tampering.Forger(copy, stream(run.seed, "forger", i))
        done = forger.tamper()
        forger.close()
        with looking(copy) as connection:
            found = audit_database(connection, anchors, at_rest=True) if anchored else audit_database(connection)
            if found.passed:
                missed.append(done)
        for leftover in run.folder.glob("forged.db*"):
            leftover.unlink()
        run.step(i + 1)
    figures = f"{run.times:,} forgeries, {len(missed)} not found"
    return Found(not missed, f"{figures}, the first: {missed[0]}" if missed else figures)


def unanchored(run: Run) -> Found:
    """Audits that are given no anchors."""
    return forged(run, anchored=False)


def derived(run: Run, *, otherwise: bool = False) -> Found:
    """So many decisions, and all of them again."""
    rng = stream(run.seed, "derived")
    with Trial.create(run.folder / "again.db", SPEC) as trial:
        trial.start()
        for first in range(0, run.times, 20):
            units = [{"unit": f"u{i}", "context": i % 4} for i in range(first, min(first + 20, run.times))]
            for decision in trial.decide_many(units):
                trial.report(decision, implemented=int(rng.integers(6)), outcome=int(rng.integers(2)))
            run.step(first)
        if otherwise:
            with patch.object(proposal, "bits", lambda count, *path: bits(count, *path, "other")):
                found = trial.audit()
        else:
            found = trial.audit()
    figures = f"{found.rederived:,} of {run.times:,} decisions derived again exactly"
    return Found(
        found.passed and found.rederived == run.times, f"{figures}; difference: {str(found.difference or 'none')[:60]}"
    )


def drawn_otherwise(run: Run) -> Found:
    """Audits that draw with other bits than the trial did."""
    return derived(run, otherwise=True)


GATES = (
    Gate(
        name="forgeries",
        part="attacks",
        shows="forged databases, of every known kind, with recomputed chains and cut or replaced tails: the audit "
        "with anchors finds each",
        unit="forgeries",
        times=10_000,
        suite=0,
        run=forged,
        without="the anchors",
        control=unanchored,
        control_times=150,
    ),
    Gate(
        name="derived-again",
        part="attacks",
        shows="decisions of a log are derived again, probabilities and proposals exactly",
        unit="decisions",
        times=10_000,
        suite=200,
        run=derived,
        without="the same random bits",
        control=drawn_otherwise,
        control_times=40,
    ),
)
