"""The interface of MABWiser over takeup's policies: `from takeup.adapters.mabwiser import MAB, LearningPolicy`."""

from takeup.adapters.mabwiser.learning import LearningPolicy
from takeup.adapters.mabwiser.mab import MAB
from takeup.adapters.mabwiser.neighbours import NeighborhoodPolicy

__all__ = ["MAB", "LearningPolicy", "NeighborhoodPolicy"]


def __getattr__(name: str) -> object:
    if name == "Simulator":
        raise ImportError(
            "Simulator: the adapter has none; takeup.simulate compares policies in a known truth, and "
            "takeup.analysis.policy_value on past data"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
