"""The GPU engine beside the CPU's: how many replications have identical counts, and how long big simulations take.

Needs a CUDA device and takeup[gpu]. `--quick` takes a hundredth of the replications, `--numbers` the cases with numbers
alone.
"""

import argparse
import json
import time
from typing import Any

import numpy as np
from scipy import stats

import workloads
from takeup import (
    TS,
    Environment,
    Normals,
    Number,
    Reporting,
    TSCheck,
    TSLat,
    TSObs,
    TSRobust,
    Uniform,
    WarmTSLat,
    World,
    simulate,
    stream,
)
from takeup.policies import Policy
from takeup.simulation.kernels import gpu


def agreement(seed: int, only: str) -> list[dict[str, Any]]:
    """Short replications of every kernel on both engines, from the same streams and from others."""
    six, two = workloads.environment("w1"), workloads.environment("w2")
    rng = stream(seed, "worlds")
    contexts = Environment.from_world(World.bernoulli(rng.dirichlet(np.ones(4), (3, 5)), rng.random((3, 4))))
    outcome = rng.dirichlet(np.ones(3), (1, 4))
    levels = Environment.from_world(World(rng.dirichlet(np.ones(4), (1, 3)), outcome, np.array([0.0, 2.0, 5.0])))
    lower = Number(60, 220, 0.5, better="lower")
    family = Normals(rng.normal(130, 5, (3, 4)), rng.uniform(5, 20, (3, 4)))
    numbers = Environment.from_world(World(rng.dirichlet(np.ones(4), (3, 5)), family, lower))
    pressures = workloads.environment("w1_numbers")
    wide = Environment.from_world(World.bernoulli(rng.dirichlet(np.ones(40), 40), rng.random(40)))
    seen, part, never = Reporting(), Reporting(compliance=0.7), Reporting(compliance=0)
    cases: list[tuple[str, Environment, Policy[Any], Reporting]] = [
        ("six arms", six, Uniform(), seen),
        ("six arms", six, TS(), seen),
        ("six arms", six, TSCheck(), part),
        ("six arms", six, TSObs(), part),
        ("six arms, priors of 1/2", six, TS(alpha=0.5), seen),
        ("six arms, late", six, TSObs(), Reporting(compliance=0.8, delay=20, batch=7)),
        ("six arms", six, TSRobust(), seen),
        ("two arms", two, TS(), seen),
        ("two arms", two, TSObs(), part),
        ("two arms", two, TSLat(), never),
        ("two arms", two, WarmTSLat(), part),
        ("three contexts", contexts, TSObs(), seen),
        ("three levels", levels, TSObs(), seen),
        ("three levels", levels, TSLat(), never),
        ("forty arms", wide, TSObs(), seen),
        ("six arms, numbers", pressures, TS(), seen),
        ("six arms, numbers", pressures, TSCheck(), part),
        ("six arms, numbers", pressures, TSObs(), part),
        ("three contexts, numbers", numbers, TS(), seen),
        ("three contexts, numbers, late", numbers, TSObs(beta=0.5), Reporting(compliance=0.8, delay=20, batch=7)),
    ]
    rows = []
    for name, truth, policy, reporting in (case for case in cases if only in case[0]):
        horizon = 100 if "TS-Lat" in policy.name else 500
        one = simulate(truth, policy, horizon, 1000, seed, engine="gpu", reporting=reporting)
        same = simulate(truth, policy, horizon, 1000, seed, engine="cpu", reporting=reporting)
        other = simulate(truth, policy, horizon, 1000, seed + 1, engine="cpu", reporting=reporting)
        identical = float((one.pulls == same.pulls).all(axis=(0, 1, 3, 4)).mean())
        p = float(stats.ks_2samp(one.regret[0, 0, :, -1], other.regret[0, 0, :, -1]).pvalue)
        rows.append({"case": name, "policy": policy.name, "identical": identical, "ks_p": p})
        print(rows[-1], flush=True)
    return rows


def speed(replications: int, only: str) -> list[dict[str, Any]]:
    """Seconds of big simulations, transfers included, after a small one has compiled the kernel."""
    rows = []
    for name, policy, horizon, reporting in (
        ("w1", TS(), 20_000, Reporting()),
        ("w1", TSObs(), 20_000, Reporting()),
        ("w1_numbers", TS(), 20_000, Reporting()),
        ("w1_numbers", TSObs(), 20_000, Reporting()),
        ("w1", TSRobust(), 1_000, Reporting()),
        ("w2", TS(), 10_000, Reporting()),
        ("w2", TSLat(), 2_000, Reporting(compliance=0)),
        ("w2", WarmTSLat(), 2_000, Reporting(compliance=0)),
    ):
        if only not in name:
            continue
        truth = workloads.environment(name)
        simulate(truth, policy, 50, 256, engine="gpu", reporting=reporting)
        simulate(truth, policy, 50, replications, engine="gpu", reporting=reporting)
        times = []
        for seed in range(2):
            began = time.perf_counter()
            simulate(truth, policy, horizon, replications, seed, engine="gpu", reporting=reporting)
            times.append(time.perf_counter() - began)
        rate = replications * horizon / min(times)
        rows.append({"workload": name, "policy": policy.name, "horizon": horizon, "seconds": times, "rate": rate})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Print as it goes, and the JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--numbers", action="store_true")
    options = parser.parse_args()
    card = gpu.device().get_current_device().name
    print(f"device: {card.decode() if isinstance(card, bytes) else card}", flush=True)
    only = "numbers" if options.numbers else ""
    report = {"agreement": agreement(1, only), "speed": speed(10_000 if options.quick else 1_000_000, only)}
    print(json.dumps({"gpu": report}))


if __name__ == "__main__":
    main()
