"""What may be concluded after an adaptive trial in which people do not do what they are told."""

from takeup.analysis.analyse import analyse
from takeup.analysis.betting import betting
from takeup.analysis.bounded import bounded_effect, bounded_interval
from takeup.analysis.bounds import Bounds, action_bounds
from takeup.analysis.compliers import complier_effect
from takeup.analysis.effects import compliance, effect, value
from takeup.analysis.estimate import Estimate
from takeup.analysis.off_policy import PolicyValue, best_fixed, policy_value
from takeup.analysis.rates import rate_effect
from takeup.analysis.results import Analysis
from takeup.analysis.score_test import martingale_score
from takeup.analysis.scores import Scores, scores
from takeup.analysis.sequences import any_time_effect, effect_path
from takeup.analysis.targets import Target
from takeup.analysis.tested import Tested
from takeup.analysis.times import time_effect
from takeup.analysis.tipping import Tipping, tipping

__all__ = [
    "Analysis",
    "Bounds",
    "Estimate",
    "PolicyValue",
    "Scores",
    "Target",
    "Tested",
    "Tipping",
    "action_bounds",
    "analyse",
    "any_time_effect",
    "best_fixed",
    "betting",
    "bounded_effect",
    "bounded_interval",
    "compliance",
    "complier_effect",
    "effect",
    "effect_path",
    "martingale_score",
    "policy_value",
    "rate_effect",
    "scores",
    "time_effect",
    "tipping",
    "value",
]
