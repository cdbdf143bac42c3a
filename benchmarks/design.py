"""Trials of a plan a second: the design of adaptr's README, two arms with as many looks, and a calibration.

Then the same of policies that see what was done, where 30 in 100 do not take what they are offered: the design of the
README with TSObs and TSRobust, and two arms with ten looks, with 200 draws a look where there are any. At last what
changes after every outcome: two arms by a recurrence, three by draws, and three with a floor, by a quadrature a unit.
"""

import time

from takeup.design import Plan, calibrate, operate

THREE = Plan.of(
    {
        "name": "Three arms",
        "space": {"proposals": 3},
        "policy": {"kind": "TS"},
        "limits": {"floor": 0.2, "rule": "proportional"},
        "looks": {"first": 300, "every": 100, "last": 2_000, "lag": 100},
        "stopping": {
            "superiority": 0.9814318,
            "inferiority": 1 - 0.9814318,
            "equivalence": {"probability": 0.9, "margin": 0.05},
        },
        "scenarios": {"null": {"role": "null", "success": [0.75] * 3}, "apart": {"success": [0.75, 0.8, 0.7]}},
    }
)
TWO = Plan.of(
    {
        "name": "Two arms",
        "space": {"proposals": 2},
        "policy": {"kind": "TS"},
        "limits": {"floor": 0.2},
        "looks": {"first": 300, "every": 100, "last": 2_000, "lag": 100},
        "stopping": {"superiority": 0.98, "inferiority": 0.02},
        "scenarios": {"null": {"role": "null", "success": [0.25] * 2}, "apart": {"success": [0.25, 0.3]}},
    }
)


def seen(kind: str, arms: int) -> Plan:
    """The plan of as many arms with a policy that sees what was done."""
    content = dict((THREE if arms == 3 else TWO).content)
    scenarios = {name: {**each, "take_up": 0.7} for name, each in content["scenarios"].items()}
    if arms == 2:
        content["looks"] = {"first": 100, "every": 100, "last": 1_000}
    return Plan.of({**content, "draws": 200, "policy": {"kind": kind}, "scenarios": scenarios})


def by_unit(arms: int, floor: float) -> Plan:
    """As many arms with 200 units and one look, and probabilities that change after every outcome."""
    content = {**TWO.content, "space": {"proposals": arms}, "limits": {"floor": floor}}
    scenarios = {"null": {"role": "null", "success": [0.25] * arms}}
    return Plan.of({**content, "looks": {"at": [200], "update": "patient"}, "scenarios": scenarios})


def rate(plan: Plan, replications: int) -> float:
    """Trials a second."""
    began = time.perf_counter()
    operate(plan, replications=replications)
    return len(plan.scenarios) * replications / (time.perf_counter() - began)


def main() -> None:
    """Five rounds of all in turn, after the kernel is compiled."""
    plans = {"three arms": (THREE, 40_000), "two arms": (TWO, 60_000)}
    plans |= {f"{kind}, {arms} arms": (seen(kind, arms), 4_000) for kind in ("TSObs", "TSRobust") for arms in (2, 3)}
    plans |= {f"{arms} arms, by unit": (by_unit(arms, 0.0), 10_000) for arms in (2, 3)}
    plans["3 arms, by unit, floor"] = (by_unit(3, 0.1), 1_000)
    for plan, _ in plans.values():
        operate(plan, replications=100)
    for _ in range(5):
        print({name: round(rate(plan, trials)) for name, (plan, trials) in plans.items()}, flush=True)
    began = time.perf_counter()
    found = calibrate(THREE, 0.05, 100_000)
    error = f"{found.worst.mean:.4f} ± {found.worst.error:.4f}"
    print(
        f"calibrated with 100,000 trials in {time.perf_counter() - began:.1f} s: {found.threshold:.5f}, error {error}"
    )


if __name__ == "__main__":
    main()
