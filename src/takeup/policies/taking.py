"""Which outcomes a policy takes, and how it says no to the others."""

from takeup.errors import UnsuitableError
from takeup.outcomes import Levels, Number, Outcome
from takeup.outcomes.number import MOST_BINS
from takeup.policies.card import Outcomes


def check_outcome(name: str, takes: Outcomes, outcome: Outcome) -> None:
    """An UnsuitableError where a policy of this name does not take the outcome."""
    if takes == "levels" and not isinstance(outcome, Levels):
        raise UnsuitableError(f"{name} takes outcomes with levels alone, and this is a {outcome.kind}")
    if takes == "counted" and outcome.cells < outcome.size:
        raise UnsuitableError(f"{name} must know how often each outcome came, and {_uncounted(outcome)}")
    if takes == "valued" and not outcome.valued:
        why = "which has no worth of its own while it is censored or its exposure differs"
        raise UnsuitableError(f"{name} learns from rewards, and the outcome is a {outcome.kind}, {why}")


def _uncounted(outcome: Outcome) -> str:
    """Why it is not known how often each came, and what to do about it."""
    why = f"the {outcome.cells} bins of this {outcome.kind} hold {outcome.size:,} different ones"
    if not isinstance(outcome, Number) or outcome.scale == "log":
        return why
    if outcome.size <= MOST_BINS:
        return f"{why}; give each a bin, Number(.., bins={outcome.size})"
    return f"{why}; choose a step with which there are at most {MOST_BINS:,}, and bins={MOST_BINS}"
