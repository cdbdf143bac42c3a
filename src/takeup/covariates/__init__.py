"""What is known of a unit before it is decided about, beside its context: age, severity, consciousness."""

from takeup.covariates.covariates import MOST_FEATURES, Covariates, Pair, covariates_of
from takeup.covariates.features import Features
from takeup.covariates.kinds import ONE, Category, Covariate, Measure, Missing, covariate_of
from takeup.covariates.least_squares import LeastSquares
from takeup.covariates.profile import Profile
from takeup.covariates.sums import Sums, sums_of

__all__ = [
    "MOST_FEATURES",
    "ONE",
    "Category",
    "Covariate",
    "Covariates",
    "Features",
    "LeastSquares",
    "Measure",
    "Missing",
    "Pair",
    "Profile",
    "Sums",
    "covariate_of",
    "covariates_of",
    "sums_of",
]
