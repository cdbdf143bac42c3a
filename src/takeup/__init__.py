"""takeup: adaptive experiments in which people do not do what they are told."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from takeup import datasets
from takeup.conjugates import Bootstrap, Exponential, LogNormal, Normal, Poisson
from takeup.covariates import Category, Covariates, Measure, Profile
from takeup.diagnostics import check_exclusion, check_ignorable, check_seen, weak_instrument
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
from takeup.families import Exponentials, LogNormals, Normals, Poissons, Samples
from takeup.log import Log
from takeup.outcomes import Count, Number, Time
from takeup.policies import (
    EXP3,
    KLUCB,
    TS,
    UCB1,
    UCBAT,
    UCBITT,
    Allocation,
    BayesUCB,
    Borrowing,
    CausalTS,
    EpsilonGreedy,
    Forgetting,
    Hierarchical,
    IntentTS,
    Limits,
    LinTS,
    LinTSObs,
    LinTSRobust,
    LinUCB,
    LogitTS,
    LogitTSObs,
    MixtureTS,
    Policy,
    Protocol,
    Thompson,
    ThompsonBounded,
    TopTwo,
    TSCheck,
    TSLat,
    TSObs,
    TSRobust,
    TwoStage,
    Uniform,
    WarmTSLat,
)
from takeup.policies.registry import packaged
from takeup.populations import CovariateEnvironment
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import stream
from takeup.rows import Rows
from takeup.simulation import Reporting, Summary, Trace, simulate
from takeup.space import UNSEEN, Space
from takeup.version import __version__
from takeup.world import World

if TYPE_CHECKING:
    from takeup.live import Trial

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
    "Bootstrap",
    "Borrowing",
    "Category",
    "CausalTS",
    "Count",
    "CovariateEnvironment",
    "Covariates",
    "Environment",
    "EpsilonGreedy",
    "Event",
    "Evidence",
    "Exponential",
    "Exponentials",
    "Forgetting",
    "Hierarchical",
    "InputError",
    "IntentTS",
    "LabelError",
    "Limits",
    "LimitsError",
    "LinTS",
    "LinTSObs",
    "LinTSRobust",
    "LinUCB",
    "Log",
    "LogNormal",
    "LogNormals",
    "LogitTS",
    "LogitTSObs",
    "Measure",
    "MismatchError",
    "MixtureTS",
    "Normal",
    "Normals",
    "Number",
    "Poisson",
    "Poissons",
    "Policy",
    "Posterior",
    "Prior",
    "Profile",
    "Protocol",
    "Reporting",
    "Rows",
    "Samples",
    "Space",
    "Summary",
    "TSCheck",
    "TSLat",
    "TSObs",
    "TSRobust",
    "TakeupError",
    "Thompson",
    "ThompsonBounded",
    "Time",
    "TopTwo",
    "Trace",
    "Trial",
    "TwoStage",
    "Types",
    "Uniform",
    "UnsuitableError",
    "WarmTSLat",
    "World",
    "__version__",
    "check_exclusion",
    "check_ignorable",
    "check_seen",
    "datasets",
    "event",
    "simulate",
    "stream",
    "weak_instrument",
]
if find_spec("sqlalchemy") is None:  # `from takeup import *` and `dir` have what is installed
    __all__.remove("Trial")


def __getattr__(name: str) -> Any:
    """What needs an extra is imported when it is asked for; and every policy of the package is there by its name."""
    if name == "Trial":
        from takeup.live import Trial

        return Trial
    if name in packaged():
        return packaged()[name]
    raise AttributeError(f"module 'takeup' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
