"""What the text of Stirn & Jebara (2019), section 4.1, says about the sweep over p, claim by claim.

"Regret at p = 0.5 is zero"; TS tends to infinity there and grows in variance; TS-Check "trends downward" below 0.5,
where it "matches or outperforms TS", and "incurs substantially larger regret" beyond, linear where p = 1; TS-Obs
"matches or outperforms TS in both mean and variance across the entire noncompliance spectrum", pays no significant
penalty at p = 0 and is not monotone on either side.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray
from takeup.paper import rules
from takeup.paper.agreement import REPLICATIONS
from takeup.paper.rules import FALLS, NEVER_ABOVE, RISES, TURNS, Claim, Estimates, Verdict

LARGER = 2.0
"""The factor that counts as "substantially larger"."""

LINEAR = (0.9, 1.1)
"""Growth exponents that count as linear in T: regret grows by 2 to that power from T / 2 to T. Where it grows like a
logarithm the exponent is near 0.1."""

STRAIGHT = 0.99
"""The share of variance that a straight line has to explain at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The regret of every replication of the sweep; policies meet the same patients.

    Attributes:
        p: the probability that the other arm is implemented, rising from 0 to 1; shape (P,).
        horizon: T.
        gap: the difference between the success probabilities of the two arms.
        final: the regret at T by policy; shape (P, replications).
        halfway: the regret at T / 2.
    """

    p: FloatArray
    horizon: int
    gap: float
    final: Mapping[str, FloatArray]
    halfway: Mapping[str, FloatArray]


Make = Callable[[FloatArray, FloatArray], Estimates]


def check(runs: Runs) -> list[Claim]:
    """Every claim with its rule and verdict."""
    ts, observed, checked = (runs.final[name] for name in ("TS", "TS-Obs", "TS-Check"))
    below, beyond = runs.p < 0.5, runs.p > 0.5

    def on_both_sides(rule: Callable[[Estimates, int], Verdict], make: Make, regret: FloatArray) -> Verdict:
        """A rule from p = 0 up and from p = 1 down to 0.5."""
        left, right = make(runs.p[below], regret[below]), make(runs.p[beyond][::-1], regret[beyond][::-1])
        return rules.together(rule(left, 2), rule(right, 2))

    def difference(one: FloatArray, other: FloatArray, where: NDArray[np.bool_]) -> Estimates:
        return Estimates.means(runs.p[where], (one - other)[where])

    everywhere = runs.p >= 0
    verdicts = [
        (
            "TS: mean regret rises as p tends to 0.5, from either side",
            RISES,
            on_both_sides(rules.rises, Estimates.means, ts),
        ),
        (
            "TS: the variance of regret rises as p tends to 0.5, from either side",
            RISES,
            on_both_sides(rules.rises, Estimates.variances, ts),
        ),
        (
            "All policies: regret is zero at p = 0.5",
            "every run has a regret below 1e-9",
            _zero_at_half(runs),
        ),
        (
            "TS-Check: mean regret falls as p rises from 0 to 0.5",
            FALLS,
            rules.falls(Estimates.means(runs.p[below], checked[below])),
        ),
        (
            "TS-Check matches or beats TS in mean for p < 0.5",
            NEVER_ABOVE,
            rules.never_above(difference(checked, ts, below)),
        ),
        (
            "TS-Check: substantially larger regret than TS and TS-Obs for p > 0.5",
            f"more than {LARGER:g} times the mean of either, at every p; simultaneous one-sided intervals",
            _far_above(runs),
        ),
        (
            "TS-Check: regret is linear in T for p > 0.5",
            f"log2 R(T) / R(T/2) is between {LINEAR[0]:g} and {LINEAR[1]:g} at every p",
            _linear_in_time(runs),
        ),
        (
            "TS-Check: regret is linear in p for 0.5 < p < 1",
            f"a straight line explains {STRAIGHT:.0%} of the variance of the means or more",
            _linear_in_p(runs),
        ),
        (
            "TS-Check proposes uniformly at random at p = 1",
            "the mean regret is T/2 times the gap; two-sided interval",
            _uniform_at_one(runs),
        ),
        (
            "TS-Obs matches or beats TS in mean at every p",
            NEVER_ABOVE,
            rules.never_above(difference(observed, ts, everywhere)),
        ),
        (
            "TS-Obs matches or beats TS in variance at every p",
            NEVER_ABOVE,
            rules.never_above(difference(rules.squares(observed), rules.squares(ts), everywhere)),
        ),
        (
            "TS-Obs: no significant penalty at p = 0",
            f"the mean is not above that of TS by more than two standard errors of a difference of {REPLICATIONS} runs",
            _no_penalty(ts[0], observed[0]),
        ),
        (
            "TS-Obs: mean regret is not monotone in p, neither below 0.5 nor beyond",
            TURNS,
            on_both_sides(rules.turns, Estimates.means, observed),
        ),
    ]
    return [Claim(claim, rule, verdict.holds, verdict.found) for claim, rule, verdict in verdicts]


def _zero_at_half(runs: Runs) -> Verdict:
    half = int(np.argmin(np.abs(runs.p - 0.5)))
    largest = max(float(regret[half].max()) for regret in runs.final.values())
    return Verdict(largest < 1e-9, f"the largest is {largest:.2g}")


def _far_above(runs: Runs) -> Verdict:
    """That LARGER times the others minus TS-Check is below zero, and not just not above it."""
    beyond = runs.p > 0.5
    distance = []
    for other in ("TS", "TS-Obs"):
        excess = Estimates.means(runs.p[beyond], (runs.final["TS-Check"] - LARGER * runs.final[other])[beyond])
        distance.append(rules.in_errors(excess.value, excess.error))
    least = float(np.min(distance))
    largest = np.maximum(*(runs.final[other][beyond].mean(axis=1) for other in ("TS", "TS-Obs")))
    times = runs.final["TS-Check"][beyond].mean(axis=1) / largest
    closest = int(times.argmin())
    return Verdict(
        least > rules.threshold(2 * int(beyond.sum())),
        f"at least {times[closest]:.3g} times, at p = {runs.p[beyond][closest]:.2f}; by {least:.0f} errors or more",
    )


def _linear_in_time(runs: Runs) -> Verdict:
    beyond = runs.p > 0.5
    whole, half = (regret["TS-Check"][beyond].mean(axis=1) for regret in (runs.final, runs.halfway))
    exponent = np.log2(whole / half)
    least, most = float(exponent.min()), float(exponent.max())
    return Verdict(LINEAR[0] <= least and most <= LINEAR[1], f"from {least:.3f} to {most:.3f}")


def _linear_in_p(runs: Runs) -> Verdict:
    inside = (runs.p > 0.5) & (runs.p < 1)
    p, mean = runs.p[inside], runs.final["TS-Check"][inside].mean(axis=1)
    explained = float(np.corrcoef(p, mean)[0, 1] ** 2)
    slope = float(np.polyfit(p, mean, 1)[0])
    end = float(runs.final["TS-Check"][-1].mean())
    return Verdict(
        explained >= STRAIGHT,
        f"{explained:.4f}, slope {slope:.0f}; {mean[-1]:.0f} at p = {p[-1]:.2f}, and {end:.0f} at p = 1, where nothing "
        "is learnt",
    )


def _uniform_at_one(runs: Runs) -> Verdict:
    expected = runs.horizon * runs.gap / 2
    regret = runs.final["TS-Check"][-1]
    mean, error = float(regret.mean()), float(regret.std(ddof=1) / regret.size**0.5)
    return Verdict(
        abs(mean - expected) <= rules.threshold(2) * error,
        f"{mean:.1f} with error {error:.1f}, expected {expected:.0f}",
    )


def _no_penalty(ts: FloatArray, observed: FloatArray) -> Verdict:
    penalty = observed - ts
    mean, error = float(penalty.mean()), float(penalty.std(ddof=1) / penalty.size**0.5)
    visible = 2 * float(((ts.var(ddof=1) + observed.var(ddof=1)) / REPLICATIONS) ** 0.5)
    return Verdict(
        mean - rules.threshold(1) * error <= visible,
        f"{mean:+.2f} with error {error:.2f}; {REPLICATIONS} runs show differences from {visible:.2f} on",
    )
