"""What is said of the policies beyond the paper, and whether the runs bear it out, by rules fixed before any run."""

from collections.abc import Iterator

import numpy as np

from takeup.paper.audited import Audited
from takeup.paper.beyond import BeyondResult
from takeup.paper.drift import Cost, DriftResult, Phase
from takeup.paper.piloted import Piloted
from takeup.paper.robust import RobustResult
from takeup.paper.rules import FALLS, Claim, Estimates, falls, threshold

GIBBS = "TS-Lat-0 Gibbs"
BELOW = "the difference is below zero; a one-sided interval, wrong once in 1,000 runs where there is none"
LIMIT = "at most the limit; clear where it is so by two Monte Carlo errors"


def claims(result: BeyondResult) -> tuple[Claim, ...]:
    """The audits, the pilots, drift and the four bars of TS-Robust."""
    return (*_audits(result.audited), *_pilots(result.piloted), *_drift(result.drift), *_bars(result.robust))


def _audits(result: Audited) -> Iterator[Claim]:
    fractions = sorted({row.fraction for row in result.rows})
    for number in sorted({row.environment for row in result.rows}):
        rows = [result.at(number, fraction, GIBBS) for fraction in fractions]
        labels = tuple(f"{fraction:.0%}" for fraction in fractions)
        verdict = falls(Estimates(labels, np.array([r.mean for r in rows]), np.array([r.mcse for r in rows])))
        claim = f"regret of TS-Lat by Gibbs sampling falls with the share of audits in environment {number}"
        yield Claim(claim, FALLS, verdict.holds, verdict.found)
        quarter, plain = result.at(number, 0.25, GIBBS), result.at(number, 0.25, "TS")
        yield _below(
            f"with a quarter audited it is below that of TS in environment {number}",
            (quarter.mean, quarter.mcse),
            (plain.mean, plain.mcse),
        )


def _pilots(result: Piloted) -> Iterator[Claim]:
    for number in sorted({row.environment for row in result.rows}):
        for size in sorted({row.patients for row in result.rows} - {0}):
            after, before = result.at(number, size, GIBBS), result.at(number, 0, GIBBS)
            yield _below(
                f"a pilot of {size} lowers the regret of TS-Lat by Gibbs sampling in environment {number}",
                (after.mean, after.mcse),
                (before.mean, before.mcse),
            )


def _drift(result: DriftResult) -> Iterator[Claim]:
    def cost(phase: Phase, policy: str) -> tuple[float, float]:
        found: Cost = next(c for c in result.costs if (c.phase, c.policy) == (phase, policy))
        return found.regret, found.regret_error

    for base in ("TS", "TS-Obs"):
        forgetful = next(c.policy for c in result.costs if c.policy.startswith(f"{base} half-life"))
        after = [cost("after the change", policy) for policy in (forgetful, base)]
        yield _below(f"{base}: after a change forgetting has the lower regret", *after)
        staying = [cost("no change", policy) for policy in (base, forgetful)]
        yield _below(f"{base}: where nothing changes forgetting has the higher regret", *staying)


def _bars(result: RobustResult) -> Iterator[Claim]:
    for bar in result.bars:
        clear = "clear" if bar.clear else "not clear"
        found = f"{bar.measured:.3f} ± {bar.error:.3f}, {clear}"
        yield Claim(f"TS-Robust: {bar.name}, at most {bar.limit:g}", LIMIT, bar.met, found)


def _below(claim: str, one: tuple[float, float], other: tuple[float, float]) -> Claim:
    """That one mean is below another."""
    distance = (other[0] - one[0]) / float(np.hypot(one[1], other[1]))
    found = f"{one[0]:.1f} ± {one[1]:.1f} against {other[0]:.1f} ± {other[1]:.1f}"
    return Claim(claim, BELOW, bool(distance > threshold(1)), found)
