"""What groups that learn from each other gain where they are alike, and cost where they are not.

Usage: python benchmarks/pooling.py [--worlds N] [--runs N] [--robust]

Worlds are drawn at random, and each kind of groups is made of the same draws: all groups alike, each a little different
(a standard normal times 0.3 on every log odds), one of them with the actions' success rates exchanged, each drawn on
its own, or each with success rates of any size between 0.2 and 0.8. Outcomes depend on what is done alone. Errors are
those of the mean over worlds, of ratios by their differences. With --robust it is TS-Robust, which has no kernel with
borrowing, so fewer runs of 1,000 decisions.
"""

import argparse
from typing import Any

import numpy as np
from scipy.special import expit, logit

from takeup import TS, Borrowing, Environment, Space, TSObs, TSRobust, simulate, stream
from takeup.checks import FloatArray

SEED = 11
HORIZONS = (1_000, 5_000)
KINDS = ("alike", "similar", "one is opposite", "different", "far apart")
GROUPS = (2, 4, 12)
UNEQUAL = 1 / np.arange(1, 13)


def draws(rng: np.random.Generator, groups: int) -> tuple[FloatArray, FloatArray]:
    """Who complies with each proposal, and the success rate of each action, in each group."""
    comply, base = rng.uniform(0.55, 0.95, (groups, 2)), rng.uniform(0.25, 0.65, groups)
    effect = rng.uniform(0.04, 0.16, groups) * rng.choice([-1, 1], groups)
    return comply, np.stack([base, base + effect], axis=1)


def world(kind: str, shares: FloatArray, number: int) -> Environment:
    """A world of this kind, with groups of these sizes."""
    rng, groups = stream(SEED, "world", number), len(shares)
    comply, success = draws(rng, 12)
    if kind == "far apart":
        success = rng.uniform(0.2, 0.8, (12, 2))
    elif kind != "different":
        comply, success = (np.repeat(each[:1], 12, axis=0) for each in (comply, success))
    if kind == "similar":
        comply, success = (expit(logit(each) + 0.3 * rng.standard_normal(each.shape)) for each in (comply, success))
    if kind == "one is opposite":
        success[0] = success[0, ::-1]
    done = np.stack([comply, 1 - comply], axis=-1)
    done[:, 1] = done[:, 1, ::-1]
    response = np.einsum("xza,xay->xzay", done, np.stack([1 - success, success], axis=-1))[:groups]
    return Environment(Space(2, contexts=groups), shares / shares.sum(), response)


def regret(policy: Any, kind: str, shares: FloatArray, worlds: int, runs: int, horizons: tuple[int, ...]) -> FloatArray:
    """The mean regret of each world at the horizons; (worlds, horizons)."""
    environments = {str(number): world(kind, shares, number) for number in range(worlds)}
    trace = simulate(environments, policy, horizons[-1], runs, seed=SEED, record="curve", steps=list(horizons))
    return np.asarray(trace.regret[:, 0].mean(axis=1))


def ratio(upper: FloatArray, lower: FloatArray) -> str:
    """The ratio of two means over worlds, with the error that the differences give."""
    found = upper.mean() / lower.mean()
    error = (upper - found * lower).std(ddof=1) / lower.mean() / len(upper) ** 0.5
    return f"{found:.2f} ± {error:.2f}"


def shown(values: FloatArray) -> str:
    """A mean over worlds with its error."""
    return f"{values.mean():.1f} ± {values.std(ddof=1) / len(values) ** 0.5:.1f}"


def table(base: Any, worlds: int, runs: int, horizons: tuple[int, ...], cases: list[tuple[str, FloatArray]]) -> None:
    """Print the rows of one base."""
    one = regret(base, "alike", np.ones(1), worlds, runs, horizons)
    for t, horizon in enumerate(horizons):
        print(f"\n{base.name}, T = {horizon:,}: one group {shown(one[:, t])}", flush=True)
    print("\n| groups | T | separate | borrowing | to separate | to one group |\n|---|---|---|---|---|---|")
    for kind, shares in cases:
        sizes = " of unequal size" if np.ptp(shares) else ""
        apart = regret(base, kind, shares, worlds, runs, horizons)
        ours = regret(Borrowing(base=base), kind, shares, worlds, runs, horizons)
        for t, horizon in enumerate(horizons):
            a, b = apart[:, t], ours[:, t]
            to_one = ratio(b, one[:, t]) if kind == "alike" else ""
            row = [f"{len(shares)} {kind}{sizes}", f"{horizon:,}", shown(a), shown(b), ratio(b, a), to_one]
            print(f"| {' | '.join(row)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--robust", action="store_true")
    asked = parser.parse_args()
    if asked.robust:
        cases = [(kind, np.ones(12)) for kind in ("alike", "different", "similar")]
        table(TSRobust(), asked.worlds, asked.runs, HORIZONS[:1], cases)
        return
    cases = [(kind, np.ones(groups)) for kind in KINDS for groups in GROUPS]
    cases += [(kind, UNEQUAL) for kind in KINDS]
    for base in (TS(), TSObs()):
        table(base, asked.worlds, asked.runs, HORIZONS, cases)


if __name__ == "__main__":
    main()
