"""The kernels' logarithm of Γ beside scipy's."""

import numpy as np
from scipy.special import gammaln

from takeup.simulation.kernels.log_gammas import log_gamma


def test_log_gamma_is_that_of_scipy() -> None:
    x = np.concatenate([np.linspace(1, 30, 2_000), np.geomspace(30, 1e9, 2_000)])
    found = np.array([log_gamma(float(each)) for each in x])
    np.testing.assert_allclose(found, gammaln(x), rtol=4e-15, atol=2e-14)  # logarithms up to 23 cancel
