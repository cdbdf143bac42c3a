"""When to advise the end of a trial: pure functions of how probable it is that each proposal is best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from takeup.trial.look_advice import LookAdvice, reading_words
from takeup.trial.spec import WordsTable

FEW = 20
"""With fewer known outcomes no proposal is called the best, and no end is advised for one."""

EARLY = f"Too early to say which is best, with {{}}; it takes {FEW}"
"""What is said with fewer, by how many are known."""

Reading: TypeAlias = Literal["intention to treat", "policy"]
"""How the threshold for the probability best reads the data: by what was proposed, or by the policy's own model."""


def chance(probability: float) -> str:
    """A probability that draws have estimated, as all who speak of it write it.

    Two digits are what draws are good for, a third where it is nearly 0 or 1; never quite either.
    """
    said = f"{probability:.{2 if 0.01 <= probability <= 0.99 else 3}f}"
    return {"1.000": ">\u00a00.999", "0.000": "<\u00a00.001"}.get(said, said)


@dataclass(frozen=True, slots=True)
class Advice:
    """What the threshold for the probability best says in one context.

    Attributes:
        context: the context's label; None where the trial has one alone.
        arm: the proposal that is most probably best by the reading.
        reading: how the data are read: by intention to treat, or by the policy's own model.
        probability: that the arm is best by the reading.
        threshold: the probability from which on the plan advises an end.
        withheld: why the reading cannot be relied on; None where nothing speaks against it.
    """

    context: str | None
    arm: str
    reading: Reading
    probability: float
    threshold: float
    withheld: str | None = None

    @property
    def reached(self) -> bool:
        """Whether the threshold is reached, by a reading that can be relied on."""
        return self.withheld is None and self.probability >= self.threshold

    @property
    def sentence(self) -> str:
        """The arm, the reading, the probability and the threshold, in words."""
        where = "" if self.context is None else f"in the group {self.context} "
        best = f"{reading_words(self.reading)} {where}{self.arm} is best with probability {chance(self.probability)}"
        return f"{best}, and the threshold is {self.threshold:g}"


@dataclass(frozen=True, slots=True)
class StoppingAdvice:
    """Whether to end a trial; nothing ends by itself.

    Attributes:
        stop: whether an end is advised.
        reasons: why, in words.
        withheld: why the threshold is not applied, where it is not.
        contexts: what the threshold says in each context; empty without a threshold, and once the trial has stopped.
        looks: where looks are planned, what the last one concluded and when the next one is.
    """

    stop: bool = False
    reasons: tuple[str, ...] = ()
    withheld: str | None = None
    contexts: tuple[Advice, ...] = ()
    looks: LookAdvice | None = None


def most_probable(
    best: Mapping[str, float], threshold: float, reading: Reading, *, context: str | None, withheld: str | None = None
) -> Advice:
    """What a threshold says in one context.

    Args:
        best: the probability that each proposal is best by the reading, by label.
        threshold: from which probability on the plan advises an end.
        reading: how the probabilities read the data.
        context: the context's label, if the trial has more than one.
        withheld: why the reading cannot be relied on, if it cannot.
    """
    arm = max(best, key=lambda label: best[label])
    return Advice(context, arm, reading, best[arm], threshold, withheld)


def advise(
    decisions: int, maximum: int | None, contexts: Sequence[Advice], words: WordsTable | None = None
) -> StoppingAdvice:
    """An end is advised at the maximum size, or once the threshold is reached in every context.

    Args:
        decisions: how many have been made.
        maximum: how many there are to be at most.
        contexts: what the threshold says in each.
        words: what those are called who have one decision each; decisions are counted where left out.
    """
    reasons = []
    if maximum is not None and decisions >= maximum:
        made = f"{decisions:,} decisions have been made" if words is None else f"{words.number(decisions)} have come"
        reasons.append(f"{made}, and the maximum is {maximum:,}")
    if contexts and all(each.reached for each in contexts):
        reasons.append("; ".join(each.sentence for each in contexts))
    withheld = next((each.withheld for each in contexts if each.withheld is not None), None)
    return StoppingAdvice(bool(reasons), tuple(reasons), withheld, tuple(contexts))
