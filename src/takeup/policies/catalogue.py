"""What people are told about each policy before they choose: what it must see, and where it is from."""

from typing import Any, Literal, NamedTuple, TypeAlias

from takeup.policies import (
    EXP3,
    KLUCB,
    TS,
    UCB1,
    UCBAT,
    UCBITT,
    BayesUCB,
    CausalTS,
    EpsilonGreedy,
    Forgetting,
    Hierarchical,
    IntentTS,
    Policy,
    Protocol,
    ThompsonBounded,
    TopTwo,
    TSCheck,
    TSLat,
    TSObs,
    TSRobust,
    TwoStage,
    Uniform,
    WarmTSLat,
)

Compliance: TypeAlias = Literal["not used", "used where seen", "needed"]
"""What a policy makes of the implemented action: nothing, what it can get, or it learns nothing without."""


class About(NamedTuple):
    """What is known of a kind of policy.

    Attributes:
        compliance: what it makes of compliance.
        source: where it is from.
    """

    compliance: Compliance
    source: str


_STIRN = "Stirn & Jebara (2019)"
_PENNA = "Della Penna, Reid & Balduzzi (2016)"
_BAREINBOIM = "Bareinboim, Forney & Pearl (2015)"
_KALLUS = "Kallus (2018)"
_AUER = "Auer, Cesa-Bianchi & Fischer (2002)"

ABOUT: dict[type, About] = {
    Uniform: About("not used", "a fixed randomised trial"),
    TS: About("not used", f"Thompson (1933); {_STIRN}, section 3.1"),
    TSCheck: About("needed", f"{_STIRN}, section 3.2"),
    TSObs: About("needed", f"{_STIRN}, section 3.3"),
    TSLat: About("used where seen", f"{_STIRN}, section 3.4"),
    TSRobust: About("needed", "takeup"),
    WarmTSLat: About("used where seen", f"{_STIRN}, section 3.4"),
    EpsilonGreedy: About("not used", _AUER),
    UCB1: About("not used", _AUER),
    KLUCB: About("not used", "Garivier & Cappé (2011)"),
    BayesUCB: About("not used", "Kaufmann, Cappé & Garivier (2012)"),
    TopTwo: About("not used", "Russo (2016)"),
    EXP3: About("not used", "Auer, Cesa-Bianchi, Freund & Schapire (2002)"),
    Protocol: About("needed", _PENNA),
    Hierarchical: About("used where seen", _PENNA),
    ThompsonBounded: About("used where seen", _PENNA),
    IntentTS: About("not used", _BAREINBOIM),
    CausalTS: About("not used", _BAREINBOIM),
    UCBITT: About("not used", _KALLUS),
    UCBAT: About("needed", _KALLUS),
    TwoStage: About("needed", _KALLUS),
}
"""By kind; every registered one but those around another is in here."""


def about(policy: Policy[Any]) -> About:
    """What is known of a policy: of a forgetful one what is known of its base.

    A protocol that credits the proposal has no use for compliance.
    """
    if isinstance(policy, Forgetting):
        return about(policy.base)
    found = ABOUT[type(policy)]
    if isinstance(policy, Protocol) and policy.credit == "chosen":
        return found._replace(compliance="not used")
    return found
