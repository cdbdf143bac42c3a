"""The stroke trial with other outcomes than two levels: the state at six months, and days to death.

A trial learns from one of them, and what it proposed is judged by all: how many more live at six months than under
uniform exploration, how much more their states are worth together, and how many more days they live,

    Σ_z n[z] v[z] - T mean_z v[z],

where n[z] is how often z was proposed and v[z] is what those who were assigned z fared. Responses are drawn from those
of the patients who were assigned z, in the paper's coding.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.datasets import DAYS, ist_environment
from takeup.environment import Environment
from takeup.outcomes import Number
from takeup.paper import stroke_survival
from takeup.paper.agreement import Mean
from takeup.paper.runner import Runner
from takeup.paper.stroke_survival import ArmSurvival, Period, days_seen, survival_of
from takeup.policies import TS, Policy, TSCheck, TSObs, TSRobust, Uniform
from takeup.space import Space

HORIZON = 20_000
POLICIES: tuple[Policy[Any], ...] = (Uniform(), TS(), TSCheck(), TSObs())
ROBUST = TSRobust()

TIME = "days, as exponential times"
READINGS = ("alive at six months", "state at six months", "days, as normal numbers", TIME)
"""What a trial may learn from."""

CRITERIA = ("lives", "worth", "days")
"""What it is judged by: those who live at six months, the worth of all states, days lived within six months."""


@dataclass(frozen=True, slots=True)
class Learnt:
    """What a policy gained over uniform exploration by learning from one outcome.

    Attributes:
        reading: the outcome that it learnt from.
        policy: its name.
        replications: how many trials it ran.
        gains: by criterion, with Monte Carlo errors.
        favourite: the share of trials that proposed the best arm most often; it is the best by every criterion.
        best: the share of the proposals that were that arm, with its Monte Carlo error.
    """

    reading: str
    policy: str
    replications: int
    gains: Mapping[str, Mean]
    favourite: float
    best: Mean


@dataclass(frozen=True, slots=True)
class OutcomesResult:
    """Everything.

    Attributes:
        seed: the seed.
        learnt: a row for each reading and policy.
        most: what always proposing the best would gain, by criterion.
        proposed: survival by assigned arm.
        done: survival by implemented arm.
        periods: the risk of death by period.
        values: what each proposal is worth by each criterion.
    """

    seed: int
    learnt: tuple[Learnt, ...]
    most: Mapping[str, float]
    proposed: tuple[ArmSurvival, ...]
    done: tuple[ArmSurvival, ...]
    periods: tuple[Period, ...]
    values: Mapping[str, tuple[float, ...]]

    def cell(self, reading: str, policy: str) -> Learnt:
        """The row of a reading and a policy."""
        return next(row for row in self.learnt if (row.reading, row.policy) == (reading, policy))

    def as_json(self) -> dict[str, Any]:
        """Plain data, without the survival curves."""
        arms = {"proposed": self.proposed, "done": self.done}
        return {
            "learnt": [
                {**asdict(row), "gains": {name: gain._asdict() for name, gain in row.gains.items()}}
                for row in self.learnt
            ],
            "most": dict(self.most),
            "periods": [asdict(period) for period in self.periods],
            **{name: [asdict(replace(arm, steps=())) for arm in some] for name, some in arms.items()},
        }


def environments() -> dict[str, Environment]:
    """The patients as they are, by what is seen of them.

    As numbers, days are those that a patient was seen to live: whether the watch ended or the patient died is not said.
    """
    time = ist_environment("DAYS")
    days = Space(time.space.proposals, outcomes=Number(0, DAYS.longest, DAYS.step, "days"))
    number = Environment.from_counts(days, days_seen().sum(axis=-1)[np.newaxis])
    return dict(zip(READINGS, (ist_environment("LTS"), ist_environment("STATE"), number, time), strict=True))


def criteria() -> dict[str, FloatArray]:
    """What each proposal is worth by each criterion."""
    lives, worth = (ist_environment(outcome).value()[0] for outcome in ("LTS", "STATE"))
    return dict(zip(CRITERIA, (lives, worth, stroke_survival.mean_days()), strict=True))


def outcomes(run: Runner, *, slow: bool = True) -> OutcomesResult:
    """Simulate the trial with each outcome.

    Args:
        run: how; a replication is a trial of 20,000 patients.
        slow: whether to run what takes minutes as well: exponential times, and TS-Robust with numbers.
    """
    learnt: list[Learnt] = []
    for reading, truth in environments().items():
        if reading != TIME or slow:
            learnt += _learnt(run, reading, truth, _policies(reading, slow=slow))
    values = criteria()
    most = {name: float(HORIZON * (value.max() - value.mean())) for name, value in values.items()}
    days = days_seen()
    return OutcomesResult(
        run.seed,
        tuple(learnt),
        most,
        survival_of(days.sum(axis=1)),
        survival_of(days.sum(axis=0)),
        stroke_survival.periods(),
        {name: tuple(value.tolist()) for name, value in values.items()},
    )


def decisions(replications: int, slow: bool = True) -> int:
    """How many decisions `outcomes` takes, for a progress bar."""
    readings = [reading for reading in READINGS if reading != TIME or slow]
    return HORIZON * replications * sum(len(_policies(reading, slow=slow)) for reading in readings)


def _policies(reading: str, *, slow: bool) -> tuple[Policy[Any], ...]:
    """TS-Robust has kernels for levels alone: numbers take minutes, and exponential times most of an hour."""
    levels, number = reading in READINGS[:2], reading == READINGS[2]
    return (*POLICIES, ROBUST) if levels or (number and slow) else POLICIES


def _learnt(run: Runner, reading: str, truth: Environment, policies: tuple[Policy[Any], ...]) -> list[Learnt]:
    trace, values = run.simulate({reading: truth}, policies, HORIZON), criteria()
    best = int(values["lives"].argmax())
    rows = []
    for policy, pulls in zip(policies, trace.pulls[0, :, :, 0], strict=True):
        gains = {name: Mean.of(pulls @ value - HORIZON * value.mean()) for name, value in values.items()}
        favourite = float((pulls.argmax(axis=1) == best).mean())
        share = Mean.of(pulls[:, best] / HORIZON)
        rows.append(Learnt(reading, policy.name, run.replications, gains, favourite, share))
    return rows
