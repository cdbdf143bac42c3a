"""The interface of MABWiser over takeup's policies: `from takeup.adapters.mabwiser import MAB, LearningPolicy`."""

from takeup.adapters.mabwiser.learning import LearningPolicy
from takeup.adapters.mabwiser.mab import MAB
from takeup.adapters.mabwiser.neighbours import NeighborhoodPolicy

__all__ = ["MAB", "LearningPolicy", "NeighborhoodPolicy"]
