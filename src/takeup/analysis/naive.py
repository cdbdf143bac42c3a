"""What is often reported and seldom valid: per protocol, as treated, plain differences and two-stage least squares.

They are shown as what they are. The first two compare people who chose; the others are right with fixed allocation and
lose their level after adaptive allocation, the more so where outcomes drift.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from takeup import checks
from takeup.analysis import regions, targets
from takeup.analysis.compliers import EXCLUSION, LARGE, both_seen, pair_and_action
from takeup.analysis.estimate import Estimate, Ray, honest
from takeup.analysis.regression import Method, Parts, anderson_rubin_by_regression, instrumented
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.space import Label

FIXED = "Probabilities of proposals did not depend on earlier outcomes."
STEADILY = (FIXED, "Outcomes do not change over the trial, where probabilities do.")
ROUNDING = 1e-12
"""As a part of the range of outcomes, an interval that is no longer has no length but for rounding."""

NO_ERROR = "all outcomes of those who are compared are the same, or too few are known, so that its error cannot be told"
ADAPTED = (
    "probabilities changed during the trial: such an interval misses its level (85 % instead of 95 % after Thompson"
    " sampling of 200), and where outcomes drift its centre is off as well"
)


def naive_difference(log: Log, one: Label, other: Label, *, level: float = 0.95) -> Estimate:
    """By how much plain means differ between two proposals, as if allocation had been fixed."""
    first, second = _pair(log, one, other)
    contrast = f"{log.space.proposals[first]} - {log.space.proposals[second]}"
    chosen = log.proposal == first, log.proposal == second
    values = targets.outcome(log.space).values(log)
    return _compared("naive difference", contrast, log, values, chosen[0] | chosen[1], chosen, level)


def per_protocol(log: Log, one: Label, other: Label, *, level: float = 0.95) -> Estimate:
    """By how much those who did as they were told differ, between two proposals; all others are left out."""
    first, second = _pair(log, one, other)
    intended = log.space.complying("the comparison per protocol")
    chosen = [(log.proposal == z) & (log.implemented == intended[z]) for z in (first, second)]
    contrast = f"{log.space.proposals[first]} - {log.space.proposals[second]}, among those who did as proposed"
    alike = "Those who do as proposed are like those who do not, whatever is proposed."
    among = np.isin(log.proposal, (first, second))
    return _compared("per protocol", contrast, log, _outcome(log).values(log), among, chosen, level, (alike,))


def as_treated(log: Log, one: Label, other: Label, *, level: float = 0.95) -> Estimate:
    """By how much those who took one action differ from those who took another, whatever was proposed to them."""
    a, b = (log.space.index("implemented", label) for label in (one, other))
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial")
    if a == b:
        raise InputError("other", repr(other), f"another action than {log.space.implemented[a]}")
    contrast = f"{log.space.implemented[a]} - {log.space.implemented[b]}, by what was taken"
    alike = "Those who take one action are like those who take the other."
    chosen = log.implemented == a, log.implemented == b
    everybody = np.ones(log.proposal.shape, dtype=np.bool_)
    return _compared("as treated", contrast, log, _outcome(log).values(log), everybody, chosen, level, (alike,))


def two_stage(
    log: Log,
    one: Label,
    other: Label,
    *others: Label,
    action: Label | None = None,
    method: Method = "2SLS",
    level: float = 0.95,
) -> Estimate:
    """The complier effect by two-stage least squares or LIML, with errors for any spread, as if allocation were fixed.

    Args:
        log: a single trial.
        one: the proposal that is meant to have the action taken.
        other: the proposal that it is compared with.
        others: more proposals, which serve as instruments too.
        action: what is taken; the intended action of `one` where left out.
        method: by what; the two are the same with two proposals.
        level: of the interval.
    """
    a, instruments, contrast = _taking(log, (one, other, *others), action)
    parts, n, missing = regressed(log, instruments, a)
    found = instrumented(parts, checks.one_of("method", method, ("2SLS", "LIML")))
    half = ndtri((1 + checks.share("level", level)) / 2) * found.robust
    assumes = (*STEADILY, EXCLUSION, _no_defiers(log, a), "Many more take it where it is offered.", LARGE)
    figures = (found.value, found.value - half, found.value + half)
    return _naive(method, contrast, figures, level, assumes, n, missing, log)


def anderson_rubin(
    log: Log, one: Label, other: Label, *others: Label, action: Label | None = None, level: float = 0.95
) -> Estimate:
    """The complier effect with the region of Anderson & Rubin by regression, as if allocation were fixed."""
    a, instruments, contrast = _taking(log, (one, other, *others), action)
    parts, n, missing = regressed(log, instruments, a)
    region = regions.rays(anderson_rubin_by_regression(parts, checks.share("level", level)))
    value = instrumented(parts, "LIML").value
    alike = "The spread of outcomes is the same for all."
    assumes = (*STEADILY, EXCLUSION, _no_defiers(log, a), alike, LARGE)
    figures = (value, *regions.hull(region))
    said = regions.said(region)
    unbounded = region if said else ()
    return _naive("Anderson-Rubin by regression", contrast, figures, level, assumes, n, missing, log, said, unbounded)


def mean_difference(
    value: FloatArray, one: NDArray[np.bool_], other: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """How the means of two groups differ along the last axis, and the standard error; NaN values are left out."""
    known = ~np.isnan(value)
    filled = np.where(known, value, 0.0)

    def mean(group: NDArray[np.bool_]) -> tuple[FloatArray, FloatArray]:
        counted = group & known
        n = counted.sum(axis=-1)
        centre = (filled * counted).sum(axis=-1) / n
        return centre, (counted * (filled - centre[..., np.newaxis]) ** 2).sum(axis=-1) / (n * (n - 1.0))

    with np.errstate(divide="ignore", invalid="ignore"):
        (first, spread), (second, rest) = mean(one), mean(other)
    return first - second, np.sqrt(spread + rest)


def regressed(log: Log, proposals: Sequence[int], action: int) -> tuple[Parts, int, int]:
    """Outcome and taking by these proposals, contexts being exogenous; how many decisions count, how many are missing.

    Trials side by side have to have the same decisions missing and the same proposals left out: none.
    """
    among = np.isin(log.proposal, proposals)
    outcome, taken = (of.values(log) for of in (_outcome(log), both_seen(targets.took(log.space, action))))
    known = among & ~np.isnan(outcome)
    if log.batch and not known.all():
        raise InputError("log", "trials side by side with decisions left out", "complete ones, or a single trial")
    kept = slice(None) if log.batch else known
    contexts = len(log.space.contexts)
    exogenous = (log.context[..., kept, np.newaxis] == np.arange(contexts)).astype(np.float64)
    instruments = (log.proposal[..., kept, np.newaxis] == np.array(proposals[:-1])).astype(np.float64)
    parts = Parts.of(outcome[..., kept], taken[..., kept], instruments, exogenous)
    return parts, parts.taken.shape[-1], int((among & ~known).sum())


def _outcome(log: Log) -> Target:
    return both_seen(targets.outcome(log.space))


def _pair(log: Log, one: Label, other: Label) -> tuple[int, int]:
    return pair_and_action(log, one, other, 0)[:2]


def _taking(log: Log, proposals: Sequence[Label], action: Label | None) -> tuple[int, list[int], str]:
    """The action, the proposals, and what is compared in words."""
    _, _, a = pair_and_action(log, proposals[0], proposals[1], action)
    instruments = [log.space.index("proposal", label) for label in proposals]
    if len(set(instruments)) < len(instruments):
        raise InputError("others", repr(proposals[2:]), "proposals that are all different")
    names = [log.space.proposals[z] for z in instruments]
    return a, instruments, f"{log.space.implemented[a]} taken or not, by {names[0]} against {', '.join(names[1:])}"


def _no_defiers(log: Log, action: int) -> str:
    return f"No proposal keeps anybody from {log.space.implemented[action]} who would take it otherwise."


def _compared(
    reading: str,
    contrast: str,
    log: Log,
    values: FloatArray,
    among: NDArray[np.bool_],
    chosen: Sequence[NDArray[np.bool_]],
    level: float,
    assumes: tuple[str, ...] = (),
) -> Estimate:
    """Two groups by their plain means."""
    value, error = mean_difference(values, *chosen)
    half = ndtri((1 + checks.share("level", level)) / 2) * error
    known = ~np.isnan(values)
    n, missing = int(((chosen[0] | chosen[1]) & known).sum()), int((among & ~known).sum())
    what = "the shares of what was offered, for want of probabilities," if log.estimated else "probabilities"
    mixed = f"{what} differ between contexts, and plain means mix these" if log.fixed and not log.constant else ""
    return _naive(
        reading,
        contrast,
        (value, value - half, value + half),
        level,
        (*assumes, *STEADILY, LARGE),
        n,
        missing,
        log,
        mixed,
    )


def _naive(
    reading: str,
    contrast: str,
    figures: Sequence[FloatArray | float],
    level: float,
    assumes: tuple[str, ...],
    n: int,
    missing: int,
    log: Log,
    withheld: str = "",
    region: tuple[Ray, ...] = (),
) -> Estimate:
    """What is right with fixed allocation alone."""
    value, low, high = map(float, figures)
    whole = targets.outcome(log.space)
    if not withheld and not high - low > ROUNDING * (whole.high - whole.low):
        withheld = NO_ERROR
    return honest(
        log,
        Estimate(
            reading,
            contrast,
            "difference",
            value,
            np.nan if withheld == NO_ERROR else low,
            np.nan if withheld == NO_ERROR else high,
            level,
            assumes,
            survives_adaptation=False,
            survives_drift=False,
            n=n,
            missing=missing,
            region=region,
            withheld=withheld or ("" if log.fixed else ADAPTED),
        ),
    )
