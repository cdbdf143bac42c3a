"""What a spec says of its rule's error holds for the rule that it was found for: a digest ties them together."""

import hashlib
import json
from typing import Any

from takeup.specfile import SpecError
from takeup.trial.looks import Looks
from takeup.trial.spec import TrialSpec

SIMULATED = {"space", "policy", "draws", "limits", "burn_in", "compliance"}
"""What a plan simulates, beside its looks, its rules and its scenarios."""


def rule_digest(spec: TrialSpec, looks: Looks | None, scenario: str) -> str:
    """The SHA-256 of what decides how often a trial errs in a scenario, in hexadecimal digits.

    Names, other scenarios, and what is said of the error change nothing; nor does it whether 1 is written as 1.0.

    Args:
        spec: with every default filled in.
        looks: when it is looked at.
        scenario: the name of one of its scenarios.
    """
    content = spec.model_dump(mode="json", include=SIMULATED)
    content["stopping"] = spec.stopping.model_dump(mode="json", exclude={"error"})
    content["looks"] = None if looks is None else [looks.at.tolist(), looks.lag, looks.update]
    content["scenario"] = (spec.scenarios or {}).get(scenario)
    return hashlib.sha256(json.dumps(_whole(content), sort_keys=True).encode()).hexdigest()


def check_told_error(spec: TrialSpec, looks: Looks | None, source: str) -> None:
    """What is said of a rule's error must have been found for this rule."""
    told = spec.stopping.error
    if told is not None and told.digest != rule_digest(spec, looks, told.scenario):
        raise SpecError(
            f"{source}: stopping.error.digest",
            repr(told.digest),
            f"that of this plan: its space, policy, limits, looks, rules or scenario {told.scenario!r} are others"
            " than those of which the error is told",
            "run takeup design --calibrate again, or leave [stopping.error] out",
        )


def _whole(value: Any) -> Any:
    """The same with whole numbers as such, however they were written."""
    if isinstance(value, dict):
        return {key: _whole(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_whole(each) for each in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
