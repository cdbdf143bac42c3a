"""Simulated units with covariates: who comes, what they do with a proposal, and how they fare."""

from takeup.populations.arrivals import Independent, Population, Resampled, normal_shares
from takeup.populations.environment import CovariateEnvironment
from takeup.populations.models import Linear, Logit, Table

__all__ = [
    "CovariateEnvironment",
    "Independent",
    "Linear",
    "Logit",
    "Population",
    "Resampled",
    "Table",
    "normal_shares",
]
