"""takeup: adaptive experiments in which people do not do what they are told."""

from takeup import datasets
from takeup.environment import Environment, Types
from takeup.errors import (
    InputError,
    LabelError,
    LimitsError,
    MismatchError,
    TakeupError,
    UnsuitableError,
)
from takeup.evidence import Event, Evidence, event
from takeup.policies import (
    EXP3,
    KLUCB,
    TS,
    UCB1,
    UCBAT,
    UCBITT,
    Allocation,
    BayesUCB,
    CausalTS,
    EpsilonGreedy,
    Hierarchical,
    IntentTS,
    Limits,
    Policy,
    Protocol,
    Thompson,
    ThompsonBounded,
    TopTwo,
    TSCheck,
    TSLat,
    TSObs,
    TwoStage,
    Uniform,
    WarmTSLat,
)
from takeup.posterior import Posterior
from takeup.randomness import stream
from takeup.simulation import Reporting, Summary, Trace, simulate
from takeup.space import UNSEEN, Space
from takeup.version import __version__
from takeup.world import World

__all__ = [
    "EXP3",
    "KLUCB",
    "TS",
    "UCB1",
    "UCBAT",
    "UCBITT",
    "UNSEEN",
    "Allocation",
    "BayesUCB",
    "CausalTS",
    "Environment",
    "EpsilonGreedy",
    "Event",
    "Evidence",
    "Hierarchical",
    "InputError",
    "IntentTS",
    "LabelError",
    "Limits",
    "LimitsError",
    "MismatchError",
    "Policy",
    "Posterior",
    "Protocol",
    "Reporting",
    "Space",
    "Summary",
    "TSCheck",
    "TSLat",
    "TSObs",
    "TakeupError",
    "Thompson",
    "ThompsonBounded",
    "TopTwo",
    "Trace",
    "TwoStage",
    "Types",
    "Uniform",
    "UnsuitableError",
    "WarmTSLat",
    "World",
    "__version__",
    "datasets",
    "event",
    "simulate",
    "stream",
]
