"""The policies that a trial can choose from, with a sentence each."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from takeup.errors import TakeupError
from takeup.policies import REGISTRY, TSLat
from takeup.policies.catalogue import Compliance, about
from takeup.policies.description import describe
from takeup.space import Space
from takeup.trial.design import Live

SENTENCES: Mapping[str, str] = {
    "Uniform": "Every proposal equally often, for ever: a fixed randomised trial. It learns for the reader alone.",
    "TS": "Thompson sampling by intention to treat: learns what proposing is worth, come what may. Always safe,"
    " slow where few comply.",
    "TS-Check": "Thompson sampling on those alone who did what was proposed. Fast where most comply and those who do"
    " are like the others.",
    "TS-Obs": "Thompson sampling that learns compliance and outcomes apart. Fast where outcomes depend on what was"
    " done alone; misled where those who refuse are other people.",
    "TS-Lat-0": "As TS-Obs, and fills in what was done where nobody reported it.",
    "TS-Lat-40": "As TS-Lat-0, after 40 outcomes in each context during which it explores evenly.",
    "TS-Lat-0 Gibbs": "As TS-Lat-0 by random sampling instead of an approximation: exact and slow.",
    "TS-Robust": "As TS-Obs as long as the data allow it, and as TS where those who comply are unlike the others.",
    "epsilon-greedy": "The best so far, and now and then any other.",
    "UCB1": "The most promising within its uncertainty; never by chance.",
    "KL-UCB": "As UCB1, with a sharper bound.",
    "Bayes-UCB": "As UCB1, with a quantile of what is believed.",
    "TS-TopTwo": "Thompson sampling between the best two: for knowing which is best rather than for those treated.",
    "TS actual": "Thompson sampling that credits what was done. Misled where those who refuse are other people.",
    "TS-Intent": "Thompson sampling by what people would do by themselves; contexts must be these intents.",
    "TS-Causal": "As TS-Intent, and takes what people do by themselves into account.",
    "UCB-ITT": "UCB1 by intention to treat.",
    "UCB-AT": "UCB1 that credits what was done; can be wrong for ever.",
    "2SLS-decay": "Uses proposals as an instrument: what an action does to those whom proposals move; explores less and"
    " less.",
    "2SLS-fixed": "As 2SLS-decay, exploring equally often for ever.",
    "2SLS-adaptive": "As 2SLS-decay, exploring as far as is still unclear.",
}
COMMON = ("TS", "TS-Obs", "TS-Check", "TS-Lat-40", "TS-Robust", "Uniform")
"""What most trials choose from, in the order in which they are shown."""
USUAL = "TS"


@dataclass(frozen=True, slots=True)
class PolicyChoice:
    """A policy to choose.

    Attributes:
        name: what people call it.
        sentence: what it does.
        compliance: what it makes of compliance.
        source: where it is from.
        description: as a spec has it.
    """

    name: str
    sentence: str
    compliance: Compliance
    source: str
    description: dict[str, Any]

    @property
    def common(self) -> bool:
        """Whether most trials would consider it."""
        return self.name in COMMON


def _choices() -> dict[str, PolicyChoice]:
    live = {policy.name: policy for policy in REGISTRY if policy.live and isinstance(policy, Live)}
    order = [*COMMON, *(name for name in live if name not in COMMON)]
    found = {}
    for name in order:
        known = about(live[name])
        found[name] = PolicyChoice(name, SENTENCES[name], known.compliance, known.source, describe(live[name]))
    return found


CHOICES: Mapping[str, PolicyChoice] = _choices()
"""Every registered policy that may run a live trial, by name."""


@cache
def suited(space: Space) -> Mapping[str, PolicyChoice]:
    """The policies that work in this space, and fast enough for somebody who waits."""
    slow = {policy.name for policy in REGISTRY if isinstance(policy, TSLat) and policy.inference == "gibbs"}
    found = {}
    for policy in REGISTRY:
        if policy.name not in CHOICES or policy.name in slow:
            continue
        try:
            policy.start(space)
        except TakeupError:
            continue
        found[policy.name] = CHOICES[policy.name]
    return {name: found[name] for name in CHOICES if name in found}


def chosen(description: Mapping[str, Any]) -> PolicyChoice | None:
    """The choice that a spec's policy equals, with all its defaults; None where there is none."""
    return next((each for each in CHOICES.values() if each.description == dict(description)), None)
