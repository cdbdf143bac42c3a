"""One bandit under one credit: the baselines, Protocol, UCB-ITT, UCB-AT and TS^C.

Counts: the ticket. Reals: the bandit's table of every context.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from takeup.checks import FloatArray
from takeup.policies import EXP3, KLUCB, UCB1, BayesUCB, CausalTS, EpsilonGreedy, Protocol, TopTwo
from takeup.policies.arms import CREDITS, Bandit, gain
from takeup.policies.conjugate import TS
from takeup.policies.indices import IndexBandit
from takeup.policies.intent import intents
from takeup.simulation.kernels import arms
from takeup.simulation.kernels.arms import TICKET, Parameters, Player, absorb, choose, rows
from takeup.simulation.kernels.machine import UNSEEN, Number, inlined
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64


def prior(bandit: TS, space: Space) -> FloatArray:
    """The table of a bandit that draws: its prior."""
    return bandit.prior(space).outcome


def imagined(bandit: IndexBandit, space: Space) -> FloatArray:
    """The table of an index: so many imagined pulls with the best reward."""
    table = empty(bandit, space)
    table[..., int(gain(space).argmax())] = bandit.imagined
    return table


def empty(bandit: Bandit, space: Space) -> FloatArray:
    """The table of a bandit that has seen nothing and imagines nothing."""
    contexts, proposals, _, levels = space.shape
    return np.zeros((contexts, proposals, levels))


class Rule(NamedTuple):
    """What the kernel knows of a class of bandits.

    Attributes:
        number: that of the rule in `arms`.
        numbers: the rule's first and second number, of a bandit with this many proposals.
        table: the table before the first reward.
    """

    number: int
    numbers: Callable[[Any, int], tuple[float, float]]
    table: Callable[[Any, Space], FloatArray]


_DECAYS = {"none": arms.FIXED, "logarithmic": arms.LOGARITHMIC, "harmonic": arms.HARMONIC}

RULES: dict[type, Rule] = {
    EXP3: Rule(arms.EXP3, lambda bandit, proposals: (bandit.step(proposals), bandit.mixing), empty),
    TS: Rule(arms.THOMPSON, lambda bandit, proposals: (0.0, 0.0), prior),
    TopTwo: Rule(arms.TOP_TWO, lambda bandit, proposals: (bandit.leader, bandit.resamples), prior),
    CausalTS: Rule(arms.CAUSAL, lambda bandit, proposals: (0.0, 0.0), prior),
    EpsilonGreedy: Rule(arms.GREEDY, lambda bandit, proposals: (bandit.epsilon, _DECAYS[bandit.decay]), imagined),
    UCB1: Rule(arms.UCB1, lambda bandit, proposals: (bandit.exploration, 0.0), imagined),
    KLUCB: Rule(arms.KL_UCB, lambda bandit, proposals: (bandit.constant, 0.0), imagined),
    BayesUCB: Rule(arms.BAYES_UCB, lambda bandit, proposals: (bandit.alpha, 0.0), imagined),
}
"""By class; a subclass has the rule of the nearest."""


def rule_of(bandit: Bandit) -> Rule:
    """The rule of a bandit."""
    return RULES[next(kind for kind in type(bandit).__mro__ if kind in RULES)]


def parameters(policy: Bandit | Protocol, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    bandit = policy.base if isinstance(policy, Protocol) else policy
    return of_bandit(bandit, space, CREDITS.index(getattr(policy, "credit", "chosen")))


def of_bandit(bandit: Bandit, space: Space, credit: int) -> Parameters:
    """The parameters of a bandit under a credit."""
    contexts, proposals, _, _ = space.shape
    rule = rule_of(bandit)
    first, second = rule.numbers(bandit, proposals)
    intended = np.full(proposals, -2) if space.intended is None else np.array(space.intended)
    intent, observed = np.zeros(contexts, dtype=np.int64), np.full(contexts, np.nan)
    if isinstance(bandit, CausalTS):
        intent = intents(space, bandit.name)
        if bandit.observed is not None:
            seen = bandit.seen(space)
            observed = seen @ gain(space) / seen.sum(axis=1)
    return Parameters(
        rule.number,
        credit,
        gain(space),
        intended.astype(np.int64),
        rule.table(bandit, space).ravel(),
        float(first),
        float(second),
        intent,
        observed,
    )


def size(policy: Bandit | Protocol, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, proposals, _, levels = space.shape
    return 1, contexts * proposals * levels


def begin(state: State, shape: Number, parameters: Number) -> None:
    """The table to begin with."""
    counts, real, column = state
    counts[TICKET, column] = 0
    for cell in range(shape[0] * rows(shape)):
        real[cell, column] = parameters.table[cell]


def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """What the rule plays."""
    player = Player(parameters.rule, parameters.credit, x * rows(shape), x)
    return choose(state, player, shape, parameters, moment)


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """The reward goes to the arm that the credit names."""
    if event.y != UNSEEN:
        player = Player(parameters.rule, parameters.credit, event.x * rows(shape), event.x)
        absorb(state, player, event, 1.0, shape, parameters)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """An outcome that comes later counts like one that comes at once."""
    learn(state, event, shape, parameters, moment)
