"""Bandits that see arms alone: one table a bandit, and all that can be done with it, whatever the bandit's rule.

A table is W[arm, y], how often each outcome was credited to each arm, prior and imagined pulls included; EXP3 keeps the
log weight of an arm in W[arm, 0] instead. The rule is a number that is told at run time, so that all bandits, and
all policies that are made of them, share their machine code. Everything is of float64.

Random words come from slots that a ticket counts, which is the first of the policy's counts: what is drawn in one
moment, however often and for whatever purpose, never comes from the same slot twice.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.policies.exp3 import LEAST
from takeup.simulation.kernels.indices import bayes_ucb, kl_ucb, ucb1
from takeup.simulation.kernels.latent import drawn_mean
from takeup.simulation.kernels.machine import Array, Number, inlined
from takeup.simulation.kernels.streams import POLICY, uniform, words
from takeup.simulation.kernels.tables import Observation, State

THOMPSON, TOP_TWO, CAUSAL, EXP3, GREEDY, UCB1, KL_UCB, BAYES_UCB = range(8)
"""The rules; those that draw come first."""

CHOSEN, ACTUAL, COMPLY = range(3)
"""The credits, in the order of takeup.policies.arms.CREDITS."""

FIXED, LOGARITHMIC, HARMONIC = range(3)
"""How the probability to explore falls."""

TICKET = 0
"""The count of slots that have been used."""

_WRAP = 0x3FFFFFFF


class Parameters(NamedTuple):
    """What a bandit is told.

    Attributes:
        rule: what it does.
        credit: which arm a reward goes to.
        gain: the utilities rescaled to [0, 1].
        intended: the action that each proposal intends; -2 where the space does not say.
        table: the table to begin with, of every context, flat.
        first: the rule's first number: exploration, constant, α, ε, η or the probability of the leader.
        second: its second: the decay, the mixing or how many draws a challenger may take.
        intent: the proposal that each context intends, for CAUSAL.
        observed: the mean observed of those who followed it; nan where there is none.
    """

    rule: Number
    credit: Number
    gain: Array
    intended: Array
    table: Array
    first: Number
    second: Number
    intent: Array
    observed: Array


class Player(NamedTuple):
    """One bandit in one context.

    Attributes:
        rule: what it does.
        credit: which arm a reward goes to.
        row: where its table begins among the reals.
        x: the context.
    """

    rule: Number
    credit: Number
    row: Number
    x: Number


@inlined
def take(state: State, many: Number) -> Number:
    """The first of so many slots that nobody else has."""
    counts, column = state.counts, state.column
    first = np.int64(counts[TICKET, column])
    counts[TICKET, column] = np.int32((first + many) & _WRAP)
    return first


@inlined
def chance(state: State, moment: Number) -> Number:
    """A number strictly between 0 and 1."""
    return uniform(words(moment, np.uint32(POLICY + np.uint32(take(state, 1))), 0)[0])


@inlined
def rows(shape: Number) -> Number:
    """The cells of one context's table."""
    return shape[1] * shape[3]


def choose(state: State, player: Player, shape: Number, parameters: Number, moment: Number) -> Number:
    """The arm that a bandit plays."""
    arms, rule, row = shape[1], player.rule, player.row
    if rule == EXP3:
        return pick(state, row, arms, shape[3], parameters.second, moment)
    if rule == GREEDY:
        time = time_of(state, row, shape)
        if chance(state, moment) < exploring(time, arms, parameters):
            return min(arms - 1, np.int64(chance(state, moment) * arms))
    leader, draws = np.int64(-1), np.int64(1)
    if rule == TOP_TWO and chance(state, moment) >= parameters.first:
        draws += np.int64(parameters.second if arms > 2 else 1.0)
    while True:  # once, or until another arm than the first wins, from which the last draw leaves that one out
        but = leader if draws == 1 else np.int64(-1)
        found = best(state, player, but, shape, parameters, moment)
        draws -= 1
        if draws == 0 or found != leader >= 0:
            return found
        leader = found


def best(state: State, player: Player, but: Number, shape: Number, parameters: Number, moment: Number) -> Number:
    """The arm of the highest score, ties at random; `but` is one that is left out."""
    real, column = state.real, state.column
    rule, row = player.rule, player.row
    arms, levels = shape[1], shape[3]
    pulls = 0.0
    for cell in range(arms * levels):
        pulls += real[row + cell, column]
    follow = 0.0
    if rule == CAUSAL:
        follow = following(state, player, shape, parameters)
    found, highest, ties = 0, -math.inf, 0
    for arm in range(arms):
        if arm == but:
            continue
        score = 0.0
        if rule <= CAUSAL:
            slot = take(state, levels)
            score = drawn_mean(state, row + arm * levels, levels, parameters.gain, moment, slot)
            if rule == CAUSAL:
                score *= confidence(state, player, arm, follow, shape, parameters)
        else:
            n, mean = mean_of(state, row + arm * levels, levels, parameters.gain)
            score = index(rule, mean, n, 1.0 + pulls, parameters)
        if score > highest:
            found, highest, ties = arm, score, 1
        elif score == highest:
            ties += 1
            if chance(state, moment) * ties < 1.0:
                found = arm
    return found


def index(rule: Number, mean: Number, pulls: Number, time: Number, parameters: Number) -> Number:
    """The index of an arm."""
    if rule == UCB1:
        return ucb1(mean, pulls, time, parameters.first)
    if rule == KL_UCB:
        return kl_ucb(mean, pulls, time, parameters.first)
    if rule == BAYES_UCB:
        return bayes_ucb(mean, pulls, time, parameters.first)
    return mean if pulls > 0.0 else math.inf


@inlined
def mean_of(state: State, row: Number, levels: Number, gain: Array) -> Number:
    """The pulls of an arm, and its mean reward."""
    real, column = state.real, state.column
    pulls, total = 0.0, 0.0
    for y in range(levels):
        pulls += real[row + y, column]
        total += real[row + y, column] * gain[y]
    return pulls, total / pulls if pulls > 0.0 else 0.0


def time_of(state: State, row: Number, shape: Number) -> Number:
    """One more than the pulls of all arms."""
    real, column = state.real, state.column
    time = 1.0
    for cell in range(rows(shape)):
        time += real[row + cell, column]
    return time


def exploring(time: Number, arms: Number, parameters: Number) -> Number:
    """The probability to explore now."""
    if parameters.second == FIXED:
        return parameters.first
    if parameters.second == HARMONIC:
        return parameters.first * arms / time
    return parameters.first / math.log(time) if time > 1.0 else 1.0


def following(state: State, player: Player, shape: Number, parameters: Number) -> Number:
    """The mean of following one's intent: the observed one, or else that of the table."""
    x = player.x
    if parameters.observed[x] == parameters.observed[x]:
        return parameters.observed[x]
    return mean_of(state, player.row + parameters.intent[x] * shape[3], shape[3], parameters.gain)[1]


def confidence(state: State, player: Player, arm: Number, follow: Number, shape: Number, parameters: Number) -> Number:
    """What CAUSAL multiplies the draw of an arm by."""
    levels, row, own = shape[3], player.row, parameters.intent[player.x]
    if arm != own:
        mean = mean_of(state, row + arm * levels, levels, parameters.gain)[1]
        return 1.0 if mean > follow else 1.0 - (follow - mean)
    least = 1.0
    for other in range(shape[1]):
        if other != own:
            mean = mean_of(state, row + other * levels, levels, parameters.gain)[1]
            if mean > follow:
                least = min(least, 1.0 - (mean - follow))
    return least


def mass(state: State, row: Number, arms: Number, stride: Number) -> Number:
    """The largest log weight, and the sum of the weights relative to it."""
    real, column = state.real, state.column
    largest = -math.inf
    for arm in range(arms):
        largest = max(largest, real[row + arm * stride, column])
    total = 0.0
    for arm in range(arms):
        total += math.exp(real[row + arm * stride, column] - largest)
    return largest, total


@inlined
def probability(log: Number, largest: Number, total: Number, arms: Number, mixing: Number) -> Number:
    """The probability that EXP3 gives to an arm of this log weight."""
    return (1.0 - mixing) * math.exp(log - largest) / total + mixing / arms


def pick(state: State, row: Number, arms: Number, stride: Number, mixing: Number, moment: Number) -> Number:
    """An arm by the probabilities of EXP3."""
    real, column = state.real, state.column
    largest, total = mass(state, row, arms, stride)
    mark = chance(state, moment)
    for arm in range(arms - 1):
        mark -= probability(real[row + arm * stride, column], largest, total, arms, mixing)
        if mark < 0.0:
            return arm
    return arms - 1


@inlined
def gets(credit: Number, arm: Number, event: Observation, parameters: Number) -> Number:
    """Whether an arm gets the reward of an event, in which the action may be UNSEEN."""
    if credit == CHOSEN:
        return arm == event.z
    return parameters.intended[arm] == event.a and (credit == ACTUAL or arm == event.z)


def absorb(state: State, player: Player, event: Observation, weight: Number, shape: Number, parameters: Number) -> None:
    """Put a seen outcome into a bandit's table; only draws and EXP3 have a use for weights."""
    real, column = state.real, state.column
    rule, row, y = player.rule, player.row, event.y
    arms, levels = shape[1], shape[3]
    largest, total = 0.0, 1.0
    if rule == EXP3:
        largest, total = mass(state, row, arms, levels)
    for arm in range(arms):
        if gets(player.credit, arm, event, parameters):
            if rule == EXP3:
                log = real[row + arm * levels, column]
                p = max(probability(log, largest, total, arms, parameters.second), LEAST)
                real[row + arm * levels, column] = log + parameters.first * parameters.gain[y] * weight / p
            else:
                real[row + arm * levels + y, column] += weight if rule in (THOMPSON, TOP_TWO) else 1.0
