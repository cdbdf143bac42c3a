"""takeup: adaptive experiments in which people do not do what they are told."""

from takeup.diagnostics import check_exclusion, check_ignorable, weak_instrument
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
    TS,
    Allocation,
    Limits,
    Policy,
    Thompson,
    TSCheck,
    TSLat,
    TSObs,
    Uniform,
    WarmTSLat,
)
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import stream
from takeup.simulation import Reporting, Summary, Trace, simulate
from takeup.space import UNSEEN, Space
from takeup.version import __version__
from takeup.world import World

__all__ = [
    "TS",
    "UNSEEN",
    "Allocation",
    "Environment",
    "Event",
    "Evidence",
    "InputError",
    "LabelError",
    "Limits",
    "LimitsError",
    "MismatchError",
    "Policy",
    "Posterior",
    "Prior",
    "Reporting",
    "Space",
    "Summary",
    "TSCheck",
    "TSLat",
    "TSObs",
    "TakeupError",
    "Thompson",
    "Trace",
    "Types",
    "Uniform",
    "UnsuitableError",
    "WarmTSLat",
    "World",
    "__version__",
    "check_exclusion",
    "check_ignorable",
    "event",
    "simulate",
    "stream",
    "weak_instrument",
]
