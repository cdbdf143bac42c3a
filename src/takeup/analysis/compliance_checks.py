"""Whether the data contradict what readings by what people took assume."""

import math

import numpy as np

from takeup.analysis.check import Check, capital
from takeup.analysis.telling import p_value
from takeup.checks import FloatArray
from takeup.diagnostics import check_exclusion, check_ignorable, check_seen
from takeup.diagnostics.exclusion import MOST_INEQUALITIES, levels_of
from takeup.diagnostics.ignorable import FEW_DRAWS
from takeup.evidence import Evidence

LEVEL = 0.05
"""The rate of false alarms of checks of a model."""
WEAK = 10.0
"""A first-stage F below this is called weak: Staiger & Stock (1997)."""
IGNORABLE = "ignorable compliance"


def ignorability(evidence: Evidence, seed: int) -> Check:
    """Whether those who take something fare otherwise by what they were offered: `takeup.check_ignorable`."""
    name, concerns = IGNORABLE, "as-treated and per-protocol readings, and policies that learn from them"
    if (why := _unseen(evidence)) is not None:
        return Check(name, None, "Whether takers and refusers are alike was not checked.", concerns, why)
    found = check_ignorable(evidence, level=LEVEL, seed=seed, draws=FEW_DRAWS)
    alarm = found.doubtful or found.doubtful_at_any_time
    differ = "with the same treatment, those who took what they were offered fared otherwise than those who did not"
    said = capital(differ) if alarm else f"Nothing shows that, {differ}"
    return Check(name, alarm, f"{said} ({p_value(found.p_value)}).", concerns, found.summary(), found.p_value)


def exclusion(evidence: Evidence) -> Check:
    """Whether offers act past what is taken: `takeup.check_exclusion`."""
    name, concerns = "exclusion", "the effect among compliers, and bounds on the effect of what is taken"
    contexts, proposals, actions, _ = evidence.space.shape
    why = _unseen(evidence)
    if why is None and contexts * actions * proposals ** levels_of(evidence.space) > MOST_INEQUALITIES:
        why = "There are too many groups to compare here; takeup.check_exclusion compares them."
    unchecked = "Whether an offer changes outcomes other than by what is taken was not checked."
    if why is not None:
        return Check(name, None, unchecked, concerns, why)
    found = check_exclusion(evidence, level=LEVEL)
    if not found.inequalities:
        return Check(name, None, unchecked, concerns, "There are no two offers to compare.")
    alarm = found.violated or found.violated_at_any_time
    said = (
        "An offer changes outcomes other than by what is taken, or something is recorded differently after it"
        if alarm
        else "Nothing shows that an offer changes outcomes other than by what is taken"
    )
    return Check(name, alarm, f"{said} ({p_value(found.p_value)}).", concerns, found.summary(), found.p_value)


def seen(evidence: Evidence) -> Check | None:
    """Whether those of whom it is known what they took fared as the others: `takeup.check_seen`.

    None where it is known of all or of nobody.
    """
    found = check_seen(evidence, level=LEVEL)
    if not (found.seen.patients and found.unseen.patients):
        return None
    name, concerns = "seen by outcome", "all readings by what people took that leave out those of whom it is not known"
    if found.reason:
        unchecked = "Whether those of whom it is known what they took fared as the others was not checked."
        return Check(name, None, unchecked, concerns, f"{capital(found.reason)}.")
    alarm = found.depends or found.depends_at_any_time
    said = "Whether it is known goes with the outcome" if alarm else "Nothing shows that it goes with the outcome"
    compared = found.compared("Of those of whom it is known what they took,", "of the others")
    sentence = f"{compared} {said} ({p_value(found.p_value)})."
    return Check(name, alarm, sentence, concerns, found.summary(), found.p_value)


def strength(evidence: Evidence, control: int) -> Check:
    """Whether what is offered changes what is taken: a first-stage F by proposal; see `weak_instrument`, too."""
    name, concerns = "instrument strength", "the effect among compliers, whose interval may then have no end"
    space = evidence.space
    if (why := _unseen(evidence)) is None and space.intended is None:
        why = "Nobody said which treatment each offer means (`intended` of the space)."
    if why is not None or space.intended is None:
        return Check(name, None, "How much offers change what is taken was not checked.", concerns, why or "")
    counts = evidence.compliance.sum(axis=0).astype(np.float64)  # z, a
    told, weakest = [], math.inf
    for k, label in enumerate(space.proposals):
        if k == control:
            continue
        change, f = _first_stage(counts[[k, control], space.intended[k]], counts[[k, control]].sum(axis=1))
        weakest, taken = (f if math.isnan(f) else min(weakest, f)), space.implemented[space.intended[k]]
        other = space.proposals[control]
        if math.isnan(f):
            told.append(f"Of {label} or of {other} it is not known of anybody what they took.")
            continue
        told.append(
            f"Offering {label} rather than {other} changes how many take {taken} by {100 * change:+.0f} points"
            f" (F = {f:,.0f})."
        )
    weak = not weakest >= WEAK
    said = "too little" if weak else "enough"
    judged = f"That is {said} to tell an effect among compliers: F should be {WEAK:g} or more."
    detail = "F is the square of that change in units of its standard error, as of first-stage regressions."
    return Check(name, weak, " ".join([*told, judged]), concerns, detail)


def _unseen(evidence: Evidence) -> str | None:
    return None if evidence.compliance.any() else "What people took was never reported."


def _first_stage(taken: FloatArray, offered: FloatArray) -> tuple[float, float]:
    """How much an offer changes the share who take it, and the square of that by its standard error."""
    if not offered.all():
        return math.nan, math.nan
    share = taken / offered
    change = float(share[0] - share[1])
    pooled = np.clip((taken + 0.5) / (offered + 1), 0, 1)
    variance = float((pooled * (1 - pooled) / offered).sum())
    return change, change**2 / variance
