"""What a spec means, in words."""

from collections.abc import Sequence

from takeup.outcomes import Levels
from takeup.service.pages.choices import chosen
from takeup.service.pages.templates import percent
from takeup.trial import Design
from takeup.trial.spec import duration
from takeup.trial.stopping import WORDS

REPORTED = {
    "always": "What was actually done is to be reported for everybody.",
    "sometimes": "What was actually done is reported for some and not for others.",
    "never": "What was actually done is never known: the trial learns what proposing is worth, and nothing about"
    " compliance.",
}


def spec_sentences(design: Design) -> list[str]:
    """A sentence or two for each part of a spec."""
    rehearsal = ["This is a rehearsal, not a real trial."] if design.spec.rehearsal else []
    return [*rehearsal, *_space(design), *_policy(design), *_time(design), *_ending(design)]


def _space(design: Design) -> list[str]:
    space, spec = design.space, design.spec
    who = "Each unit, such as a patient, gets one decision" if spec.decisions == "one" else "A unit gets many decisions"
    found = [f"{who}: {_either(space.proposals)} is proposed."]
    if space.implemented != space.proposals:
        found.append(f"What is done in the end is {_either(space.implemented)}.")
    if space.intended is None:
        found.append("No action counts as complying, as none has a proposal's name.")
    elif space.implemented != space.proposals:
        pairs = zip(space.proposals, space.intended, strict=True)
        found.append("Complying means: " + "; ".join(f"{z}: {space.implemented[a]}" for z, a in pairs) + ".")
    if len(space.contexts) > 1:
        found.append(f"Told apart are {_all(space.contexts)}; each is learnt about by itself.")
    if isinstance(space.outcome, Levels):
        worth = [f"{label} (worth {utility:g})" for label, utility in zip(space.outcomes, space.utility, strict=True)]
        found.append(f"What comes of it is {_either(worth)}; the trial seeks what is worth most.")
    else:
        found.append(f"What comes of it is {space.outcome.sentence}.")
    found.append(REPORTED[spec.compliance])
    return found


def _policy(design: Design) -> list[str]:
    choice, spec = chosen(design.spec.policy), design.spec
    known = choice.sentence if choice is not None else "Its parameters are those of the spec."
    found = [f"The policy is {design.policy.name}. {known}"]
    if spec.burn_in:
        found.append(f"The first {spec.burn_in:,} decisions are spread evenly, before the policy is asked.")
    floor, ceiling = spec.limits.floor, spec.limits.ceiling
    if not isinstance(floor, float) or not isinstance(ceiling, float):
        found.append("Some proposals have a least or a greatest probability of their own.")
    elif (floor, ceiling) != (0.0, 1.0):
        found.append(f"No proposal is ever less likely than {percent(floor)} or more likely than {percent(ceiling)}.")
    return found


def _time(design: Design) -> list[str]:
    window = design.spec.window
    if window is None:
        return ["An outcome is learnt from as soon as it is reported."]
    after = duration(window)
    return [f"An outcome is learnt from {after} after its decision, so that early outcomes do not count more."]


def _ending(design: Design) -> list[str]:
    rule, reasons = design.spec.stopping, []
    if rule.maximum is not None:
        reasons.append(f"after {rule.maximum:,} decisions")
    if rule.probability_best is not None:
        by = WORDS["policy" if rule.reading == "policy" else "intention to treat"]
        reasons.append(f"once one proposal is best with probability {rule.probability_best:g} {by}")
    if not reasons:
        return ["The trial runs until somebody stops it."]
    return [f"An end is advised {' or '.join(reasons)}; somebody has to stop the trial, it does not end by itself."]


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _all(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
