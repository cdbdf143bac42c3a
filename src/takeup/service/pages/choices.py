"""The policies that a trial can choose from, with a sentence each."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from takeup.errors import TakeupError
from takeup.policies.base import Registered
from takeup.policies.card import Compliance
from takeup.policies.description import describe
from takeup.policies.meeting import uses_covariates
from takeup.policies.registry import policy_of, registered, variants
from takeup.space import Space

USUAL = "TS-Robust"
"""What a new form begins with; it comes first."""


PLAIN: Mapping[str, str] = {
    "TS-Robust": "Safe whatever people do, and faster where the data allow it",
    "TS": "The plain rule: learns from what was proposed alone",
    "TS-Obs": "Faster still, if those who refuse are like those who do not",
    "TS-Check": "Learns from those who did as they were told",
    "TS-Lat-40": "For trials in which it is not always known what was done",
    "TS half-life 1000": "Old decisions count less, for a world that changes",
    "LinTS-Robust": "Finds out for whom it works: safe whatever people do, and faster where the data allow it",
    "LinTS": "Finds out for whom it works, by the plain rule: learns from what was proposed alone",
    "LinTS-Obs": "Finds out for whom it works, fastest if those who refuse are like those who do not",
    "Uniform": "Everybody with the same chance, to the end",
}
"""What people may choose by who know none of the names; they are shown in this order."""


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy to choose.

    Attributes:
        name: what it is called in the literature.
        plain: what people may choose it by; may be empty.
        sentence: what it does.
        compliance: what it makes of compliance.
        source: where it is from.
        description: as a spec has it.
        common: whether most trials would consider it.
        slow: whether a person at a page should not have to wait for it.
        recommended: whether to begin with it, of those that use covariates or of those that do not.
        covariates: whether it needs covariates.
    """

    name: str
    plain: str
    sentence: str
    compliance: Compliance
    source: str
    description: dict[str, Any]
    common: bool
    slow: bool
    recommended: bool
    covariates: bool


def choices() -> Mapping[str, PolicyChoice]:
    """Every registered policy that may run a live trial, by name; those that most trials would consider come first."""
    return _choices(registered())


@cache
def _choices(policies: tuple[Registered, ...]) -> Mapping[str, PolicyChoice]:
    found = [
        PolicyChoice(
            policy.name,
            PLAIN.get(policy.name, ""),
            variant.sentence,
            policy.compliance,
            policy.card.source,
            describe(policy),
            variant.common,
            variant.slow,
            variant.recommended,
            uses_covariates(policy),
        )
        for policy, variant in variants()
        if policy.live
    ]
    order = {name: place for place, name in enumerate(PLAIN)}
    return {
        each.name: each for each in sorted(found, key=lambda each: (not each.common, order.get(each.name, len(order))))
    }


def suited(space: Space) -> Mapping[str, PolicyChoice]:
    """The policies that work in this space, and fast enough for somebody who waits."""
    found = {}
    for name, choice in choices().items():
        try:
            policy_of(choice.description).start(space)
        except TakeupError:
            continue
        if not choice.slow:
            found[name] = choice
    return found


def chosen(description: Mapping[str, Any]) -> PolicyChoice | None:
    """The choice that a spec's policy equals, with all its defaults; None where there is none."""
    return next((each for each in choices().values() if each.description == dict(description)), None)
