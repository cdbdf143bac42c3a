"""TS-Robust: what its kernel is told, and where things lie in a replication's memory.

Whole numbers of a context: n[z, a, y], then n[z, a], then n[z, y] of those whose action is unseen. Reals begin with the
room where a proposal is worked out, whose places depend on the shape alone: machine code that is made for a shape
knows them. Behind it are those of each context and action, its *block*: the log evidence of each model, its
probability before caution, what its evidence was multiplied by since, and then, model by model, its sticks: Σ w, Σ S w
and the weights w of S. Real numbers are of float64.
"""

from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.machine import WIDTH, Array, Number, inlined
from takeup.simulation.kernels.tables import State

MODELS = np.uint32(1 << 24)
"""Where the slots for models and for S begin among those of the policy; gammas have those before."""

SHARES = 1 << 25
"""Where those for filling in begin."""


SPARE = 2 * WIDTH
"""Pairs of gammas that are drawn and not used, at the most."""

SUMS = 2
"""Numbers of a stick before its weights of S."""


class Parameters(NamedTuple):
    """What a policy is told.

    Attributes:
        start: the reals of every context and action before any data.
        first: α_j of each stick, (X Ka (Y - 1)).
        others: α_>j of each stick, likewise.
        alpha: α[x, a, y], flat.
        mean_alpha: its mean over actions, (X Y): the prior of a proposal's own outcomes.
        beta: β[x, z, a], flat.
        weight: the utilities rescaled to [0, 1].
        strength: κ of each model, below zero for the one in which all is shared.
        offset: where the sticks of a model begin among the reals of an action.
        odds: in the layout of `start`, by what the weights of S rise from one to the next before any data, times
            ((β + κ - S) / (α + S - 1))^Kz, which the outcomes of each proposal take the place of.
        before: the log evidence of each model of an action, but for the beta functions that data change.
        log_prior: of each model.
        sharpness: the power of the evidence.
        little: products of chances below it become logarithms.
        caution: how much models that share are discounted where they contradict the values.
        sweeps: how many a chain makes; below zero where those whose action is unseen are left out.
        width: how many reals an action of a context takes.
    """

    start: Array
    first: Array
    others: Array
    alpha: Array
    mean_alpha: Array
    beta: Array
    weight: Array
    strength: Array
    offset: Array
    odds: Array
    before: Array
    log_prior: Array
    sharpness: Number
    little: Number
    caution: Number
    sweeps: Number
    width: Number


@inlined
def stick_size(strength: Number) -> Number:
    """Reals of a stick in a model that does not share all."""
    return SUMS + strength + 1


@inlined
def table_size(shape: Number) -> Number:
    """Counts of one context."""
    return shape[1] * (shape[2] * (shape[3] + 1) + shape[3])


@inlined
def cell(x: Number, z: Number, a: Number, shape: Number) -> Number:
    """Where n[x, z, a, 0] is among the counts."""
    return x * table_size(shape) + (z * shape[2] + a) * shape[3]


@inlined
def complied(x: Number, z: Number, a: Number, shape: Number) -> Number:
    """Where n[x, z, a] is among the counts."""
    return x * table_size(shape) + shape[1] * shape[2] * shape[3] + z * shape[2] + a


@inlined
def unseen(x: Number, z: Number, y: Number, shape: Number) -> Number:
    """Where n[x, z, y] of those whose action is unseen is among the counts."""
    return x * table_size(shape) + shape[1] * shape[2] * (shape[3] + 1) + z * shape[3] + y


class Room(NamedTuple):
    """Where things are among the reals, where a proposal is worked out.

    Attributes:
        means: the mean utility of each (z, a).
        shared: whether the model of each action is the one in which all is shared.
        follow: π[z, a], but for a factor of each z.
        made: n[z, a], completed.
        table: n[z, a, y], completed.
        law: μ[z, a, y], where actions are filled in.
        shares: parameters of a row of Ka, and the row.
        chances: for the model of each action, then for S of each stick, uniform numbers, (Ka, Y - 1) both.
        pairs: pairs of gammas, and before them their shapes, as `robust_drawing` lays them out.
        block: that of an action, of completed counts; those of all contexts and actions follow.
    """

    means: Number
    shared: Number
    follow: Number
    made: Number
    table: Number
    law: Number
    shares: Number
    chances: Number
    pairs: Number
    block: Number


@inlined
def room(shape: Number) -> Room:
    """The places."""
    cells = shape[1] * shape[2]
    follow = cells + shape[2]
    table = follow + 2 * cells
    law = table + cells * shape[3]
    shares = law + cells * shape[3]
    chances = shares + 2 * shape[2]
    pairs = chances + 2 * shape[2] * (shape[3] - 1)
    block = pairs + 2 * (pairs_of(shape) + SPARE)
    return Room(0, cells, follow, follow + cells, table, law, shares, chances, pairs, block)


@inlined
def block_of(x: Number, a: Number, shape: Number, parameters: Number) -> Number:
    """Where the block of a context and action begins among the reals."""
    return room(shape).block + (1 + x * shape[2] + a) * parameters.width


@inlined
def pairs_of(shape: Number) -> Number:
    """How many pairs of gammas a draw of everything takes."""
    return shape[1] * (shape[2] * shape[3] + (shape[2] + 1) // 2)


@inlined
def above(state: State, start: Number, j: Number, levels: Number) -> Number:
    """The same of completed counts."""
    real = state.real
    total = 0.0
    for level in range(j + 1, levels):
        total += real[start + level]
    return total
