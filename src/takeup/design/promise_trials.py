"""Size against what is promised by simulation, for any plan: adaptive, with several arms, looks and rules."""

from collections.abc import Sequence

from takeup.design.figures import Figure
from takeup.design.operate import REPLICATIONS, operate
from takeup.design.plan import Plan
from takeup.design.promises import BROKEN, broken, promised
from takeup.design.sizing import size
from takeup.errors import InputError
from takeup.simulation.engine import Progress, silent

FRESH = 1_000_003
"""By how much the seed of the errors that are told differs from that of the search."""


def promise_trials(
    plan: Plan,
    promises: Sequence[float],
    power: float = 0.8,
    replications: int = REPLICATIONS,
    seed: int = 0,
    *,
    times: float = 2.0,
    calibrate_to: float | None = None,
    progress: Progress = silent,
) -> list[dict[str, float]]:
    """A record for each promise Δ, as `promise_curve` makes them, from trials of the plan.

    Each has `promise`; `size`, the last look at which the plan has the power, and `size_error`; `kept`, how often it
    claims something false where groups differ by Δ, all towards that, and `kept_error`; `error` and `error_error`, the
    same where they differ by so many `times` that; and `alpha`, the error that was asked for.

    Args:
        plan: with a control; its rules read the bounded reading whatever they read before.
        promises: what may be promised.
        power: in the scenarios that are no null.
        replications: trials of each scenario and size.
        seed: any whole number of at least 0.
        times: how often a promise is broken.
        calibrate_to: the error that the threshold is to keep in all nulls, one in which groups differ by Δ among them.
        progress: called with the number of trials made.
    """
    if plan.rules.control is None:
        raise InputError("stopping.control", "none", "a control, which a bounded reading compares with")
    alpha = calibrate_to
    if alpha is None:
        if plan.rules.superiority is None:
            raise InputError("stopping.superiority", "none", "a threshold, or calibrate_to")
        alpha = 1 - float(plan.rules.superiority[-1])
    found = []
    for promise in promises:
        kept = broken(promised(plan, promise), promise)
        sized = size(kept, power, None, replications, seed, calibrate_to=calibrate_to, progress=progress)
        errors = [
            Figure.of(operate(each, [BROKEN], replications, seed + FRESH, progress=progress)[BROKEN].claimed)
            for each in (sized.plan, broken(sized.plan, times * promise))
        ]
        found.append(
            {
                "promise": float(promise),
                "size": float(sized.size),
                "size_error": sized.error,
                "kept": errors[0].mean,
                "kept_error": errors[0].error,
                "error": errors[1].mean,
                "error_error": errors[1].error,
                "alpha": alpha,
            }
        )
    return found
