"""What it is worth to see compliance: regret against the fraction of decisions whose compliance is audited.

Stirn & Jebara (2019) see all compliance or none. Here each decision of their environments 3 and 4 is audited with one
probability, whatever its action and outcome were: compliance is missing completely at random.
"""

from typing import Any

from takeup.paper import contextual
from takeup.paper.regret_curve import ENVIRONMENTS, CurvePoint, RegretCurve
from takeup.paper.runner import Runner
from takeup.policies import TS, Policy, TSLat, TSObs
from takeup.simulation import Reporting

FRACTIONS = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0)


def policies() -> list[Policy[Any]]:
    """TS ignores compliance, TS-Obs uses only what it sees of it, both TS-Lat infer the rest."""
    return [TS(), TSObs(), TSLat(), TSLat(inference="gibbs")]


def curve(run: Runner, fractions: tuple[float, ...] = FRACTIONS) -> RegretCurve:
    """Run every policy in both environments at each fraction."""
    environments = {str(number): contextual.environment(number) for number in ENVIRONMENTS}
    points = []
    for fraction in fractions:
        trace = run.simulate(environments, policies(), contextual.HORIZON, reporting=Reporting(compliance=fraction))
        for name in environments:
            for policy, regret in trace.summary(name).items():
                points.append(CurvePoint(int(name), fraction, policy, regret.mean, regret.standard_error))
    points.sort(key=lambda point: (point.environment, point.at))
    return RegretCurve("fraction", tuple(points), contextual.HORIZON, run.replications, run.seed)


def decisions(replications: int, fractions: tuple[float, ...] = FRACTIONS) -> int:
    """How many decisions the curve takes, for a progress bar."""
    return len(policies()) * len(ENVIRONMENTS) * len(fractions) * contextual.HORIZON * replications
