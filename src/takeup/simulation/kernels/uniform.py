"""Uniform: every proposal with the same probability, for ever. Also the smallest example of a policy's kernel.

A kernel is a module, in takeup or elsewhere, that a policy names. It says what type its real numbers are of (`REAL`),
how large its state is (`size`) and what its numbers are (`Parameters`, `parameters`), and gives four plain functions of
a state, which is one column of the arrays `counts` (int32) and `real`:

    begin(state, shape, parameters)
    propose(state, x, shape, parameters, moment, chance) -> z
    learn(state, event, shape, parameters, moment)
    reveal(state, event, shape, parameters, moment)

`shape` is (X, Kz, Ka, Y), `moment` is (key, key, replication, step), `chance` a random word of the policy's own; more
come from `streams.words`. An event is (x, z, a, y). `learn` hears of a decision for the first time, with a or y UNSEEN
where they are; `reveal` brings the outcome of one that was learnt with y UNSEEN. They may call plain functions of
takeup and of their own package, by their bare names, and make no arrays: a GPU could not.

What else a kernel may say:

    OUTCOMES = ("number",)      the kinds of outcome that it takes, of which y is the code; levels, where left out
    applies(policy, space)      whether it runs this policy in this space; always, where left out
    switches(policy, space)     values of its global names that are True or False; what is off is not compiled
    stand_ins(policy)           functions that stand in for others in what it is made of, as in `forgetting`
    COVARIATES = True           it learns from covariates: x is a `units.Unit`, and its reals lie one after the other
    LANES_OF_UNITS = "module"   its form for 32 replications side by side, where units have covariates
    AT_ONCE = True              it needs everything to be reported at once
    RECURRENCE = True           it draws nothing: the distribution of another kernel with other numbers, as in `two_arm`
    REGISTERS = 96              how many a thread may take on a GPU, so that more of them run at once
    in_lanes, propose_lanes, learn_lanes    a form for 32 replications side by side, see `lanes`
    FEWEST_LANES = 8            how many replications that form is worth its while for; one, where left out
"""

from typing import NamedTuple

import numpy as np

from takeup.policies import Uniform
from takeup.simulation.kernels.machine import Number
from takeup.simulation.kernels.streams import below
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float32
OUTCOMES = ("level", "number", "count", "time")


class Parameters(NamedTuple):
    """It has none."""

    nothing: Number


def parameters(policy: Uniform, space: Space) -> Parameters:
    """It has none."""
    return Parameters(0)


def size(policy: Uniform, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals: none."""
    return 0, 0


def begin(state: State, shape: Number, parameters: Number) -> None:
    """It remembers nothing."""


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """Any of the proposals."""
    return below(chance, shape[1])[0]


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """It learns nothing."""


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """It learns nothing."""
