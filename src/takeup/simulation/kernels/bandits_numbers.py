"""Bandits of the highest index with outcomes that are numbers: UCB1, UCB-ITT, UCB-AT, KL-UCB, Bayes-UCB, greedy ones.

An index needs of an arm how many outcomes it has and what they gain together. Counts: the ticket, and then the outcomes
of every arm of every context. Reals: their gains, in whole steps, so that every order comes to the same bits, and arms
tie where they do for the policies.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.outcomes import Number as NumberOutcome
from takeup.outcomes.number import WORTH_STEPS
from takeup.policies.arms import CREDITS
from takeup.policies.indices import IndexBandit
from takeup.simulation.kernels.arms import GREEDY, TICKET, chance, exploring, gets, index
from takeup.simulation.kernels.bandits import rule_of
from takeup.simulation.kernels.machine import UNSEEN, Array, Number
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64
OUTCOMES = ("number",)


class Parameters(NamedTuple):
    """What a bandit is told; see `arms.Parameters`.

    Attributes:
        rule: what it does.
        credit: which arm a reward goes to.
        gain: how many steps above the worst each number is.
        most: how many steps the best is above the worst.
        imagined: how many pulls with the best reward every arm begins with.
        intended: the action that each proposal intends; -2 where the space does not say.
        first: the rule's first number.
        second: its second.
    """

    rule: Number
    credit: Number
    gain: Array
    most: Number
    imagined: Number
    intended: Array
    first: Number
    second: Number


def parameters(policy: IndexBandit, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    number, proposals = space.outcome, len(space.proposals)
    assert isinstance(number, NumberOutcome)
    rule = rule_of(policy)
    first, second = rule.numbers(policy, proposals)
    gain, most = np.arange(number.size), number.size - 1
    if number.utility:
        gain, most = number.parts_of(gain)[1][:, -1], WORTH_STEPS
    elif number.better == "lower":
        gain = most - gain
    intended = np.full(proposals, -2) if space.intended is None else np.array(space.intended)
    return Parameters(
        rule.number,
        CREDITS.index(policy.credit),
        gain.astype(np.float64),
        float(most),
        float(policy.imagined),
        intended.astype(np.int64),
        float(first),
        float(second),
    )


def size(policy: IndexBandit, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    arms = len(space.contexts) * len(space.proposals)
    return TICKET + 1 + arms, arms


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen."""
    counts, real, column = state
    counts[TICKET, column] = 0
    for arm in range(shape[0] * shape[1]):
        counts[TICKET + 1 + arm, column] = 0
        real[arm, column] = 0.0


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, word: Number) -> Number:
    """The arm of the highest index, ties at random; or any, where it is time to explore."""
    counts, real, column = state
    arms, imagined = shape[1], parameters.imagined
    row = x * arms
    time = 1.0
    for arm in range(arms):
        time += counts[TICKET + 1 + row + arm, column] + imagined
    if parameters.rule == GREEDY and chance(state, moment) < exploring(time, arms, parameters):
        return min(arms - 1, np.int64(chance(state, moment) * arms))
    found, highest, ties = 0, -math.inf, 0
    for arm in range(arms):
        pulls = counts[TICKET + 1 + row + arm, column] + imagined
        mean = (real[row + arm, column] / parameters.most + imagined) / pulls if pulls > 0.0 else 0.0
        score = index(parameters.rule, mean, pulls, time, parameters)
        if score > highest:
            found, highest, ties = arm, score, 1
        elif score == highest:
            ties += 1
            if chance(state, moment) * ties < 1.0:
                found = arm
    return found


def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """The reward goes to the arm that the credit names."""
    counts, real, column = state
    if event.y != UNSEEN:
        for arm in range(shape[1]):
            if gets(parameters.credit, arm, event, parameters):
                counts[TICKET + 1 + event.x * shape[1] + arm, column] += 1
                real[event.x * shape[1] + arm, column] += parameters.gain[event.y]


def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """An outcome that comes later counts like one that comes at once."""
    learn(state, event, shape, parameters, moment)
