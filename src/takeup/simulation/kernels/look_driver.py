"""One trial with looks: between two looks the probabilities stay, so that what happens there is a few binomial draws.

A piece is a number of units that are randomised under one vector of probabilities and whose outcomes are known from one
look on. Of each piece the units on each proposal are drawn, and of those what became of them; what a trial knows at a
look is the sum of the pieces that are known by then.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.binomials import binomial
from takeup.simulation.kernels.comparing import (
    Densities,
    Grids,
    exceeds,
    exceeds_less,
    largest,
    lay_out,
    level_for,
    within,
)
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.tables import Replication

GOING_ON, SUPERIOR, EQUIVALENT, FUTILE, MAXIMUM = range(5)
"""How a trial ends."""
INFERIOR = 1
"""Why a proposal is dropped: this, EQUIVALENT or FUTILE."""
NONE = -1
HALVINGS = 60
MOST_FACTOR = 1e18
"""By how much an entry is enlarged at most."""

CONTROLLED = False
"""Whether there is a control."""


class Schedule(NamedTuple):
    """When what is drawn and known.

    Attributes:
        size: units of each piece, in the order in which they are drawn.
        known: the look from which on its outcomes are known.
        first: the first piece that is drawn after each look, (L + 1,); before the first look, at 0.
        randomised: how many have been randomised at each look.
    """

    size: Array
    known: Array
    first: Array
    randomised: Array


class Thresholds(NamedTuple):
    """Above or below which probability what is concluded, at each look; 2 or -1 where nothing is."""

    superiority: Array
    inferiority: Array
    equivalence: Array
    futility: Array


class Sharing(NamedTuple):
    """How probabilities of being best become those of being proposed.

    Attributes:
        start: the probabilities before the first look.
        adaptive: whether they change.
        factor: whether they come within the limits by one factor; else by one amount.
        floor: the least of each.
        ceiling: the greatest.
        power: to which they are softened after each look.
    """

    start: Array
    adaptive: Number
    factor: Number
    floor: Array
    ceiling: Array
    power: Array


class LookInput(NamedTuple):
    """What all trials of one plan have in common.

    Attributes:
        key: the streams of each scenario, (E, 2).
        success: the rate of each proposal, (E, K).
        prior: (a, b) of each, (K, 2).
        control: the first control, or NONE.
        replaced: whether a better proposal takes its place; else the trial ends.
        schedule: the pieces.
        thresholds: when to conclude.
        sharing: how to allocate.
        equivalence: grids with its margin.
        futility: grids with its margin.
    """

    key: Array
    success: Array
    prior: Array
    control: Number
    replaced: Number
    schedule: Schedule
    thresholds: Thresholds
    sharing: Sharing
    equivalence: Grids
    futility: Grids


class LookMemory(NamedTuple):
    """Where one trial works.

    Attributes:
        waiting: units and successes of each proposal that become known at each look, (L, K, 2).
        known: those that are known, (K, 2).
        offered: which proposals are, (K,).
        best: the probability that each is best, (K,).
        share: the probability that each is proposed, (K,).
        densities: of the values.
    """

    waiting: Array
    known: Array
    offered: Array
    best: Array
    share: Array
    densities: Densities


class LookOutput(NamedTuple):
    """What is kept of each trial, (E, R, ..).

    Attributes:
        status: how it ended.
        look: at which look, counted from 0.
        chosen: the proposal that was found superior, else the control at the end, which may be another than at first;
            NONE without either.
        units: randomised to each proposal, (.., K).
        successes: of these in the end, (.., K).
        dropped: at which look each was dropped, counted from 1; 0 where it was not, (.., K).
        reason: why.
    """

    status: Array
    look: Array
    chosen: Array
    units: Array
    successes: Array
    dropped: Array
    reason: Array


def replicate(which: Replication, given: LookInput, memory: LookMemory, output: LookOutput) -> None:
    """Run one trial, and record it in its row of the output."""
    scenario, row, number = which
    proposals, looks = memory.known.shape[0], given.schedule.randomised.size
    for k in range(proposals):
        memory.offered[k], memory.share[k] = 1, given.sharing.start[k]
        memory.known[k, 0] = memory.known[k, 1] = 0
        output.dropped[scenario, row, k] = output.reason[scenario, row, k] = 0
        for look in range(looks):
            memory.waiting[look, k, 0] = memory.waiting[look, k, 1] = 0
    status, look, control, chosen = GOING_ON, 0, given.control, NONE
    while status == GOING_ON:
        for piece in range(given.schedule.first[look], given.schedule.first[look + 1]):
            draw(piece, scenario, number, given, memory)
        for k in range(proposals):
            memory.known[k, 0] += memory.waiting[look, k, 0]
            memory.known[k, 1] += memory.waiting[look, k, 1]
        level = lay_out_values(given, memory)
        if CONTROLLED:
            status, control, chosen = judge_control(look, control, level, which, given, memory, output)
        else:
            status, chosen = judge(look, level, which, given, memory, output)
        if status == GOING_ON:
            look += 1
            if look == looks:
                status, look = MAXIMUM, looks - 1
            elif given.sharing.adaptive:
                allocate(look, given, memory)
            else:
                keep(given, memory)
    output.status[scenario, row], output.look[scenario, row] = status, look
    output.chosen[scenario, row] = control if chosen == NONE else chosen
    for k in range(proposals):
        units, successes = memory.known[k, 0], memory.known[k, 1]
        for later in range(look + 1, looks):
            units += memory.waiting[later, k, 0]
            successes += memory.waiting[later, k, 1]
        output.units[scenario, row, k], output.successes[scenario, row, k] = units, successes


def draw(piece: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """The units of a piece on each proposal, and how many of them succeed."""
    moment = (given.key[scenario, 0], given.key[scenario, 1], np.uint32(number), np.uint32(piece))
    known, left, rest = given.schedule.known[piece], given.schedule.size[piece], 1.0
    for k in range(memory.known.shape[0]):
        share = memory.share[k]
        units = left if share >= rest else binomial(left, share / rest, moment, 2 * k)
        left -= units
        rest -= share
        memory.waiting[known, k, 0] += units
        memory.waiting[known, k, 1] += binomial(units, given.success[scenario, k], moment, 2 * k + 1)


def lay_out_values(given: LookInput, memory: LookMemory) -> Number:
    """Lay out what is believed of the value of each proposal that is offered; the grid's level."""
    spread = math.inf
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            a, b = parameters(k, given, memory)
            spread = min(spread, math.sqrt(1.0 / a + 1.0 / b))
    level = level_for(spread)
    for k in range(memory.known.shape[0]):
        if memory.offered[k]:
            a, b = parameters(k, given, memory)
            lay_out(memory.densities, k, a, b, level, given.equivalence)
    return level


def parameters(k: Number, given: LookInput, memory: LookMemory) -> Number:
    """Of the beta distribution of the value of a proposal."""
    successes = memory.known[k, 1]
    return given.prior[k, 0] + successes, given.prior[k, 1] + memory.known[k, 0] - successes


def judge(
    look: Number, level: Number, which: Replication, given: LookInput, memory: LookMemory, output: LookOutput
) -> Number:
    """What a look says without a control: status, and the proposal that is superior."""
    offered, best, rules = memory.offered, memory.best, given.thresholds
    while True:
        largest(memory.densities, offered, best)
        count, first = leading(offered, best)
        fewer = False
        for k in range(offered.size):
            if offered[k] and k != first and best[k] < rules.inferiority[look]:
                drop(k, look, INFERIOR, which, memory, output)
                fewer = True
        if not fewer:
            break
    if count == 1 or best[first] > rules.superiority[look]:
        return SUPERIOR, first
    if rules.equivalence[look] >= 1.0:
        return GOING_ON, NONE
    close = within(memory.densities, offered, level, given.equivalence)
    return (EQUIVALENT if close > rules.equivalence[look] else GOING_ON), NONE


def leading(offered: Array, best: Array) -> Number:
    """How many proposals are offered, and which of them is most probably the best."""
    count, first = 0, NONE
    for k in range(offered.size):
        if offered[k]:
            count += 1
            if first == NONE or best[k] > best[first]:
                first = k
    return count, first


def judge_control(
    look: Number,
    control: Number,
    level: Number,
    which: Replication,
    given: LookInput,
    memory: LookMemory,
    output: LookOutput,
) -> Number:
    """What a look says with a control: status, the control from now on, and the proposal that is superior."""
    offered, rules, densities = memory.offered, given.thresholds, memory.densities
    while True:
        first, most = NONE, -1.0
        for k in range(offered.size):
            if offered[k] and k != control:
                better = exceeds(densities, k, control)
                if better > most:
                    first, most = k, better
                if better < rules.inferiority[look]:
                    drop(k, look, INFERIOR, which, memory, output)
        if first == NONE or most <= rules.superiority[look]:
            break
        if not given.replaced:
            return SUPERIOR, control, first
        drop(control, look, INFERIOR, which, memory, output)
        control = first
    status = SUPERIOR
    for k in range(offered.size):  # where both leave the control alone, futility is why
        if offered[k] and k != control:
            less = exceeds_less(densities, k, control, level, given.equivalence)
            close = less - 1.0 + exceeds_less(densities, control, k, level, given.equivalence)
            if close > rules.equivalence[look]:
                status = EQUIVALENT if status == SUPERIOR else status
                drop(k, look, EQUIVALENT, which, memory, output)
            elif exceeds_less(densities, k, control, level, given.futility) > rules.futility[look]:
                status = FUTILE
                drop(k, look, FUTILE, which, memory, output)
    for k in range(offered.size):
        if offered[k] and k != control:
            largest(densities, offered, memory.best)
            return GOING_ON, control, NONE
    return status, control, control if status == SUPERIOR else NONE


def drop(k: Number, look: Number, reason: Number, which: Replication, memory: LookMemory, output: LookOutput) -> None:
    """Offer a proposal no more."""
    memory.offered[k] = 0
    output.dropped[which.scenario, which.row, k] = look + 1
    output.reason[which.scenario, which.row, k] = reason


def allocate(look: Number, given: LookInput, memory: LookMemory) -> None:
    """The probabilities after a look: softened, and within the limits by one amount or one factor."""
    share, offered, rules = memory.share, memory.offered, given.sharing
    total = 0.0
    for k in range(share.size):
        share[k] = memory.best[k] ** rules.power[look - 1] if offered[k] else 0.0
        total += share[k]
    for k in range(share.size):
        share[k] /= total
    hold(rules, memory)


def hold(rules: Sharing, memory: LookMemory) -> None:
    """Bring the probabilities within the limits, by one amount or one factor."""
    share, offered, beyond = memory.share, memory.offered, False
    for k in range(share.size):
        beyond = beyond or (offered[k] and (share[k] < rules.floor[k] or share[k] > rules.ceiling[k]))
    if not beyond:
        return
    low, high = (0.0, 1.0) if rules.factor else (-1.0, 1.0)
    if rules.factor:
        while within_limits(high, rules, memory) < 1.0 and high < MOST_FACTOR:
            high *= 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if within_limits(middle, rules, memory) < 1.0:
            low = middle
        else:
            high = middle
    rest, room = 1.0 - within_limits(high, rules, memory), 0.0
    for k in range(share.size):
        if offered[k]:
            share[k] = limited(k, high, rules, memory)
            room += rules.ceiling[k] - share[k]
    if rest > 0.0 and room > 0.0:  # no factor reaches it, as others have no probability: they share it by their room
        for k in range(share.size):
            if offered[k]:
                share[k] += (rules.ceiling[k] - share[k]) * rest / room


def limited(k: Number, change: Number, rules: Sharing, memory: LookMemory) -> Number:
    """An entry changed by a factor or an amount, and cut off at its limits."""
    moved = memory.share[k] * change if rules.factor else memory.share[k] + change
    return min(max(moved, rules.floor[k]), rules.ceiling[k])


def within_limits(change: Number, rules: Sharing, memory: LookMemory) -> Number:
    """What all entries that are offered sum to then."""
    total = 0.0
    for k in range(memory.share.size):
        if memory.offered[k]:
            total += limited(k, change, rules, memory)
    return total


def keep(given: LookInput, memory: LookMemory) -> None:
    """The probabilities of a trial that does not adapt: those of the start, among the proposals that are offered."""
    total = 0.0
    for k in range(memory.share.size):
        if memory.offered[k]:
            total += given.sharing.start[k]
    for k in range(memory.share.size):
        memory.share[k] = given.sharing.start[k] / total if memory.offered[k] else 0.0
    hold(given.sharing, memory)


def replicate_many(start: Replication, count: Number, given: LookInput, memory: LookMemory, output: LookOutput) -> None:
    """Run `count` trials from `start` on, one after the other."""
    for i in range(count):
        replicate(Replication(start.scenario, start.row + i, start.number + i), given, memory, output)
