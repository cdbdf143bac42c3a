"""Whether the data of a trial contradict what a model assumes."""

import math
from dataclasses import dataclass

from takeup.diagnostics import check_exclusion, check_ignorable, check_seen
from takeup.diagnostics.exclusion import MOST_INEQUALITIES, levels_of
from takeup.diagnostics.ignorable import FEW_DRAWS
from takeup.evidence import Evidence
from takeup.trial.design import Design


@dataclass(frozen=True, slots=True)
class Withheld:
    """Something that is not shown, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """Whether the data contradict an assumption.

    Attributes:
        alarm: whether they do, however often one has looked: the e-value has reached 20.
        log_e_value: the logarithm of the e-value against the assumption.
        p_value: of the assumption; valid for one look that was planned beforehand.
        used: how many decisions it rests on: those with action and outcome known.
        detail: what was found, in words.
    """

    alarm: bool
    log_e_value: float
    p_value: float
    used: int
    detail: str


@dataclass(frozen=True, slots=True)
class SeenCheck(ModelCheck):
    """Whether an action is known or not by the outcome; `used` are all decisions with the outcome known.

    Attributes:
        difference: the mean outcome where the action is known less that where it is not, at equal context and proposal;
            None where the outcome has no mean.
        low: its lower limit, for one look.
        high: its upper limit.
        sentence: how both fared, for people.
    """

    difference: float | None
    low: float | None
    high: float | None
    sentence: str


def not_identified(design: Design, evidence: Evidence) -> str | None:
    """Why compliance and outcomes by action cannot be told, if they cannot."""
    if design.spec.compliance == "never":
        return (
            "compliance is never reported in this trial: the data determine the value of each proposal, and neither"
            " compliance nor what an action by itself does"
        )
    if not evidence.compliance.any():
        return "no implemented action has been reported yet"
    return None


def ignorable_of(design: Design, evidence: Evidence) -> ModelCheck | Withheld:
    """Whether outcomes depend on the proposal once the action is known: `takeup.check_ignorable`."""
    reason = not_identified(design, evidence)
    if reason is not None:
        return Withheld(reason)
    found = check_ignorable(evidence, draws=FEW_DRAWS)
    return ModelCheck(found.doubtful_at_any_time, found.log_e_value, found.p_value, found.used, found.summary())


def exclusion_of(design: Design, evidence: Evidence) -> ModelCheck | Withheld:
    """Whether proposals act on outcomes past the action: `takeup.check_exclusion`."""
    contexts, proposals, actions, _ = evidence.space.shape
    reason = not_identified(design, evidence)
    if reason is None and contexts * actions * proposals ** levels_of(evidence.space) > MOST_INEQUALITIES:
        reason = "there are too many inequalities to test while you wait; takeup.check_exclusion tests them"
    if reason is not None:
        return Withheld(reason)
    found = check_exclusion(evidence)
    if not found.inequalities:
        return Withheld("there are no two proposals to compare yet")
    return ModelCheck(found.violated_at_any_time, found.log_e_value, found.p_value, found.used, found.summary())


def seen_of(design: Design, evidence: Evidence) -> SeenCheck | Withheld | None:
    """Whether those whose action is known fare as the others: `takeup.check_seen`.

    None where nobody needs it: the policy makes nothing of compliance, or there is but one kind.
    """
    if design.policy.compliance == "not used":
        return None
    found = check_seen(evidence)
    if not (found.seen.patients and found.unseen.patients):
        return None
    if found.reason:
        return Withheld(found.reason)
    compared = found.compared("Of those of whom it is known what they took,", "of the others")
    by_how_much = found.by_how_much("Among those of one group who were offered the same")
    middle, low, high = (None if math.isnan(each) else each for each in (found.difference, found.lower, found.upper))
    return SeenCheck(
        found.depends_at_any_time,
        found.log_e_value,
        found.p_value,
        found.used,
        found.summary(),
        middle,
        low,
        high,
        f"{compared} {by_how_much}".rstrip(),
    )
