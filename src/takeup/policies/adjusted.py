"""The adjusted reading: what proposing is worth to all who came, compared at equal covariates."""

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates.quadrature import Variables, students
from takeup.covariates import Profile
from takeup.errors import UnsuitableError
from takeup.evidence import Evidence
from takeup.policies.linear import MIDDLE, around_middle, line, sums_here

RIDGE = 0.1
"""How many outcomes at a feature of 1 the prior of a coefficient, which is around zero, is worth: it hardly counts."""
LEAST = 1e-300


def adjusted(evidence: Evidence) -> Variables:
    """A line through the outcomes of each proposal, read at the average features of all whose outcome is known.

    Where proposals are made by covariates, those to whom one is made differ from the others, and their plain outcomes
    with them. Given the covariates they do not. What is worth v'θ[z] to a unit is worth m'θ[z] to all, with m the mean
    of v: Student's t, as the noise around each line is learnt.
    """
    space, nobody = evidence.space, Profile(0, ())
    sums = sums_here(evidence, nobody, "proposal")
    lines = line(RIDGE, None, sums.product.shape).plus(around_middle(sums))
    mean = _mean(sums.gram[..., 0, :].sum(axis=0))
    width = space.outcome.highest - space.outcome.lowest
    centre = space.outcome.lowest + width * (lines.centre(mean) + MIDDLE)
    found = students(centre, np.maximum(width * lines.scale(mean), LEAST), lines.freedom)
    if found is None:
        raise UnsuitableError(f"the adjusted reading compares fewer than {centre.size} proposals; read another way")
    return found


def _mean(total: FloatArray) -> FloatArray:
    """The average features, of which the first is 1; of nobody yet, the intercept alone."""
    return np.asarray(total / total[0] if total[0] else np.eye(total.size)[0])
