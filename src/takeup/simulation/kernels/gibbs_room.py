"""What the Gibbs kernel has in both its forms: the room for a chain, and the numbers of a slide.

The room is rows of float64: the blocks, α'[a, y] above β'[z, a]; a world, μ[a, y] above π[z, a]; and, for lanes, what
the blocks rest on, the unseen n[z, y] that count, and rows to work in.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.latent import block_size
from takeup.simulation.kernels.machine import LANES, Number, inlined

LEAST = 1e-300
"""What a probability that rounds to zero is taken for."""

SPARE = 8
"""Rows of lanes to work in."""


class Room(NamedTuple):
    """Where its parts begin, in lanes.

    Attributes:
        blocks: α'[a, y] above β'[z, a].
        world: μ[a, y] above π[z, a].
        rest: what the blocks are without those whose actions are drawn.
        unseen: n[z, y].
        spare: rows to work in.
        flat: whether `rest` is 1 everywhere, so that slides are always accepted.
    """

    blocks: Number
    world: Number
    rest: Number
    unseen: Number
    spare: Number
    flat: Number


@inlined
def room_size(shape: Number) -> Number:
    """Rows of the room."""
    return 3 * block_size(shape) + shape[1] * shape[3] + SPARE


@inlined
def rows(number: Number) -> Number:
    """Where a row begins."""
    return np.uintp(number * LANES)


@inlined
def log_ratio(new: Number, old: Number, excess: Number) -> Number:
    """The logarithm of a ratio of probabilities; not looked at where nothing depends on it."""
    if excess == 0.0:
        return 0.0
    return math.log(max(new, LEAST) / max(old, LEAST))


def power_law(low: Number, high: Number, power: Number, chance: Number) -> Number:
    """A number between low and high with density u^(power - 1), by inversion of a uniform one."""
    if power == 1:
        return low + chance * (high - low)
    if power == 0:
        return low * math.exp(chance * math.log(high / low))
    near, far = (high, low) if power > 0 else (low, high)
    tail = (far / near) ** power
    return near * (tail + chance * (1.0 - tail)) ** (1.0 / power)
