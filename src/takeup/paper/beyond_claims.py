"""Claims about the policies beyond the paper, and verdicts by rules that were fixed before any run."""

from collections.abc import Iterator

import numpy as np

from takeup.paper.agreement import Mean
from takeup.paper.beyond import BeyondResult
from takeup.paper.drift import DriftResult
from takeup.paper.regret_curve import CurvePoint, RegretCurve
from takeup.paper.robust import RobustResult
from takeup.paper.rules import FALLS, Claim, Estimates, falls, threshold

GIBBS = "TS-Lat-0 Gibbs"
BELOW = "the difference is below zero; a one-sided interval, wrong once in 1,000 runs where there is none"
LIMIT = "at most the limit; clear where it is so by two Monte Carlo errors"


def claims(result: BeyondResult) -> tuple[Claim, ...]:
    """The audits, the pilots, drift and the five bars of TS-Robust."""
    return (*_audits(result.audited), *_pilots(result.piloted), *_drift(result.drift), *_bars(result.robust))


def _audits(result: RegretCurve) -> Iterator[Claim]:
    fractions = sorted({point.at for point in result.points})
    for number in sorted({point.environment for point in result.points}):
        points = [result.point(number, fraction, GIBBS) for fraction in fractions]
        labels = tuple(f"{fraction:.0%}" for fraction in fractions)
        verdict = falls(Estimates(labels, np.array([p.mean for p in points]), np.array([p.mcse for p in points])))
        claim = f"regret of TS-Lat by Gibbs sampling falls with the share of audits in environment {number}"
        yield Claim(claim, FALLS, verdict.holds, verdict.found)
        quarter, plain = (_mean(result.point(number, 0.25, policy)) for policy in (GIBBS, "TS"))
        yield _below(f"with a quarter audited it is below that of TS in environment {number}", quarter, plain)


def _pilots(result: RegretCurve) -> Iterator[Claim]:
    for number in sorted({point.environment for point in result.points}):
        for size in sorted({point.at for point in result.points} - {0}):
            after, before = (_mean(result.point(number, patients, GIBBS)) for patients in (size, 0))
            claim = f"a pilot of {size} lowers the regret of TS-Lat by Gibbs sampling in environment {number}"
            yield _below(claim, after, before)


def _drift(result: DriftResult) -> Iterator[Claim]:
    regret = {(cost.where, cost.policy): Mean(cost.regret, cost.regret_error) for cost in result.costs}
    for base in ("TS", "TS-Obs"):
        forgetful = next(c.policy for c in result.costs if c.policy.startswith(f"{base} half-life"))
        after = (regret["after the change", policy] for policy in (forgetful, base))
        yield _below(f"{base}: after a change forgetting has the lower regret", *after)
        staying = (regret["no change", policy] for policy in (base, forgetful))
        yield _below(f"{base}: where nothing changes forgetting has the higher regret", *staying)


def _bars(result: RobustResult) -> Iterator[Claim]:
    for bar in result.bars:
        clear = "clear" if bar.clear else "not clear"
        found = f"{bar.measured:.3f} ± {bar.error:.3f}, {clear}"
        yield Claim(f"TS-Robust: {bar.name}, at most {bar.limit:g}", LIMIT, bar.met, found)


def _below(claim: str, one: Mean, other: Mean) -> Claim:
    """That one mean is below another."""
    holds = other.value - one.value > threshold(1) * float(np.hypot(one.error, other.error))
    return Claim(claim, BELOW, holds, f"{one} against {other}")


def _mean(point: CurvePoint) -> Mean:
    return Mean(point.mean, point.mcse)
