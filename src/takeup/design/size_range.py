"""Which sizes a plan can be tried at where only its last look moves, and with how many trials."""

from collections.abc import Iterator

import numpy as np

from takeup import checks
from takeup.design.plan import Plan
from takeup.errors import InputError
from takeup.specfile import SpecError
from takeup.trial.looks import MOST_LOOKS, MOST_UNITS

LEAST = 100
"""A power from fewer trials is not told."""


def size_range(plan: Plan, most: int) -> tuple[int, int]:
    """The smallest and the largest size to try."""
    looks, given = plan.content["looks"], next(by_look(plan), None)
    high = checks.whole("most", most, 1, MOST_UNITS)
    if looks.get("at") is not None:
        # stretched looks that are more than one unit apart stay as many
        apart = int(plan.looks.at[-1] // np.diff(plan.looks.at, prepend=0).min()) + 1
        return int(plan.looks.at.size) if given is None else apart, high
    if given is not None:
        allowed = "one number for all looks, or looks as a list `at`, as their number changes with the size"
        raise SpecError(f"{plan.source}: {given}", "one for each look", allowed)
    first, every = int(plan.looks.at[0]), looks.get("every")
    low = first if looks.get("first") is not None or every is not None else 2
    return low, high if every is None else min(high, first + (MOST_LOOKS - 1) * every)


def by_look(plan: Plan) -> Iterator[str]:
    """The keys of what a plan has for each of its looks."""
    stopping = plan.content.get("stopping", {})
    given = {f"stopping.{name}": stopping.get(name) for name in ("superiority", "inferiority")}
    for name in ("equivalence", "futility"):
        given[f"stopping.{name}.probability"] = (stopping.get(name) or {}).get("probability")
    given["limits.soften"] = (plan.content.get("limits") or {}).get("soften")
    given |= {f"scenarios.{name}.take_up": table.get("take_up") for name, table in plan.content["scenarios"].items()}
    yield from (key for key, value in given.items() if isinstance(value, list))


def check_trials(replications: int, power: float) -> None:
    """Refuse so few trials that the error of a power were more than a quarter of what is left to 0 or 1."""
    rare = min(power, 1 - power)
    least = max(LEAST, int(np.ceil(16 * (1 - rare) / rare)))
    if replications < least:
        raise InputError("replications", replications, f"at least {least:,} for a power of {power:g}")
