"""What a spec means, in words."""

from collections.abc import Sequence

from takeup.outcomes import Levels
from takeup.policies.meeting import uses_covariates
from takeup.service.pages.choices import chosen
from takeup.service.pages.templates import percent
from takeup.trial import Design
from takeup.trial.look_advice import look_advice, reading_words
from takeup.trial.looks import Looks
from takeup.trial.spec import duration

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


def blinded_sentences(design: Design) -> list[str]:
    """Those that name no arm, no action and no outcome, for blinded readers."""
    space = design.space
    levels = space.outcomes if isinstance(space.outcome, Levels) else ()
    secret = {label.casefold() for label in (*space.proposals, *space.implemented, *levels)}
    return [each for each in spec_sentences(design) if not any(label in each.casefold() for label in secret)]


def _space(design: Design) -> list[str]:
    space, spec, words = design.space, design.spec, design.spec.words
    who = f"Each {words.unit} gets one decision" if spec.decisions == "one" else f"A {words.unit} gets many decisions"
    found = [f"{who}: {_either(space.proposals)} is {words.offered}."]
    if space.implemented != space.proposals:
        found.append(f"What is done in the end is {_either(space.implemented)}.")
    if space.intended is None:
        found.append("No action counts as complying, as none has a proposal's name.")
    elif space.implemented != space.proposals:
        pairs = zip(space.proposals, space.intended, strict=True)
        found.append("Complying means: " + "; ".join(f"{z}: {space.implemented[a]}" for z, a in pairs) + ".")
    if len(space.contexts) > 1:
        found.append(_groups(space.contexts))
    if space.covariates is not None:
        kinds = zip(space.covariates.names, space.covariates.kinds, strict=True)
        known = "; ".join(f"{name}, {kind.allowed}" for name, kind in kinds)
        used = "what is learnt tells of others like them" if uses_covariates(design.policy) else "the policy uses none"
        found.append(f"Known before of each {words.unit} is {known}; {used}.")
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
    plain = f"How it is decided: {choice.plain.lower()}. " if choice is not None and choice.plain else ""
    found = [f"{plain}{known} The policy is called {design.policy.name}."]
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
    if design.looks is not None:
        return _looks(design, design.looks)
    if rule.maximum is not None:
        reasons.append(f"after {rule.maximum:,} decisions")
    if rule.probability_best is not None:
        by = reading_words(rule.reading)
        reasons.append(f"once one proposal is best with probability {rule.probability_best:g} {by}")
    if not reasons:
        return ["The trial runs until somebody stops it."]
    return [f"An end is advised {' or '.join(reasons)}; somebody has to stop the trial, it does not end by itself."]


def _looks(design: Design, looks: Looks) -> list[str]:
    """When the trial is looked at, and what for."""
    rule, at = design.spec.stopping, looks.at
    several = f"{at.size} times, when {at[0]:,} to {at[-1]:,} outcomes are known"
    when = several if at.size > 1 else f"once, when {at[0]:,} outcomes are known"
    rules = [name for name in ("superiority", "inferiority", "equivalence", "futility") if getattr(rule, name)]
    found = [f"The trial is looked at {when}, {reading_words(rule.reading)}; in between there is no advice."]
    if rules:
        against = "" if rule.control is None else f" of what is compared with {rule.control}"
        found.append(f"Looks tell {_all(rules) if len(rules) > 1 else rules[0]}{against}.")
    advice = look_advice(design, None)
    tried = None if advice is None or advice.error is None else advice.error.sentence
    found.append(f"{tried[0].upper()}{tried[1:]}." if tried else "How often its thresholds err is not said.")
    change = "at looks" if looks.update == "look" else "after every outcome"
    found.append(f"Probabilities change {change}; what is dropped is no longer proposed.")
    return [*found, "Somebody has to stop the trial, it does not end by itself."]


def _groups(names: Sequence[str]) -> str:
    """Those that are told apart; semicolons keep apart what has commas."""
    if not any("," in name for name in names):
        return f"Told apart are {_all(names)}; each is learnt about by itself."
    return f"Told apart are {'; '.join(names[:-1])}; and {names[-1]}. Each is learnt about by itself."


def _either(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _all(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"
