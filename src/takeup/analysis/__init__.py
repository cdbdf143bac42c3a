"""What may be concluded after an adaptive trial in which people do not do what they are told."""

from takeup.analysis.effects import compliance as compliance
from takeup.analysis.effects import effect as effect
from takeup.analysis.effects import value as value
from takeup.analysis.estimate import Estimate as Estimate
from takeup.analysis.scores import Scores as Scores
from takeup.analysis.scores import scores as scores
from takeup.analysis.targets import Target as Target
from takeup.analysis.tested import Tested as Tested
