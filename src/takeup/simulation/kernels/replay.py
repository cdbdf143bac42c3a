"""A trial replayed: its people come again in the same order with the same outcomes, and proposals are drawn anew.

The probabilities are those that the policy would have had, with what it would have known by then. `replay` keeps
P(θ_0 > θ_1) of two proposals and two outcomes by the recurrence of `two_arm`, brings it within the limits and draws
from it, so that its probabilities are known; `replay_drawn` lets the kernel of any policy propose. Four decisions share
the words of one counter in the first, and each has its own in the second.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from takeup.simulation.kernels.machine import UNSEEN, Array, Number
from takeup.simulation.kernels.streams import ATTEMPT, PATIENT, uniform, words
from takeup.simulation.kernels.tables import Observation, Replication, State
from takeup.simulation.kernels.two_arm import SLOTS, advance
from takeup.simulation.kernels.uniform import begin, learn, propose, reveal

GRAIN = 2.0**32
"""Where a power is taken of probabilities, they are multiples of 1 / GRAIN, as in a live trial."""
ASKED = -1.0
"""The fixed probability of a proposal where the policy is asked."""


class Recorded(NamedTuple):
    """What was recorded, and is the same in every replay.

    Attributes:
        key: of the streams, (2,).
        context: x of each decision, (n,).
        outcome: what the policy learns of it, (n,): for `replay` 0 for the better outcome and 1 for the other, for
            `replay_drawn` the code.
        order: the decisions in the order in which their outcomes reach the policy.
        known: how many of these each decision knows, (n,).
        fixed: the probabilities of proposals where the policy is not asked, in rows that add up; ASKED where it is,
            (n, K).
        value: what each is worth in the end; NaN where it is never known, (n,).
        weight: of each context in a difference, (X,).
        residual: the value less what was expected of it, 0 where it is never known, (n,).
        proposal: what was proposed, to follow the trial as it was; empty where proposals are drawn.
        one: the proposal that is compared,
        other: and with which.
    """

    key: Array
    context: Array
    outcome: Array
    order: Array
    known: Array
    fixed: Array
    value: Array
    weight: Array
    residual: Array
    proposal: Array
    one: Number
    other: Number


class Pair(NamedTuple):
    """How two proposals are allocated.

    Attributes:
        start: of every context, the six numbers that `two_arm` begins with, flat.
        power: to which each decision's probabilities are taken, (n,).
        leader: the probability that the better one is proposed: 1 for TS.
        low: the least probability of proposal 0.
        high: the greatest.
    """

    start: Array
    power: Array
    leader: Number
    low: Number
    high: Number


class ReplayMemory(NamedTuple):
    """Where one replay works.

    Attributes:
        counts: the policy's whole numbers, in one column.
        real: its real numbers.
        proposal: what was proposed so far, (n,).
        number: values by context and proposal: how many, (X, K),
        total: and their sum.
    """

    counts: Array
    real: Array
    proposal: Array
    number: Array
    total: Array


def share_of(t: Number, state: State, recorded: Recorded, pair: Pair) -> Number:
    """The probability of proposal 0 at a decision."""
    if recorded.fixed[t, 0] != ASKED:
        return recorded.fixed[t, 0]
    p = min(max(state.real[recorded.context[t] * SLOTS + 4, 0], 0.0), 1.0)
    p = pair.leader * p + (1.0 - pair.leader) * (1.0 - p)
    if pair.power[t] != 1.0:
        p = math.floor(p * GRAIN + 0.5) / GRAIN
        one, other = p ** pair.power[t], (1.0 - p) ** pair.power[t]
        p = one / (one + other)
    return min(max(p, pair.low), pair.high)


def replay(number: Number, recorded: Recorded, pair: Pair, memory: ReplayMemory, share: Array) -> Number:
    """Replay the trial of two proposals once; the sum of the score, and its variance if nothing has an effect.

    Args:
        number: of the replay.
        recorded: what was recorded.
        pair: how proposals are allocated.
        memory: where to work; proposals are found there.
        share: room for the probability of proposal 0 at every decision, or none.
    """
    state, follow, learned = State(memory.counts, memory.real, 0), recorded.proposal.size > 0, 0
    for slot in range(pair.start.size):
        memory.real[slot, 0] = pair.start[slot]
    score, variance = 0.0, 0.0
    block = words((recorded.key[0], recorded.key[1], np.uint32(number), np.uint32(0)), PATIENT, ATTEMPT)
    for t in range(recorded.context.size):
        while learned < recorded.known[t]:
            i = recorded.order[learned]
            advance(state, recorded.context[i] * SLOTS, memory.proposal[i], recorded.outcome[i])
            learned += 1
        p = share_of(t, state, recorded, pair)
        if t & 3 == 0:
            block = words((recorded.key[0], recorded.key[1], np.uint32(number), np.uint32(t >> 2)), PATIENT, ATTEMPT)
        z = recorded.proposal[t] if follow else (0 if uniform(block[t & 3]) < p else 1)
        memory.proposal[t] = z
        chance, residual = (p if recorded.one == 0 else 1.0 - p), recorded.residual[t]
        score += residual * ((1.0 if z == recorded.one else 0.0) - chance)
        variance += residual * residual * chance * (1.0 - chance)
        if share.size:
            share[t] = p
    return score, variance


def fixed_proposal(t: Number, word: Number, recorded: Recorded) -> Number:
    """What a word draws where the policy is not asked."""
    z, mark = np.int64(0), uniform(word) - recorded.fixed[t, 0]
    while mark >= 0.0 and z < recorded.fixed.shape[1] - 1:
        z += 1
        mark -= recorded.fixed[t, z]
    return z


def replay_drawn(number: Number, recorded: Recorded, shape: Number, parameters: Any, memory: ReplayMemory) -> None:
    """Replay the trial of any policy once, by what its kernel proposes."""
    state, learned = State(memory.counts, memory.real, 0), 0
    begin(state, shape, parameters)
    for t in range(recorded.context.size):
        moment = (recorded.key[0], recorded.key[1], np.uint32(number), np.uint32(t))
        while learned < recorded.known[t]:
            i = recorded.order[learned]
            seen = Observation(recorded.context[i], memory.proposal[i], UNSEEN, recorded.outcome[i])
            reveal(state, seen, shape, parameters, moment)
            learned += 1
        chance, x = words(moment, PATIENT, ATTEMPT)[3], recorded.context[t]
        if recorded.fixed[t, 0] == ASKED:
            z = np.int64(propose(state, x, shape, parameters, moment, chance))
        else:
            z = fixed_proposal(t, chance, recorded)
        memory.proposal[t] = z
        learn(state, Observation(x, z, UNSEEN, UNSEEN), shape, parameters, moment)


def difference(recorded: Recorded, memory: ReplayMemory) -> Number:
    """The mean value of one proposal less that of the other: within contexts, which count by their size.

    A context in which one of both was never proposed has none.
    """
    contexts, proposals = memory.number.shape
    for x in range(contexts):
        for z in range(proposals):
            memory.number[x, z] = 0
            memory.total[x, z] = 0.0
    for t in range(recorded.value.size):
        if not math.isnan(recorded.value[t]):
            memory.number[recorded.context[t], memory.proposal[t]] += 1
            memory.total[recorded.context[t], memory.proposal[t]] += recorded.value[t]
    found, one, other = 0.0, recorded.one, recorded.other
    for x in range(contexts):
        if memory.number[x, one] and memory.number[x, other]:
            apart = memory.total[x, one] / memory.number[x, one] - memory.total[x, other] / memory.number[x, other]
            found += recorded.weight[x] * apart
    return found


def replay_many(
    start: Replication, count: Number, recorded: Recorded, pair: Pair, memory: ReplayMemory, output: Array, share: Array
) -> None:
    """Replay so many times from `start` on: both statistics, the difference and the score in units of its error."""
    for i in range(count):
        score, variance = replay(start.number + i, recorded, pair, memory, share)
        output[start.row + i, 0] = difference(recorded, memory)
        output[start.row + i, 1] = score / math.sqrt(variance) if variance > 0.0 else 0.0


def replay_drawn_many(
    start: Replication,
    count: Number,
    recorded: Recorded,
    shape: Number,
    parameters: Any,
    memory: ReplayMemory,
    output: Array,
) -> None:
    """The same of any policy, whose probabilities are not known: the difference alone."""
    for i in range(count):
        replay_drawn(start.number + i, recorded, shape, parameters, memory)
        output[start.row + i, 0] = difference(recorded, memory)
