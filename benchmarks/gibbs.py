"""What a budget of sweeps buys: allocations of cold chains against long ones, and regret against the budget.

`--quick` takes a tenth of the chains and replications.
"""

import argparse
import time

import numpy as np

from takeup import UNSEEN, Evidence, Reporting, Space, TSLat, simulate, stream
from takeup.paper import contextual

SWEEPS = (1, 3, 5, 10, 20, 50, 200)
TABLES = (
    ((1, 3), (2, 2)),
    ((5, 20), (3, 4)),
    ((40, 60), (30, 25)),
    ((440, 560), (30, 25)),
    ((4_400, 5_600), (60, 60)),
    ((440_000, 560_000), (60, 60)),
)
"""Failures and successes of each proposal, compliance unseen."""


def allocations(chains: int) -> None:
    """P(the second proposal is the best) by table and budget."""
    print("table, then the probability of the second proposal after", *SWEEPS, "sweeps")
    for rows in TABLES:
        counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
        counts[0, :, UNSEEN, :2] = rows
        evidence = Evidence(Space(2), counts)
        found = [
            TSLat(inference="gibbs", sweeps=sweeps).allocation(evidence, 0, stream(sweeps), draws=chains)
            for sweeps in SWEEPS
        ]
        print(rows, *(f"{each.probability[1]:.3f}" for each in found), f"error {found[-1].standard_error[1]:.4f}")


def regret(replications: int) -> None:
    """Regret in environment 3 with no compliance seen, and seconds of one core, by budget."""
    truth, unseen = contextual.environment(3), Reporting(compliance=0)
    for policy in (TSLat(), *(TSLat(inference="gibbs", sweeps=sweeps) for sweeps in SWEEPS[:-1])):
        simulate(truth, policy, 2, 2, reporting=unseen, engine="cpu")  # compiles
        began = time.process_time()
        trace = simulate(truth, policy, contextual.HORIZON, replications, seed=1, reporting=unseen, engine="cpu")
        spent = (time.process_time() - began) / (contextual.HORIZON * replications)
        (found,) = trace.summary().values()
        name = f"{policy.sweeps} sweeps" if policy.inference == "gibbs" else "mean-field"
        told = f"regret {found.mean:.2f} +- {found.standard_error:.2f}, sd {found.sd:.1f}"
        print(f"{name:10} {told}, {1e6 * spent:.1f} us a decision")


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    part = 10 if parser.parse_args().quick else 1
    allocations(20_000 // part)
    regret(500 // part)


if __name__ == "__main__":
    main()
