"""Reporting: how much of what happens reaches the policy."""

from dataclasses import dataclass

from takeup.errors import InputError


@dataclass(frozen=True, slots=True)
class Reporting:
    """What is reported of each decision. It never changes what happens.

    Attributes:
        compliance: the probability that the implemented action of a decision is seen, whatever it was: 1 is observed
            compliance, 0 latent compliance.
    """

    compliance: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.compliance <= 1:
            raise InputError("compliance", self.compliance, "a probability between 0 and 1")
