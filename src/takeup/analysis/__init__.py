"""What may be concluded after an adaptive trial in which people do not do what they are told."""

from takeup.analysis.bounded import bounded_effect as bounded_effect
from takeup.analysis.bounded import bounded_interval as bounded_interval
from takeup.analysis.estimate import Estimate as Estimate
from takeup.analysis.scores import Scores as Scores
from takeup.analysis.scores import scores as scores
from takeup.analysis.targets import Target as Target
from takeup.analysis.tested import Tested as Tested
from takeup.analysis.tipping import Tipping as Tipping
from takeup.analysis.tipping import tipping as tipping
