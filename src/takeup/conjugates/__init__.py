"""What is believed of the outcomes of each action, in closed form: a prior, and what a statistic makes of it."""

from takeup.conjugates.base import Conjugate
from takeup.conjugates.dirichlet import Dirichlet, dirichlet
from takeup.conjugates.likelihoods import Bootstrap, Exponential, Likelihood, LogNormal, Normal, Poisson
from takeup.conjugates.named import LIKELIHOODS, likelihood_for, likelihood_of
from takeup.conjugates.normal import NormalGamma
from takeup.conjugates.rate import GammaRate

__all__ = [
    "LIKELIHOODS",
    "Bootstrap",
    "Conjugate",
    "Dirichlet",
    "Exponential",
    "GammaRate",
    "Likelihood",
    "LogNormal",
    "Normal",
    "NormalGamma",
    "Poisson",
    "dirichlet",
    "likelihood_for",
    "likelihood_of",
]
