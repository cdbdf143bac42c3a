"""What a proposal by age, consciousness and delay would have gained in the International Stroke Trial.

First the trial itself, which was randomised: what a rule that is learnt on one half is worth on the other
(`stroke_rules`). Then trials like it, simulated, in which policies learn it patient by patient. The second table rests
on a fitted truth, and the first says how much of that truth is to be believed.

Usage: python benchmarks/stroke_covariates.py FILE [rules | trials [horizon [replications [policy ..]]]]
"""

import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from stroke_rules import Answer, answer, common_slopes
from takeup import TS, CovariateEnvironment, LinTS, LinTSObs, LinTSRobust, LinUCB, TSObs, Uniform, simulate
from takeup.checks import FloatArray
from takeup.datasets import Coding, Outcome, ist_rows
from takeup.datasets.patients import COVARIATES
from takeup.policies import Policy
from takeup.rows import Rows

KNOWN: tuple[str, ...] = ("age", "consciousness", "delay")
OUTCOMES: tuple[Outcome, ...] = ("LTS", "LTR")
CODING: Coding = "recorded-aspirin"
SHARES: dict[Coding, tuple[float, ...]] = {
    "recorded-aspirin": (1 / 2, 1 / 2),
    "recorded-heparin": (1 / 2, 1 / 4, 1 / 4),
    "paper": (1 / 4, 1 / 8, 1 / 8, 1 / 4, 1 / 8, 1 / 8),
}
"""The probabilities that patients were assigned by, which the trial's protocol has."""
POLICIES: tuple[Policy[Any], ...] = (
    Uniform(),
    TS(),
    TSObs(),
    LinTS(),
    LinUCB(),
    LinTSObs(),
    LinTSRobust(),
)
SPLITS = 50


def truths(rows: Rows) -> dict[str, CovariateEnvironment]:
    """Three that the same patients are met in."""
    return {
        "as they are": CovariateEnvironment.fitted(rows, exclusion=False),
        "by action alone": CovariateEnvironment.fitted(rows, exclusion=True),
        "common slopes": common_slopes(rows),
    }


def regrets(
    file: str,
    horizon: int,
    replications: int,
    asked: tuple[Outcome, Policy[Any]],
) -> dict[str, FloatArray]:
    """One policy's regret in each replication, by truth; the same patients come whichever the policy is."""
    outcome, policy = asked
    worlds = truths(ist_rows(file, outcome, CODING, covariates=KNOWN))
    trace = simulate(worlds, policy, horizon, replications, engine="reference")
    found = {name: trace.final(policy.name, name) for name in worlds}
    print(outcome, policy.name, {name: round(float(each.mean()), 1) for name, each in found.items()}, file=sys.stderr)
    return found


def trials(file: str, horizon: int, replications: int, names: Sequence[str]) -> None:
    """The second table, of these policies beside Uniform and TS; figures are successes among so many patients."""
    policies = [policy for policy in POLICIES if policy.name in ("Uniform", "TS", *names)]
    asked = [(outcome, policy) for policy in reversed(policies) for outcome in OUTCOMES]
    with ProcessPoolExecutor(2) as pool:
        done = list(pool.map(partial(regrets, file, horizon, replications), asked))
    final = {(outcome, policy.name): each for (outcome, policy), each in zip(asked, done, strict=True)}
    print("| outcome | truth | policy | regret | over Uniform | over the best single | over TS |")
    for outcome in OUTCOMES:
        for name, world in truths(ist_rows(file, outcome, CODING, covariates=KNOWN)).items():
            single, even = horizon * world.regret().min(), horizon * world.regret().mean()
            print(f"| {outcome} | {name} | best single proposal | {single:.1f} | {even - single:.1f} | 0 | |")
            uniform, plain = final[outcome, "Uniform"][name], final[outcome, "TS"][name]
            for policy in policies:
                regret = final[outcome, policy.name][name]
                samples = (regret, uniform - regret, single - regret, plain - regret)
                cells = (f"{each.mean():.1f} ± {each.std(ddof=1) / np.sqrt(each.size):.1f}" for each in samples)
                print(f"| {outcome} | {name} | {policy.name} | {' | '.join(cells)} |", flush=True)


def rule(file: str, asked: tuple[Outcome, Coding, tuple[str, ...]], splits: int = SPLITS) -> Answer:
    """What the trial itself says."""
    outcome, coding, known = asked
    return answer(ist_rows(file, outcome, coding, covariates=known), SHARES[coding], splits)


def rules(file: str) -> None:
    """The first table; figures are successes in a hundred patients."""
    asked = [(outcome, coding, KNOWN) for coding in SHARES for outcome in OUTCOMES]
    asked += [(outcome, CODING, tuple(COVARIATES)) for outcome in OUTCOMES]
    print("| outcome | arms | covariates | single | fitted | of nothing | learnt on a half | interval | at most | p |")
    with ProcessPoolExecutor(2) as pool:
        for (outcome, coding, known), found in zip(asked, pool.map(partial(rule, file), asked), strict=True):
            print(f"| {outcome} | {coding} | {len(known)} | {found.row()} |", flush=True)
            slopes = (f"{name} {100 * mean:.1f} ± {100 * error:.1f}" for name, (mean, error) in found.slopes.items())
            print(", ".join(slopes), file=sys.stderr)


def main(file: str, part: str = "both", horizon: str = "5000", replications: str = "100", *names: str) -> None:
    """Both tables, or one."""
    if part in ("both", "rules"):
        rules(file)
    if part in ("both", "trials"):
        trials(file, int(horizon), int(replications), names or [policy.name for policy in POLICIES])


if __name__ == "__main__":
    main(*sys.argv[1:])
