"""More than two outcomes, read by what was proposed: how many units of each proposal have each of them.

What a proposal is worth is the mean utility of a Dirichlet distribution, Σ_y μ_y u_y. It is taken for a beta variable
between the least and the greatest utility with the same mean and variance, which with two outcomes it is.
"""

from typing import NamedTuple

from takeup.checks import FloatArray
from takeup.simulation.kernels.binomials import binomial
from takeup.simulation.kernels.comparing import Grids
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number


class Levels(NamedTuple):
    """The truth: the probability of each outcome with each proposal, given that it is none before, (E, K, Y)."""

    hazard: Array


class Dirichlets(NamedTuple):
    """What is believed before any data.

    Attributes:
        prior: α of each proposal, (K, Y).
        gain: what each outcome is worth, in parts of what they differ by, (Y,).
        equivalence: grids with its margin.
        futility: grids with its margin.
    """

    prior: Array
    gain: Array
    equivalence: Grids
    futility: Grids


def matched(alpha: FloatArray, gain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The parameters (a, b) of the beta variables with the mean and the variance of Σ_y μ_y u_y; α[.., y], u[y]."""
    total = alpha.sum(axis=-1)
    mean = alpha @ gain / total
    worth = mean * (1 - mean) * (total + 1) / (alpha @ gain**2 / total - mean**2) - 1
    return mean * worth, (1 - mean) * worth


def respond(
    k: Number, units: Number, known: Number, scenario: Number, moment: Number, given: LookInput, memory: LookMemory
) -> None:
    """How many of the units that are offered proposal k have each outcome, which is known from a look on."""
    proposals, levels = memory.known.shape
    for y in range(levels):
        some = binomial(units, given.truth.hazard[scenario, k, y], moment, 2 * proposals + k * levels + y)
        units -= some
        memory.waiting[known, k, y] += some


def parameters(k: Number, given: LookInput, memory: LookMemory) -> Number:
    """Of the beta distribution with the mean and the variance of the value of a proposal."""
    total, mean, square = 0.0, 0.0, 0.0
    for y in range(memory.known.shape[1]):
        alpha, gain = given.reading.prior[k, y] + memory.known[k, y], given.reading.gain[y]
        total += alpha
        mean += alpha * gain
        square += alpha * gain * gain
    mean /= total
    variance = (square / total - mean * mean) / (total + 1.0)
    worth = mean * (1.0 - mean) / variance - 1.0
    return mean * worth, (1.0 - mean) * worth
