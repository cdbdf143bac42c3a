"""Which outcomes a policy takes, and how it says no to the others."""

from takeup.errors import UnsuitableError
from takeup.outcomes import Count, Levels, Number, Outcome, Time
from takeup.outcomes.count import BINS as COUNT_BINS
from takeup.outcomes.number import MOST_BINS
from takeup.outcomes.time import BINS as TIME_BINS
from takeup.policies.card import Outcomes

OTHERS = "TS and TSObs take it"
"""Those who take all outcomes are not far."""


def check_outcome(name: str, takes: Outcomes, outcome: Outcome) -> None:
    """An UnsuitableError where a policy of this name does not take the outcome."""
    if takes == "levels" and not isinstance(outcome, Levels):
        raise UnsuitableError(f"{name} takes outcomes with levels alone, and this is a {outcome.kind}; {OTHERS}")
    if takes == "counted" and outcome.cells < outcome.size:
        raise UnsuitableError(f"{name} must know how often each outcome came, and {_uncounted(outcome)}")
    if takes == "valued" and not outcome.valued:
        why = "which has no worth of its own while it is censored or its exposure differs"
        raise UnsuitableError(f"{name} learns from rewards, and the outcome is a {outcome.kind}, {why}; {OTHERS}")


def _uncounted(outcome: Outcome) -> str:
    """Why it is not known how often each came, and what to do about it."""
    why = f"the {outcome.cells} bins of this {outcome.kind} hold {outcome.size:,} different ones"
    return f"{why}; {_remedy(outcome)}"


def _remedy(outcome: Outcome) -> str:
    match outcome:
        case Number(scale="linear") if outcome.size <= MOST_BINS:
            return f"give each a bin, Number(.., bins={outcome.size})"
        case Number(scale="linear"):
            return f"choose a step with which there are at most {MOST_BINS:,}, and bins={MOST_BINS}"
        case Number():
            return "use likelihood=Bootstrap() for bins"
        case Time():
            return f"choose a step with which the longest is at most {TIME_BINS - 1} steps, or TSObs"
        case Count(exposure=""):
            return f"counts up to {COUNT_BINS - 1} have a bin each; else choose TSObs"
    return OTHERS
