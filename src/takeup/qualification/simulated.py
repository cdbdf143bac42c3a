"""Operation qualification: error rates, engines and intervals, on trials that are simulated here with fixed seeds."""

from functools import cache

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.environment import Environment
from takeup.log import Log
from takeup.policies import TS
from takeup.qualification import oracles
from takeup.qualification.check import Check, Finding, Group, NotHereError
from takeup.qualification.needs import missing
from takeup.space import Space
from takeup.world import World

TRIALS, UNITS, FLOOR, RATES = 1_000, 200, 0.05, (0.25, 0.45)
LEAST = 0.93 - 3 * 0.0081
"""Coverage of 93 %, less three standard errors of 1,000 trials."""
RUNS, HORIZON, ERRORS = 2_000, 200, 5.0
LOOKS, THRESHOLD = (2, 4), 0.8


def group() -> Group:
    """The checks on simulated trials."""
    return Group(
        "Simulated trials",
        (
            Check(
                title="The error rate of a small trial with two looks against the sum over every history",
                requirements=("R-6.1",),
                look=lambda: _exact((0.4, 0.4)),
            ),
            Check(
                title="Control: the same with a rate that is off by a hundredth",
                requirements=("R-6.1",),
                look=lambda: _exact((0.4, 0.41), planted=True),
                control=True,
            ),
            Check(
                title="95 % intervals after adaptive allocation hold the truth",
                requirements=("R-7.1",),
                look=_coverage,
            ),
            Check(
                title="Control: the textbook's interval on the same trials does not",
                requirements=("R-7.1",),
                look=_plain,
                control=True,
            ),
            Check(
                title="The compiled engine against the reference in plain Python",
                requirements=("R-1.6",),
                look=lambda: _engines(0.5),
            ),
            Check(
                title="Control: the compiled engine in another world, with a rate of .7 in place of .5",
                requirements=("R-1.6",),
                look=lambda: _engines(0.7, planted=True),
                control=True,
            ),
        ),
    )


def _exact(rates: tuple[float, float], *, planted: bool = False) -> Finding:
    from takeup.design import Plan, exact

    plan = Plan.of(
        {
            "name": "Qualification",
            "space": {"proposals": 2},
            "policy": {"kind": "TS"},
            "looks": {"at": list(LOOKS), "update": "patient"},
            "stopping": {"superiority": THRESHOLD},
            "scenarios": {"null": {"role": "null", "success": [0.4, 0.4]}},
        }
    )
    found, right = exact(plan, (0.4, 0.4)).probability("superior"), oracles.superior(rates, LOOKS, THRESHOLD)
    apart = abs(found - right)
    words = f"{found:.12f}, and {right:.12f} by enumeration: {apart:.1e} apart"
    if planted:
        return Finding("more than 1e-12 apart", words, apart > 1e-12)
    return Finding("at most 1e-12 apart", words, apart <= 1e-12)


@cache
def _trials() -> tuple[IntArray, FloatArray, IntArray]:
    return oracles.adaptive_trials(TRIALS, UNITS, RATES, FLOOR, seed=5)


def _coverage() -> Finding:
    from takeup.analysis import scores, targets
    from takeup.analysis.mean_intervals import intervals

    proposal, probability, outcome = _trials()
    space = Space(["usual", "new"], outcomes=["ill", "well"])
    log = Log.of(space, proposal, probability, implemented=proposal, outcome=outcome)
    found = intervals(scores(log, targets.outcome(space)), (0, 1), "difference", weights="stabilised")
    share = float(found.covers(RATES[1] - RATES[0]).mean())
    return Finding(f"at least {LEAST:.3f}, which is .93 less three errors", f"{share:.3f} of {TRIALS}", share >= LEAST)


def _plain() -> Finding:
    proposal, _, outcome = _trials()
    share = oracles.plain_coverage(proposal, outcome, RATES[1] - RATES[0])
    return Finding(f"below {LEAST:.3f}", f"{share:.3f} of {TRIALS}", share < LEAST)


@cache
def _reference() -> tuple[float, float]:
    return _regret("reference", 0.5)


def _regret(engine: str, second: float) -> tuple[float, float]:
    """The mean regret of TS, and its standard error."""
    from takeup.simulation import simulate

    world = World.bernoulli(compliance=[[0.9, 0.1], [0.2, 0.8]], success=[0.3, second])
    trace = simulate(Environment.from_world(world), TS(), HORIZON, RUNS, seed=3, engine=engine)  # type: ignore[arg-type]
    found = trace.summary()["TS"]
    return float(found.mean), float(found.standard_error)


def _engines(second: float, *, planted: bool = False) -> Finding:
    if lacking := missing("sim"):
        raise NotHereError(f"no compiled engine without {', '.join(lacking)}; pip install 'takeup[sim]'")
    (right, error), (found, other) = _reference(), _regret("cpu", second)
    apart = abs(found - right) / float(np.hypot(error, other))
    words = f"mean regret {found:.3f} and {right:.3f} of {RUNS:,} trials each: {apart:.1f} standard errors apart"
    if planted:
        return Finding(f"more than {ERRORS:g} standard errors apart", words, apart > ERRORS)
    return Finding(f"at most {ERRORS:g} standard errors apart", words, apart <= ERRORS)
