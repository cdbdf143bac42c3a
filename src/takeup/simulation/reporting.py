"""Reporting: how much of what happens reaches the policy, and when."""

from dataclasses import dataclass

from takeup import checks
from takeup.errors import InputError


@dataclass(frozen=True, slots=True)
class Reporting:
    """What is reported of each decision. It never changes what happens.

    Attributes:
        compliance: the probability that the implemented action of a decision is seen, whatever it was: 1 is observed
            compliance, 0 latent compliance. What is seen is seen at once.
        delay: how many further decisions are made before the outcome of one is known; until then it is pending.
        batch: how many decisions are made on the same knowledge: what comes in between is learnt after the batch.
    """

    compliance: float = 1.0
    delay: int = 0
    batch: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.compliance <= 1:
            raise InputError("compliance", self.compliance, "a probability between 0 and 1")
        checks.whole("delay", self.delay, least=0)
        checks.whole("batch", self.batch, least=1)

    @property
    def waiting(self) -> bool:
        """Whether anything reaches the policy later than at once."""
        return self.delay > 0 or self.batch > 1
