"""What may be concluded after an adaptive trial in which people do not do what they are told."""

from takeup.analysis.analyse import analyse as analyse
from takeup.analysis.betting import betting as betting
from takeup.analysis.bounded import bounded_effect as bounded_effect
from takeup.analysis.bounded import bounded_interval as bounded_interval
from takeup.analysis.bounds import Bounds as Bounds
from takeup.analysis.bounds import action_bounds as action_bounds
from takeup.analysis.compliers import complier_effect as complier_effect
from takeup.analysis.effects import compliance as compliance
from takeup.analysis.effects import effect as effect
from takeup.analysis.effects import value as value
from takeup.analysis.estimate import Estimate as Estimate
from takeup.analysis.off_policy import PolicyValue as PolicyValue
from takeup.analysis.off_policy import best_fixed as best_fixed
from takeup.analysis.off_policy import policy_value as policy_value
from takeup.analysis.rates import rate_effect as rate_effect
from takeup.analysis.results import Analysis as Analysis
from takeup.analysis.score_test import martingale_score as martingale_score
from takeup.analysis.scores import Scores as Scores
from takeup.analysis.scores import scores as scores
from takeup.analysis.sequences import any_time_effect as any_time_effect
from takeup.analysis.sequences import effect_path as effect_path
from takeup.analysis.targets import Target as Target
from takeup.analysis.tested import Tested as Tested
from takeup.analysis.times import time_effect as time_effect
from takeup.analysis.tipping import Tipping as Tipping
from takeup.analysis.tipping import tipping as tipping
