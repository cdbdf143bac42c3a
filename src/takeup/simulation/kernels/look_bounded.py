"""The bounded reading at a look: `takeup.policies.bounded_reading`, which has the formulas, in a form that compiles.

Values are shares of what outcomes can differ by. Of two proposals an estimate of the difference, the largest bias that
the promise allows and a standard error are worked out from the cells whenever they are asked for.
"""

import math
from typing import NamedTuple

from takeup.policies.bounded_reading import FEWEST
from takeup.simulation.kernels.look_cells import outcomes_of
from takeup.simulation.kernels.look_compliers import normal
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number

LEAST_ERROR = 2.2250738585072014e-308
"""An error of zero is taken to be this."""


class Promise(NamedTuple):
    """A bounded reading as it was chosen before the trial.

    Attributes:
        bound: Δ[a], as a share of what outcomes can differ by, as the margins are.
        control: the proposal that weight is moved from and to.
        moved: moved[i, j, z, a].
        margins: of equivalence and of futility.
    """

    bound: Array
    control: Number
    moved: Array
    margins: Array


class CellsMemory(NamedTuple):
    """What is known of the cells.

    Attributes:
        units: n[z, a].
        mean: the share that succeeded, m[z, a].
        square: the variance of that mean, s2[z, a] / n[z, a].
        offered: how many were offered each proposal.
        between: the variance of the means around the value of the proposal, by how many were offered it.
    """

    units: Array
    mean: Array
    square: Array
    offered: Array
    between: Array


def read(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """What is known of the cells."""
    cells = memory.reading
    for z in range(cells.units.shape[0]):
        total, value, squares = 0.0, 0.0, 0.0
        for a in range(cells.units.shape[1]):
            better, worse = outcomes_of(z, a, given, memory)
            units = better + worse
            share = (better + 0.5) / (units + 1.0)
            cells.units[z, a], cells.mean[z, a] = units, better / max(units, 1)
            cells.square[z, a] = share * (1.0 - share) / max(units, 1)
            total += units
            value += better
            squares += better * cells.mean[z, a]
        cells.offered[z] = total
        total = max(total, 1.0)
        value /= total
        cells.between[z] = max(squares / total - value * value, 0.0) / total


def difference(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """The estimate of V_one - V_other, the largest bias, and the standard error."""
    cells, promise = memory.reading, given.reading
    control, estimate, bias = promise.control, 0.0, 0.0
    variance = cells.between[one] + cells.between[other]
    for a in range(cells.units.shape[1]):
        given_up = 0.0
        for z in range(cells.units.shape[0]):
            weight = base(z, a, one, other, cells)
            if z != control:
                most = movable(z, control, a, cells)
                moved = min(max(promise.moved[one, other, z, a], -most), most)
                given_up += moved
                weight += moved
                bias += abs(moved) * promise.bound[a] * apart(z, control, a, cells)
                estimate += weight * cells.mean[z, a]
                variance += weight * weight * cells.square[z, a]
        weight = base(control, a, one, other, cells) - given_up
        estimate += weight * cells.mean[control, a]
        variance += weight * weight * cells.square[control, a]
    return estimate, bias, math.sqrt(variance)


def base(z: Number, a: Number, one: Number, other: Number, cells: CellsMemory) -> Number:
    """The weight of a cell by intention to treat."""
    share = cells.units[z, a] / max(cells.offered[z], 1.0)
    return share if z == one else (-share if z == other else 0.0)


def movable(z: Number, control: Number, a: Number, cells: CellsMemory) -> Number:
    """How much weight may be moved to a cell from that of the control, at most."""
    mine, theirs = cells.units[z, a], cells.units[control, a]
    if mine < FEWEST or theirs < FEWEST:
        return 0.0
    return (1.0 / cells.offered[z] + 1.0 / cells.offered[control]) / (1.0 / mine + 1.0 / theirs)


def apart(z: Number, control: Number, a: Number, cells: CellsMemory) -> Number:
    """How much of the larger of the groups that do a under z and under the control the smaller lacks."""
    mine = cells.units[z, a] / max(cells.offered[z], 1.0)
    theirs = cells.units[control, a] / max(cells.offered[control], 1.0)
    larger = max(mine, theirs)
    return 1.0 - min(mine, theirs) / larger if larger > 0.0 else 0.0


def known(one: Number, other: Number, memory: LookMemory) -> Number:
    """Whether both were offered to enough units for anything to be claimed."""
    return memory.reading.offered[one] >= FEWEST and memory.reading.offered[other] >= FEWEST


def surely(one: Number, other: Number, margin: Number, given: LookInput, memory: LookMemory) -> Number:
    """The least that P(V_one - V_other > margin) may be."""
    if not known(one, other, memory):
        return 0.0
    estimate, bias, error = difference(one, other, given, memory)
    return normal((estimate - bias - margin) / max(error, LEAST_ERROR))


def largest_of(given: LookInput, memory: LookMemory) -> None:
    """Asked by nobody: it compares two at a time."""


def exceeds_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """The least that P(V_one > V_other) may be."""
    return surely(one, other, 0.0, given, memory)


def most_of(one: Number, other: Number, least: Number, given: LookInput, memory: LookMemory) -> Number:
    """The most that it may be."""
    return 1.0 - surely(other, one, 0.0, given, memory)


def less_of(one: Number, other: Number, which: Number, given: LookInput, memory: LookMemory) -> Number:
    """The least that P(V_one - V_other < margin) may be, of EQUIVALENCE (0) or of FUTILITY (1)."""
    return surely(other, one, -given.reading.margins[which], given, memory)


def close_of(one: Number, other: Number, given: LookInput, memory: LookMemory) -> Number:
    """The least probability that two differ by less than the margin: at one of the ends of the bias."""
    if not known(one, other, memory):
        return 0.0
    estimate, bias, error = difference(one, other, given, memory)
    margin, scale = given.reading.margins[0], max(error, LEAST_ERROR)
    low, high = estimate - bias, estimate + bias
    return min(
        normal((margin - low) / scale) - normal((-margin - low) / scale),
        normal((margin - high) / scale) - normal((-margin - high) / scale),
    )
