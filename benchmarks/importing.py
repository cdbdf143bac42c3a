"""What importing takeup costs beyond numpy and scipy.special, and a first simulation: fresh processes, interleaved."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 15

FIRST_SIMULATION = """
from takeup import TS, Environment, World, simulate
truth = Environment.from_world(World.bernoulli([[0.85, 0.15], [0.15, 0.85]], [0.62, 0.64]))
simulate(truth, TS(), horizon=100, replications=100, seed=0, engine="cpu")
"""


def seconds(code: str, environment: dict[str, str]) -> float:
    """The time of one fresh process, from its start to its end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    return time.perf_counter() - began


def main() -> None:
    """Print the medians and the differences with their spread."""
    with tempfile.TemporaryDirectory() as folder:
        # byte code is kept, as it is wherever pip has installed a package
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment = kept | {"PYTHONPYCACHEPREFIX": folder, "TAKEUP_CACHE_DIR": folder}
        programs = ["import numpy, scipy.special", "import takeup", FIRST_SIMULATION]
        for program in programs:
            first = seconds(program, environment)
        rounds = [[seconds(program, environment) for program in programs] for _ in range(ROUNDS)]
    extra = sorted(takeup - base for base, takeup, _ in rounds)
    whole = sorted(simulation for _, _, simulation in rounds)
    print(f"numpy and scipy.special {statistics.median(base for base, _, _ in rounds):.3f} s")
    print(f"takeup beyond them      {statistics.median(extra):.3f} s (from {extra[0]:.3f} to {extra[-1]:.3f})")
    print(f"first simulation, compiling once {first:.1f} s")
    print(f"the same in a later process      {statistics.median(whole):.2f} s (from {whole[0]:.2f} to {whole[-1]:.2f})")


if __name__ == "__main__":
    main()
