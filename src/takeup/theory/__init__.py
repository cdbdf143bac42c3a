"""Regret bounds under noncompliance: what Stirn & Jebara (2019) prove, what they conjecture, what they leave open.

docs/theory.md has the derivations.
"""

from takeup.theory.approach import expected_trials
from takeup.theory.bounds import (
    Gradient,
    arm_cost,
    arm_cost_gradient,
    bound_change,
    thompson_bound,
    thompson_constant,
)
from takeup.theory.conjecture import Probability, probability_harmful
from takeup.theory.divergence import divergence
from takeup.theory.effects import (
    BothEffects,
    Effect,
    all_to_best,
    best_against_worst,
    both_effects,
    effect,
    halfway_to_worst,
    ignored,
    two_arm_effect,
)
from takeup.theory.lower import LowerBound, lower_bound
from takeup.theory.reach import divergence_to_reach

__all__ = [
    "BothEffects",
    "Effect",
    "Gradient",
    "LowerBound",
    "Probability",
    "all_to_best",
    "arm_cost",
    "arm_cost_gradient",
    "best_against_worst",
    "both_effects",
    "bound_change",
    "divergence",
    "divergence_to_reach",
    "effect",
    "expected_trials",
    "halfway_to_worst",
    "ignored",
    "lower_bound",
    "probability_harmful",
    "thompson_bound",
    "thompson_constant",
    "two_arm_effect",
]
