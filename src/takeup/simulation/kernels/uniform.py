"""Uniform: every proposal with the same probability, for ever. Also the smallest example of a policy's file.

A policy's file says how large its state is (`size`), what its parameters are (`Parameters`, `parameters`), and gives
four plain functions of a state, which is one column of the arrays `counts` (int32) and `real`:

    begin(counts, real, column, shape, parameters)
    propose(counts, real, column, x, shape, parameters, moment, chance) -> z
    learn(counts, real, column, x, z, a, y, shape, parameters, moment)
    reveal(counts, real, column, x, z, a, y, shape, parameters, moment)

`shape` is (X, Kz, Ka, Y), `moment` is (key, key, replication, step), `chance` a random word of the policy's own.
`learn` hears of a decision for the first time, with a or y UNSEEN where they are; `reveal` brings the outcome of one
that was learnt with y UNSEEN.
"""

from typing import NamedTuple

from takeup.policies import Uniform
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.streams import below
from takeup.space import Space


class Parameters(NamedTuple):
    """It has none."""

    nothing: Number


def parameters(policy: Uniform, space: Space) -> Parameters:
    """It has none."""
    return Parameters(0)


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals: none."""
    return 0, 0


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """It remembers nothing."""


def propose(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
    chance: Number,
) -> Number:
    """Any of the proposals."""
    return below(chance, shape[1])[0]


def learn(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """It learns nothing."""


def reveal(
    counts: Array,
    real: Array,
    column: Number,
    x: Number,
    z: Number,
    a: Number,
    y: Number,
    shape: Number,
    parameters: Number,
    moment: Number,
) -> None:
    """It learns nothing."""
