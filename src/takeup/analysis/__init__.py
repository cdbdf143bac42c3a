"""What may be concluded after an adaptive trial in which people do not do what they are told."""

from takeup.analysis.betting import betting as betting
from takeup.analysis.bounds import Bounds as Bounds
from takeup.analysis.bounds import action_bounds as action_bounds
from takeup.analysis.compliers import complier_effect as complier_effect
from takeup.analysis.estimate import Estimate as Estimate
from takeup.analysis.score_test import martingale_score as martingale_score
from takeup.analysis.scores import Scores as Scores
from takeup.analysis.scores import scores as scores
from takeup.analysis.sequences import any_time_effect as any_time_effect
from takeup.analysis.sequences import effect_path as effect_path
from takeup.analysis.targets import Target as Target
from takeup.analysis.tested import Tested as Tested
