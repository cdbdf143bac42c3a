"""TS-Robust on the patients of the International Stroke Trial, whose compliance is not ignorable.

Excess successes as in `takeup.paper.stroke`: the difference in final regret to Uniform on the same 20,000 patients.
There are six arms, and responses are drawn from those of the patients who were assigned z.
"""

from dataclasses import dataclass
from typing import Any

from takeup.datasets import Outcome
from takeup.paper.agreement import Mean
from takeup.paper.runner import Runner
from takeup.paper.stroke import HORIZON
from takeup.paper.stroke_parameters import OUTCOMES, environments
from takeup.policies import TS, Policy, TSCheck, TSObs, TSRobust, Uniform

POLICIES: tuple[Policy[Any], ...] = (Uniform(), TS(), TSCheck(), TSObs(), TSRobust())


@dataclass(frozen=True, slots=True)
class Gain:
    """The excess successes of a policy over Uniform, and over TS, with Monte Carlo errors; both are means."""

    outcome: Outcome
    policy: str
    excess: float
    error: float
    over_ts: float
    over_ts_error: float


@dataclass(frozen=True, slots=True)
class PatientsResult:
    """How many trials each policy ran, from which seed, and what each gained for each outcome."""

    replications: int
    seed: int
    gains: tuple[Gain, ...]


def patients(run: Runner) -> PatientsResult:
    """Simulate the trial for three outcomes with the patients as they are, in the paper's coding."""
    truths = {str(outcome): truth for outcome, truth in environments("patients").items()}
    trace = run.simulate(truths, POLICIES, HORIZON)
    gains = []
    for outcome in OUTCOMES:
        uniform, ts = (trace.final(policy.name, outcome) for policy in POLICIES[:2])
        for policy in POLICIES[1:]:
            regret = trace.final(policy.name, outcome)
            gains.append(Gain(outcome, policy.name, *Mean.of(uniform - regret), *Mean.of(ts - regret)))
    return PatientsResult(run.replications, run.seed, tuple(gains))


def decisions(replications: int) -> int:
    """How many decisions `patients` makes, for a progress bar."""
    return len(OUTCOMES) * len(POLICIES) * HORIZON * replications
