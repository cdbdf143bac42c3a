"""What was taken to be so before anything was computed: the control, which outcomes are good, what the labels are."""

from typing import Any

import numpy as np

from takeup.analysis.results import Analysis
from takeup.frames.columns import number_of
from takeup.frames.labels import control_in
from takeup.outcomes import Count, Levels, Number, Time
from takeup.space import Space

ENDS = {Number: ("higher", "lower"), Count: ("more", "fewer"), Time: ("late", "soon")}
"""What the high and the low end of each kind of outcome are called."""


def compared_with(analysis: Analysis) -> str:
    """What the answer compares with, and what it calls better; it belongs beside the answer."""
    space = analysis.log.space
    words = isinstance(space.outcome, Levels) and any(number_of(name) is None for name in space.outcomes)
    told = any(each.startswith("Outcomes are ") for each in analysis.log.inferred)  # a plan's space is not inferred
    hint = f" ({'--outcome-level' if words else '--better'} says otherwise)" if told else ""
    return f"Compared with {_control(analysis)}; {good(space)}{hint}."


def good(space: Space) -> str:
    """Which outcomes are good, without a full stop."""
    outcome = space.outcome
    if isinstance(outcome, Levels):
        names = worst_to_best(outcome)
        return f"{names[1]} is better than {names[0]}" if len(names) == 2 else f"from worst to best: {', '.join(names)}"
    if isinstance(outcome, Number) and outcome.utility:
        return "outcomes are worth what the utility says"
    assert isinstance(outcome, Number | Count | Time)
    high, low = ENDS[type(outcome)]
    return f"{high if outcome.better == 'higher' else low} is better"


def worst_to_best(outcome: Levels) -> list[str]:
    """The names of levels by what each is worth."""
    return [outcome.names[i] for i in np.argsort(outcome.utility, kind="stable")]


def plain(analysis: Analysis) -> dict[str, Any]:
    """As JSON has it."""
    log = analysis.log
    space = log.space
    levels = isinstance(space.outcome, Levels)
    return {
        "control": space.proposals[analysis.planned.control],
        "better": None if levels else getattr(space.outcome, "better", None),
        "worst_to_best": worst_to_best(space.levels) if levels else None,
        "proposals": list(space.proposals),
        "actions": list(space.implemented),
        "contexts": list(space.contexts),
        "outcome": space.outcome.sentence,
        "probabilities": "shares of what was proposed" if log.estimated else "as logged",
        "sentences": [compared_with(analysis), *log.inferred],
    }


def _control(analysis: Analysis) -> str:
    names, control = analysis.log.space.proposals, analysis.planned.control
    if analysis.planned.control_named:
        return f"{names[control]}, {analysis.planned.by_plan}"
    if not analysis.planned.named and control_in(names) == control:
        return f"{names[control]}, the control by its name (--control names another)"
    how = "the first of the proposals" if control == 0 else "which was asked for"
    return f"{names[control]}, {how} (--control names another)"
