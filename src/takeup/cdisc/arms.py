"""Planned and actual arms of DM, by the rules of SDTMIG 3.4 (DM, assumption 4).

ARM and ARMCD are both there or both null, and so are ACTARM and ACTARMCD. Where one pair is null, ARMNRS says why;
where both are there, it is null, whether or not they agree. Where it is UNPLANNED TREATMENT, ACTARMUD says which.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from takeup.log import Log
from takeup.space import UNSEEN, Space

NOT_TREATED = "ASSIGNED, NOT TREATED"
UNPLANNED = "UNPLANNED TREATMENT"
NOT_KNOWN = "ASSIGNED, TREATMENT NOT KNOWN"
"""The first two are of the codelist ARMNULRS (C142179), which may be extended; the third extends it.

That nobody has reported what was taken does not mean that nothing was.
"""

LONGEST_CODE = 20
"""How long ARMCD may be."""


class Actual(NamedTuple):
    """What became of a subject.

    Attributes:
        arm: which arm's treatment it was, as an index of the proposals; None where it was no arm's.
        reason: why there is none.
        unplanned: what was taken instead.
    """

    arm: int | None = None
    reason: str | None = None
    unplanned: str | None = None


def actual_arms(log: Log, untreated: int | None) -> list[Actual]:
    """What became of each subject."""
    pairs = zip(log.proposal.tolist(), log.implemented.tolist(), strict=True)
    return [_actual(log.space, planned, action, untreated) for planned, action in pairs]


def arm_codes(labels: Sequence[str]) -> list[str]:
    """ARMCD of each arm: its letters and digits, in capitals; ARM and its number where those do not tell arms apart."""
    plain = [unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().upper() for label in labels]
    codes = [re.sub("[^A-Z0-9]", "", text)[:LONGEST_CODE] for text in plain]
    if all(codes) and len(set(codes)) == len(codes):
        return codes
    return [f"ARM{number}" for number in range(1, len(labels) + 1)]


def _actual(space: Space, planned: int, action: int, untreated: int | None) -> Actual:
    if action == UNSEEN:
        return Actual(reason=NOT_KNOWN)
    if action == untreated:
        return Actual(reason=NOT_TREATED)
    label = space.implemented[action]
    if space.intended is None:
        arms = [arm for arm, name in enumerate(space.proposals) if name == label]
    else:
        arms = [arm for arm, meant in enumerate(space.intended) if meant == action]
    if planned in arms:
        return Actual(planned)
    return Actual(arms[0]) if len(arms) == 1 else Actual(reason=UNPLANNED, unplanned=label)
