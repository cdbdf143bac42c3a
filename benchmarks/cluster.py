"""A sweep of 1,000 cells on 20 local Dask workers, one of which is killed: is the result the serial one?"""

import argparse
import os
import signal
import threading
import time
from typing import Any

import distributed
import numpy as np

from takeup import TS, Environment, TSObs, World
from takeup.simulation.cluster import Cluster
from takeup.simulation.run import plan

CELLS, HORIZON, REPLICATIONS = 500, 1_000, 64


def main() -> None:
    """Two policies in 500 environments; exits with 1 if anything is missing, twice or different."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=20)
    options = parser.parse_args()
    sweep = {
        str(i): Environment.from_world(World.bernoulli(np.eye(3) * (1 - p) + p / 3, [0.3, 0.5, 0.6]))
        for i, p in enumerate(np.linspace(0, 0.9, CELLS))
    }
    policies = [TS(), TSObs()]
    planned = plan(sweep, policies, HORIZON, seed=5, engine="cpu")
    serial = planned.run(range(REPLICATIONS))
    untyped: Any = distributed
    with (
        untyped.LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        untyped.Client(cluster) as client,
    ):
        workers = list(client.run(os.getpid).values())
        killed: list[int] = []

        def kill() -> None:
            for victim in workers[: max(1, round(0.05 * len(workers)))]:
                time.sleep(2.0)
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        killer = threading.Thread(target=kill)
        done: list[int] = []
        began = time.perf_counter()
        killer.start()
        spread = Cluster(planned.engines[0], client, seconds=0.25, grain=32)
        parts = [spread(planned.setup, policy, range(REPLICATIONS), done.append) for policy in policies]
        seconds = time.perf_counter() - began
        killer.join()
        survivors = set(client.run(os.getpid).values())
    same = all(
        np.array_equal(getattr(part, name), getattr(serial, name)[:, i])
        for i, part in enumerate(parts)
        for name in ("regret", "pulls")
    )
    once = sum(done) == 2 * CELLS * REPLICATIONS * HORIZON
    print(f"{2 * CELLS} cells in {len(done)} blocks, {seconds:.1f} s, killed {len(killed)} of {len(workers)} workers")
    gone = survivors.isdisjoint(killed)
    print(f"identical to the serial run: {same}; every decision once: {once}; the dead are gone: {gone}")
    raise SystemExit(0 if same and once else 1)


if __name__ == "__main__":
    main()
