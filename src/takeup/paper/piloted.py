"""What a pilot is worth: regret of TS-Lat, which sees no compliance, after a pilot in which compliance was seen.

Each replication has a pilot of its own, with patients of the same environment, random proposals and everything seen.
The pilot's table becomes the policy's prior, and the trial of the paper follows. The pilot's own regret is not counted.
"""

import numpy as np

from takeup.environment import Environment
from takeup.evidence import Evidence
from takeup.paper import contextual
from takeup.paper.agreement import Mean
from takeup.paper.regret_curve import ENVIRONMENTS, CurvePoint, RegretCurve
from takeup.paper.runner import Runner
from takeup.policies import TS, Thompson, TSLat, Uniform
from takeup.prior import Prior
from takeup.randomness import stream
from takeup.simulation import Reporting, simulate

PATIENTS = (0, 50, 500)


def policies() -> list[Thompson]:
    """TS, and TS-Lat with both ways of inference."""
    return [TS(), TSLat(), TSLat(inference="gibbs")]


def worth(run: Runner, patients: tuple[int, ...] = PATIENTS) -> RegretCurve:
    """Run every policy in both environments after pilots of each size."""
    points, unseen = [], Reporting(compliance=0)
    for number in ENVIRONMENTS:
        truth = contextual.environment(number)
        for size in patients:
            priors = [Prior.from_evidence(pilot) for pilot in pilots_of(truth, size, run.replications, run.seed)]
            for policy in policies():
                runs = [
                    run.simulate(truth, policy.informed(prior), contextual.HORIZON, range(i, i + 1), reporting=unseen)
                    for i, prior in enumerate(priors)
                ]
                regret = Mean.of(np.array([each.final(policy.name)[0] for each in runs]))
                points.append(CurvePoint(number, size, policy.name, *regret))
    return RegretCurve("patients", tuple(points), contextual.HORIZON, run.replications, run.seed)


def pilots_of(truth: Environment, patients: int, replications: int, seed: int) -> list[Evidence]:
    """The tables of as many pilots as replications; their patients are not those of the trials."""
    if patients == 0:
        return [Evidence.empty(truth.space)] * replications
    other = int(stream(seed, "pilot").integers(2**32))
    trace = simulate(truth, Uniform(), patients, replications, other, record="full")
    cells = int(np.prod(truth.space.shape))
    counts = [np.bincount(run, minlength=cells).reshape(truth.space.shape) for run in trace.decisions[0, 0]]
    return [Evidence(truth.space, np.pad(each, ((0, 0), (0, 0), (0, 1), (0, 1)))) for each in counts]


def decisions(replications: int, patients: tuple[int, ...] = PATIENTS) -> int:
    """How many decisions of trials `worth` makes, for a progress bar."""
    return len(policies()) * len(ENVIRONMENTS) * len(patients) * contextual.HORIZON * replications
