"""Trials of a plan on a GPU beside the CPU's: how many end alike, and how long a million take.

Needs a CUDA device and takeup[gpu]. `--tune` tries other numbers of registers and threads first.
"""

import argparse
import time

import numpy as np

from design import THREE, TWO
from takeup.design import Plan, operate
from takeup.simulation.kernels import gpu, look_gpu

MOST_APART = 10
"""Trials of a hundred thousand that may end otherwise: where the last bit of a probability decides."""
PLANS = {"three arms": THREE, "two arms": TWO}


def agreement(plan: Plan, trials: int) -> int:
    """How many trials of both engines differ in anything that is kept of them."""
    ours, theirs = (operate(plan, replications=trials, seed=1, engine=engine) for engine in ("gpu", "cpu"))
    apart = 0
    for name in plan.scenarios:
        pairs = zip(ours[name].kept, theirs[name].kept, strict=True)
        same = np.stack([(one == other).reshape(trials, -1).all(axis=1) for one, other in pairs])
        apart += int((~same.all(axis=0)).sum())
    return apart


def seconds(plan: Plan, trials: int, seed: int) -> float:
    """How long so many trials of the first scenario take, from the plan to the results on the host."""
    began = time.perf_counter()
    operate(plan, [next(iter(plan.scenarios))], trials, seed, engine="gpu")
    return time.perf_counter() - began


def tune(trials: int) -> None:
    """Seconds by registers of a thread and threads of a multiprocessor."""
    for registers in (64, 96, 128, 168, 255):
        for resident in (256, 512, 1024):
            if registers * resident > 65_536:
                continue
            look_gpu.REGISTERS, look_gpu.RESIDENT = registers, resident
            operate(THREE, replications=100, engine="gpu")
            took = seconds(THREE, trials, 0)
            print(f"{registers:3} registers, {resident:4} threads: {took:.2f} s for {trials:,}", flush=True)


def main() -> None:
    """Print as it goes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--agree", type=int, default=100_000)
    options = parser.parse_args()
    card = gpu.device().get_current_device().name
    print(f"device: {card.decode() if isinstance(card, bytes) else card}", flush=True)
    if options.tune:
        tune(options.trials)
        return
    for name, plan in PLANS.items():
        began = time.perf_counter()
        operate(plan, replications=100, engine="gpu")
        print(f"{name}: compiled in {time.perf_counter() - began:.1f} s", flush=True)
        apart, scenarios = agreement(plan, options.agree), len(plan.scenarios)
        allowed = MOST_APART * scenarios * options.agree // 100_000
        said = "" if apart <= allowed else "  MORE THAN EXPECTED"
        print(f"{name}: {apart} of {scenarios * options.agree:,} trials differ from the CPU's{said}", flush=True)
        took = np.array([seconds(plan, options.trials, seed) for seed in range(3)])
        each = ", ".join(f"{one:.2f}" for one in took)
        print(
            f"{name}: {options.trials:,} null trials in {took.mean():.2f} ± {took.std(ddof=1):.2f} s ({each})",
            flush=True,
        )


if __name__ == "__main__":
    main()
