"""How long trials of a plan take that no kernel runs, before they are run."""

import time

from takeup.design.bounded import reading_of
from takeup.design.plan import Plan
from takeup.design.side_by_side import BLOCK, Block
from takeup.policies.meeting import uses_covariates
from takeup.trial.rules import BoundedTable

STEPS = 20
"""How many units of a block are timed."""


def grain(plan: Plan) -> int:
    """In multiples of how many trials a plan is best run."""
    return BLOCK if uses_covariates(plan.design.policy) else 1


def expected_seconds(plan: Plan, trials: int) -> float | None:
    """About how long so many trials of each scenario take at most, all of them to their last look.

    Of plans whose policy proposes by covariates, unit by unit; None of others.
    """
    if not uses_covariates(plan.design.policy):
        return None
    reading = reading_of(plan) if isinstance(plan.reading, BoundedTable) else plan.reading
    block = Block(plan, reading, next(iter(plan.scenarios.values())), 0, 0)
    first, size = plan.design.spec.burn_in, int(plan.looks.at[-1])
    steps = range(first, min(first + STEPS + 1, size)) or range(1)
    block.unit(steps[0])  # which has more to do
    began = time.perf_counter()
    for t in steps[1:]:
        block.unit(t)
    each = (time.perf_counter() - began) / max(len(steps) - 1, 1)
    return each * size * -(-trials // BLOCK) * len(plan.scenarios)
