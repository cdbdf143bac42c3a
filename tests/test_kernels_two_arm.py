"""The two-arm recurrence against quadrature: P(θ_0 > θ_1) after long runs, from any prior."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import betainc, expit

from takeup import TS, Environment, TSObs, World
from takeup.simulation.kernels.choice import choose
from takeup.simulation.kernels.compile_cpu import build
from takeup.simulation.kernels.tables import State
from takeup.simulation.kernels.two_arm import advance, started

TOLERANCE = 1e-12


def quadrature(table: NDArray[np.float64]) -> float:
    """P(θ_0 > θ_1), the integral of the density of logit θ_0 times the distribution function of θ_1.

    The trapezoidal rule, which is exact to rounding for smooth functions that vanish at both ends, with a density that
    is normalised by the same rule: that of `largest_beta` loses digits beyond 10,000 decisions.
    """
    (a, b), (c, d) = table
    mode, reach = np.log(a / b), np.maximum(14 * np.sqrt(1 / a + 1 / b), 40 / min(a, b))
    t = np.linspace(mode - reach, mode + reach, 40_001)
    log_density = a * t - (a + b) * np.logaddexp(0, t)
    density = np.exp(log_density - log_density.max())
    below = np.where(t < 0, betainc(c, d, expit(t)), 1 - betainc(d, c, expit(-t)))
    return float(density @ below / density.sum())


def _advance_all(table: NDArray[np.float64], cells: NDArray[np.int64]) -> None:
    state = State(cells, table, 0)
    for cell in cells:
        advance(state, 0, cell >> 1, cell & 1)


@pytest.mark.parametrize(
    "prior", [np.ones((2, 2)), np.array([[0.5, 0.3], [7.25, 2.0]]), np.array([[40.0, 1.0], [0.2, 9.0]])]
)
@pytest.mark.parametrize("success", [(0.62, 0.64), (0.3, 0.7), (0.99, 0.98)])
def test_recurrence_against_quadrature(prior: NDArray[np.float64], success: tuple[float, float]) -> None:
    rng = np.random.default_rng(3)
    table = started(prior).reshape(6, 1).copy()
    compiled = build(_advance_all, {}, {})
    for decisions in (10, 1_000, 100_000):
        z = rng.integers(2, size=decisions)
        compiled(table, 2 * z + (rng.random(decisions) >= np.array(success)[z]))
        assert abs(table[4, 0] - quadrature(table[:4, 0].reshape(2, 2))) < TOLERANCE


def test_it_is_chosen_where_it_applies() -> None:
    two = Environment.from_world(World.bernoulli(np.eye(2), [0.1, 0.2])).space
    three = Environment.from_world(World.bernoulli(np.eye(3), [0.1, 0.2, 0.3])).space
    assert [choose(TS(), space).__name__.split(".")[-1] for space in (two, three)] == ["two_arm", "proposed"]
    assert choose(TSObs(), two).__name__.endswith("two_by_two")
    assert choose(TSObs(beta=0.05), two).__name__.endswith("observed")
    assert choose(TS(alpha=[[1e5, 1.0], [1.0, 1e5]]), two).__name__.endswith("proposed")
