"""Does a calibrated threshold keep its error? Fresh trials at every null, for three policies.

The design is that of adaptr's README. Nulls are a grid of rates, each with full compliance, with 70 % who take what
they are offered, and with takers who fare ten points better than refusers. `--engine gpu` needs a CUDA device.
"""

import argparse
import time
from typing import Any

from design import THREE
from takeup.design import Plan, calibrate

RATES = (0.1, 0.25, 0.5, 0.75, 0.9)
KINDS: dict[str, dict[str, float]] = {
    "full": {},
    "70 %": {"take_up": 0.7},
    "70 %, confounded": {"take_up": 0.7, "confounded": 0.1},
}
POLICIES: dict[str, dict[str, Any]] = {
    "TS": {"kind": "TS"},
    "TSRobust": {"kind": "TSRobust"},
    "even": {"kind": "Uniform"},
}


def plan_of(policy: dict[str, Any]) -> Plan:
    """The design with this policy, and all nulls."""
    scenarios = {
        f"{rate:g}, {kind}": {"role": "null", "success": [rate] * 3, **keys}
        for rate in RATES
        for kind, keys in KINDS.items()
    }
    return Plan.of({**THREE.content, "policy": policy, "draws": 200, "scenarios": scenarios})


def main() -> None:
    """A line for each null."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--replications", type=int, default=100_000)
    parser.add_argument("--policy", action="append", choices=POLICIES)
    parser.add_argument("--target", type=float, default=0.05)
    options = parser.parse_args()
    for name in options.policy or POLICIES:
        began = time.perf_counter()
        found = calibrate(plan_of(POLICIES[name]), options.target, options.replications, seed=1, engine=options.engine)
        took = time.perf_counter() - began
        print(
            f"{name}: superiority above {found.threshold:.5f}, {len(found.tried)} thresholds, {took:.0f} s", flush=True
        )
        for scenario, figure in found.errors.items():
            kept = figure.mean <= options.target + 2 * figure.error
            said = "" if kept else "  ABOVE THE TARGET BY MORE THAN TWO ERRORS"
            print(f"  {scenario:24} {figure.mean:.5f} ± {figure.error:.5f}{said}", flush=True)


if __name__ == "__main__":
    main()
