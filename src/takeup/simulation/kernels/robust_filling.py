"""TS-Robust: unseen actions filled in, by a chain as `takeup.inference.imputing` has it."""

import numpy as np

from takeup.simulation.kernels.binomials import binomial
from takeup.simulation.kernels.dirichlets import dirichlet_row
from takeup.simulation.kernels.machine import Number, inlined
from takeup.simulation.kernels.robust_tables import SHARES, cell, complied, room, unseen
from takeup.simulation.kernels.tables import State

LEAST = 1e-300
"""What a probability that rounds to zero is taken for."""


@inlined
def lay_out(state: State, x: Number, shape: Number, parameters: Number) -> Number:
    """The completed counts are those that were seen; whether there are others."""
    counts, real, column = state
    at = room(shape)
    for i in range(shape[1] * shape[2] * shape[3]):
        real[at.table + i] = np.float64(counts[cell(x, 0, 0, shape) + i, column])
    for i in range(shape[1] * shape[2]):
        real[at.made + i] = np.float64(counts[complied(x, 0, 0, shape) + i, column])
    hidden = np.int64(0)
    for i in range(shape[1] * shape[3]):
        hidden += counts[unseen(x, 0, 0, shape) + i, column]
    return hidden > 0


@inlined
def guess(state: State, columns: State, x: Number, shape: Number, parameters: Number, moment: Number) -> None:
    """What to fill in by at first: shares of the actions among those with (z, y), from Dir(β α / Σ α + n[z, a, y])."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape)
    slot = SHARES
    for z in range(proposals):
        for y in range(levels):
            for a in range(actions):
                alpha, whole = (x * actions + a) * levels, 0.0
                for level in range(levels):
                    whole += parameters.alpha[alpha + level]
                before = parameters.beta[(x * proposals + z) * actions + a] * parameters.alpha[alpha + y] / whole
                real[at.shares + a] = before + counts[cell(x, z, a, shape) + y, column]
            dirichlet_row(columns, at.shares, at.shares + actions, actions, moment, slot)
            slot += actions
            for a in range(actions):
                real[at.law + (z * actions + a) * levels + y] = real[at.shares + actions + a]
    for i in range(proposals * actions):
        real[at.follow + i] = 1.0


@inlined
def fill(state: State, x: Number, shape: Number, parameters: Number, moment: Number, turn: Number) -> None:
    """The completed counts: each of the n with (z, y) an action, in proportion to π[z, a] μ[z, a, y]."""
    counts, real, column = state
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape)
    lay_out(state, x, shape, parameters)
    slot = SHARES + (turn + 1) * proposals * levels * actions
    for z in range(proposals):
        for y in range(levels):
            left, total = np.int64(counts[unseen(x, z, y, shape), column]), 0.0
            for a in range(actions):
                total += real[at.follow + z * actions + a] * real[at.law + (z * actions + a) * levels + y]
            for a in range(actions):
                pair = z * actions + a
                weight = real[at.follow + pair] * real[at.law + pair * levels + y]
                taken = left
                if a < actions - 1:
                    taken = binomial(left, weight / max(total, LEAST), moment, slot)
                slot += 1
                real[at.table + pair * levels + y] += np.float64(taken)
                real[at.made + pair] += np.float64(taken)
                left -= taken
                total -= weight
