"""The bounded reading after a trial: what is left of an effect, if takers and refusers may differ by so much.

The promise is Δ: with any one action, people who differ in what they take when they are offered something differ by at
most Δ in their mean outcome. `takeup.policies.bounded_reading` has the estimate and its bias at worst, docs/theory.md
derives them. Here means and shares are those of scores, which are unbiased whatever the policy did, and the interval is

    estimate ± (the largest bias that the promise allows + z errors),

so that each of its ends is passed with half of what the level leaves, at most, whatever the difference within Δ. The
errors are those that the estimate has if the truth is at that end, see `takeup.analysis.cell_sums`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.analysis.bounded_family import BoundedInterval, Compared
from takeup.analysis.compliers import EXCLUSION, LARGE
from takeup.analysis.effects import ALIKE, left_out
from takeup.analysis.estimate import Estimate, honest
from takeup.analysis.targets import Target
from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.log import Log
from takeup.policies.bounded_reading import BoundedReading
from takeup.space import Label, Space

NEARLY = 0.01
"""What shares by scores may miss one by where all do the same."""


def bounded_interval(
    log: Log,
    one: Label,
    other: Label,
    promise: "ArrayLike | BoundedReading",
    *,
    level: float = 0.95,
    control: Label | None = None,
    of: Target | None = None,
) -> BoundedInterval:
    """The same as `bounded_effect`, of many trials side by side."""
    return _read(log, one, other, promise, level, control, of)[2]


def bounded_effect(
    log: Log,
    one: Label,
    other: Label,
    promise: "ArrayLike | BoundedReading",
    *,
    level: float = 0.95,
    control: Label | None = None,
    of: Target | None = None,
) -> Estimate:
    """What is left of the difference between two proposals under a promise, with an interval that allows for its bias.

    Args:
        log: a single trial, in which what was taken is known.
        one: a proposal, by name or index.
        other: what it is compared with.
        promise: Δ in units of the outcome, one number or one for each action; or the reading that was planned, whose
            weights were chosen before the trial. Without a plan they are those of the shortest interval, at the shares
            and the spread of outcomes that were seen.
        level: how often such intervals hold the truth, at least.
        control: the proposal that weight is moved from and to; `other` where left out.
        of: what outcomes are worth; the outcome in its own units where left out.
    """
    if log.batch:
        raise InputError("log", f"{len(log.batch)} leading axes", "a single trial; `bounded_interval` takes many")
    compared, bound, found = _read(log, one, other, promise, level, control, of)
    cells = compared.cells
    reason = compared.withheld(log.space) or ("" if cells.spread > 0 else ALIKE)
    low, high = (np.nan, np.nan) if reason else (float(found.low), float(found.high))
    seen = cells.counts[[compared.one, compared.other]].sum(axis=-1).all()
    return honest(
        log,
        Estimate(
            "bounded",
            compared.contrast(log.space),
            "difference",
            float(found.value) if seen else np.nan,
            low,
            high,
            level,
            assumes=tuple(_assumed(compared, bound, found.moved, log)),
            survives_adaptation=not reason,
            survives_drift=not reason and not cells.missing,
            n=int(cells.n),
            missing=int(cells.missing),
            withheld=reason,
        ),
    )


def _read(
    log: Log,
    one: Label,
    other: Label,
    promise: "ArrayLike | BoundedReading",
    level: float,
    control: Label | None,
    of: Target | None,
) -> tuple[Compared, FloatArray, BoundedInterval]:
    checks.share("level", level)
    if not isinstance(promise, BoundedReading):
        compared, bound = Compared.of(log, one, other, control, of), bound_of(log.space, promise)
        return compared, bound, compared.within(bound, level)
    first, second = (log.space.index("proposal", each) for each in (one, other))
    planned = promise.moved[first, second]
    used = np.flatnonzero(planned.any(axis=1)).tolist()
    compared = Compared.of(log, first, second, promise.control, of, used)
    return compared, promise.bound, compared.within(promise.bound, level, planned[list(compared.cells.rows)])


def bound_of(space: Space, promise: ArrayLike) -> FloatArray:
    """Δ[a] of a promise, checked."""
    given = checks.real("promise", promise)
    actions = len(space.implemented)
    if given.shape not in ((), (actions,)) or np.any(given < 0):
        raise InputError("promise", given.tolist(), f"a number of at least 0, or one for each of {actions} actions")
    return np.broadcast_to(given, actions)


def _assumed(compared: Compared, bound: FloatArray, moved: FloatArray, log: Log) -> Iterator[str]:
    """What has to be true, a sentence each."""
    cells, space = compared.cells, log.space
    used = moved != 0
    if used.any():
        limits = [f"{bound[a]:g} with {space.implemented[a]}" for a in np.flatnonzero(used.any(axis=0))]
        told = f"{bound[0]:g} with any one action" if np.ptp(bound) == 0 else " and ".join(limits)
        yield f"People who differ in what they take differ by at most {told}, in their mean outcome."
        yield EXCLUSION
        if (used & (np.maximum(cells.share, cells.share[0]) < 1 - NEARLY)).any():
            yield "Nobody does the opposite of what he is told."
        yield "Where outcomes change over the trial, what people take does not."
    else:
        yield "Nothing about refusers: a promise so weak is worth nothing here, and this is intention to treat."
    if cells.missing:
        yield left_out(log)
    if cells.impossible:
        yield f"It is the effect in decisions where all could be offered: {cells.impossible} others are left out."
    yield "The logged probabilities are those that proposals were drawn with."
    yield LARGE
