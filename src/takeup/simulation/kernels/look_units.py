"""Trials whose probabilities change after every outcome: unit by unit between two looks.

A unit's outcome is known when `lag` more have been randomised. Until then it waits in a ring of lag + 1 slots, in which
the schedule gives every unit its own. `wish_unit` says with which probability the policy would propose each, given what
is known: by the reading in this file as it stands, at the price of a quadrature a unit. `compile` binds it to what
needs none: for two proposals a recurrence, and where nothing changes what is wished a draw.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.dirichlets import log_gamma_draw
from takeup.simulation.kernels.look_rates import draw, largest_of, parameters, read, wish
from takeup.simulation.kernels.look_sharing import allocate, keep
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.tables import Replication, State
from takeup.simulation.kernels.two_arm import advance, begin


class Pair(NamedTuple):
    """P(best) of two proposals, and what its recurrence needs: `two_arm` says what is in it.

    Attributes:
        start: before any data, (6,); or the same as it is, (6, 1).
    """

    start: Array


def draw_units(look: Number, control: Number, which: Replication, given: LookInput, memory: LookMemory) -> None:
    """Randomise the units between two looks, each with what is known by then; at the end all is known that shall be."""
    schedule = given.schedule
    learned = schedule.at[look - 1] if look else 0
    if look == 0:
        begin_units(given, memory)
    for unit in range(schedule.first[look], schedule.first[look + 1]):
        while learned < unit - schedule.lag:
            learn_unit(schedule.known[learned], given, memory)
            learned += 1
        if given.sharing.adaptive and unit >= schedule.adapted:
            wish_unit(unit, which, given, memory)
            allocate(learned, control, given, memory)
        else:
            keep(control, given, memory)
        draw(unit, schedule.truth[which.scenario, unit], which.number, given, memory)
    while learned < schedule.at[look]:
        learn_unit(schedule.known[learned], given, memory)
        learned += 1


def learn(slot: Number, memory: LookMemory) -> None:
    """What waits in a slot is known."""
    for k in range(memory.known.shape[0]):
        for column in range(memory.known.shape[1]):
            memory.known[k, column] += memory.waiting[slot, k, column]
            memory.waiting[slot, k, column] = 0


def begin_units(given: LookInput, memory: LookMemory) -> None:
    """Nothing to prepare where the reading is asked."""


def learn_unit(slot: Number, given: LookInput, memory: LookMemory) -> None:
    """One more outcome is known."""
    learn(slot, memory)


def wish_unit(unit: Number, which: Replication, given: LookInput, memory: LookMemory) -> None:
    """What the policy would do by what is known, read anew."""
    read(unit, which.scenario, which.number, given, memory)
    largest_of(given, memory)
    wish(unit, which.scenario, which.number, given, memory)


def wish_drawn(unit: Number, which: Replication, given: LookInput, memory: LookMemory) -> None:
    """All for the largest of one draw of each value, which is as probable as each is the best."""
    moment = (
        given.key[which.scenario, 0],
        given.key[which.scenario, 1],
        np.uint32(which.number),
        np.uint32(unit),
    )
    proposals, first, most = memory.wish.size, 0, -math.inf
    for k in range(proposals):
        memory.wish[k] = 0.0
        if memory.offered[k]:
            a, b = parameters(k, given, memory)
            slot = 2 * (proposals + k)  # those before are the units' own
            logit = log_gamma_draw(a, moment, slot) - log_gamma_draw(b, moment, slot + 1)
            if logit > most:
                first, most = k, logit
    memory.wish[first] = 1.0


def begin_pair(given: LookInput, memory: LookMemory) -> None:
    """The recurrence before any data."""
    begin(State(memory.policy.start, memory.policy.start, 0), 0, given.policy)


def learn_pair(slot: Number, given: LookInput, memory: LookMemory) -> None:
    """One more outcome of one of two proposals."""
    for k in range(2):
        if memory.waiting[slot, k, 0]:
            state = State(memory.policy.start, memory.policy.start, 0)
            advance(state, 0, k, 1 - memory.waiting[slot, k, 1])
    learn(slot, memory)


def wish_pair(unit: Number, which: Replication, given: LookInput, memory: LookMemory) -> None:
    """As probable as each is the better one."""
    p = min(max(memory.policy.start[4, 0], 0.0), 1.0)
    memory.wish[0], memory.wish[1] = p, 1.0 - p
