"""What a trial may hold: how many cells, which labels, utilities and texts."""

import math
import re

from takeup.errors import InputError
from takeup.outcomes import Levels
from takeup.space import Space
from takeup.specfile import SpecError
from takeup.trial.spec import TrialSpec

MOST_CELLS = 100_000
MOST_LABEL = 200
MOST_DECISIONS = 10**12
MOST_SCENARIOS = 200
MOST_UTILITY = 1e12
LEAST_SPREAD = 1e-9
"""How far utilities must be apart, of the largest: closer ones are lost in rounding."""
_UNTELLABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def check_size(space: Space) -> None:
    """A table that can be computed with, and labels that can be told."""
    cells = math.prod(space.table)
    if cells > MOST_CELLS:
        raise InputError("size", f"{cells} cells", f"at most {MOST_CELLS}", "merge contexts, actions or outcome levels")
    levels = {"outcomes": space.outcomes} if isinstance(space.outcome, Levels) else {}
    for name in ("contexts", "proposals", "implemented"):
        levels[name] = getattr(space, name)
    if space.covariates is not None:
        levels["covariates"] = space.covariates.names
    for name, labels in levels.items():
        for label in labels:
            text(name, label, MOST_LABEL)


def check_scenarios(spec: TrialSpec, source: str) -> None:
    """As many as a page can show."""
    if spec.scenarios is not None and len(spec.scenarios) > MOST_SCENARIOS:
        hint = "leave some out: a trial decides nothing from them, and takeup design takes any number"
        raise SpecError(f"{source}: scenarios", len(spec.scenarios), f"at most {MOST_SCENARIOS} of them", hint)


def check_decisions(spec: TrialSpec, source: str) -> None:
    """Numbers of decisions that can be counted."""
    for name, number in (("burn_in", spec.burn_in), ("stopping.maximum", spec.stopping.maximum)):
        if number is not None and number > MOST_DECISIONS:
            raise SpecError(f"{source}: {name}", number, f"at most {MOST_DECISIONS}")


def check_utility(space: Space) -> None:
    """Utilities that rounding leaves apart."""
    low, high = space.outcome.lowest, space.outcome.highest
    largest = max(abs(low), abs(high))
    if not 1 / MOST_UTILITY <= largest <= MOST_UTILITY:
        allowed = f"numbers of which the largest is from {1 / MOST_UTILITY:g} to {MOST_UTILITY:g}"
        raise InputError("utility", f"{largest:g}", allowed, "choose another unit")
    if high - low < LEAST_SPREAD * largest:
        allowed = f"numbers that differ by at least {LEAST_SPREAD:g} of the largest"
        raise InputError("utility", f"{low!r} to {high!r}", allowed, "subtract what they have in common")


def untellable(value: str) -> bool:
    """Whether there are control characters or lone surrogates in it."""
    return _UNTELLABLE.search(value) is not None


def text(argument: str, value: object, most: int) -> str:
    """A text that every database and every reader can hold: not blank, not too long, no control characters."""
    if not isinstance(value, str) or not value.strip():
        raise InputError(argument, repr(value)[:100], "a text that is not blank")
    if len(value) > most:
        raise InputError(argument, f"{len(value)} characters", f"at most {most}")
    if untellable(value):
        raise InputError(argument, ascii(value)[:100], "a text without control characters and lone surrogates")
    return value
