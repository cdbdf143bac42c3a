"""One bandit under one credit: the baselines, Protocol, UCB-ITT, UCB-AT and TS^C.

Counts: the ticket. Reals: the bandit's table of every context.
"""

import numpy as np

from takeup.checks import FloatArray
from takeup.policies import EXP3, KLUCB, UCB1, BayesUCB, CausalTS, EpsilonGreedy, Protocol, TopTwo
from takeup.policies.arms import CREDITS, Bandit, gain
from takeup.policies.conjugate import TS
from takeup.policies.indices import IndexBandit
from takeup.policies.intent import intents
from takeup.simulation.kernels import arms
from takeup.simulation.kernels.arms import TICKET, Parameters, absorb, choose, rows
from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined
from takeup.space import Space

_DECAYS = {"none": arms.FIXED, "logarithmic": arms.LOGARITHMIC, "harmonic": arms.HARMONIC}


def parameters(policy: Bandit | Protocol, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    if isinstance(policy, Protocol):
        return of_bandit(policy.base, space, CREDITS.index(policy.credit))
    credit = policy.credit if isinstance(policy, IndexBandit) else "chosen"
    return of_bandit(policy, space, CREDITS.index(credit))


def of_bandit(bandit: Bandit, space: Space, credit: int) -> Parameters:
    """The parameters of a bandit under a credit."""
    contexts, proposals, _, _ = space.shape
    rule, first, second = numbers(bandit, proposals)
    intended = np.full(proposals, -2) if space.intended is None else np.array(space.intended)
    intent, observed = np.zeros(contexts, dtype=np.int64), np.full(contexts, np.nan)
    if isinstance(bandit, CausalTS):
        intent = intents(space, bandit.name)
        if bandit.observed is not None:
            seen = bandit.seen(space)
            observed = seen @ gain(space) / seen.sum(axis=1)
    table = begins_with(bandit, space).ravel()
    return Parameters(
        rule, credit, gain(space), intended.astype(np.int64), table, float(first), float(second), intent, observed
    )


def numbers(bandit: Bandit, proposals: int) -> tuple[int, float, float]:
    """A bandit's rule and its two numbers."""
    if isinstance(bandit, EXP3):
        return arms.EXP3, bandit.step(proposals), bandit.mixing
    if isinstance(bandit, TopTwo):
        return arms.TOP_TWO, bandit.leader, bandit.resamples
    if isinstance(bandit, CausalTS):
        return arms.CAUSAL, 0.0, 0.0
    if isinstance(bandit, EpsilonGreedy):
        return arms.GREEDY, bandit.epsilon, _DECAYS[bandit.decay]
    if isinstance(bandit, UCB1):
        return arms.UCB1, bandit.exploration, 0.0
    if isinstance(bandit, KLUCB):
        return arms.KL_UCB, bandit.constant, 0.0
    if isinstance(bandit, BayesUCB):
        return arms.BAYES_UCB, bandit.alpha, 0.0
    return arms.THOMPSON, 0.0, 0.0


def begins_with(bandit: Bandit, space: Space) -> FloatArray:
    """The table before the first reward: the prior, imagined pulls with the best reward, or nothing."""
    contexts, proposals, _, levels = space.shape
    table = np.zeros((contexts, proposals, levels))
    if isinstance(bandit, TS):
        table += bandit.prior(space).outcome
    elif isinstance(bandit, IndexBandit):
        table[..., int(gain(space).argmax())] = bandit.imagined
    return table


def size(contexts: int, proposals: int, actions: int, levels: int) -> tuple[int, int]:
    """Rows of counts and of reals."""
    return 1, contexts * proposals * levels


def begin(counts: Array, real: Array, column: Number, shape: Number, parameters: Number) -> None:
    """The table to begin with."""
    counts[TICKET, column] = 0
    for cell in range(shape[0] * rows(shape)):
        real[cell, column] = parameters.table[cell]


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
    """What the rule plays."""
    return choose(parameters.rule, counts, real, column, x * rows(shape), x, shape, parameters, moment)


@inlined
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
    """The reward goes to the arm that the credit names."""
    if y != UNSEEN:
        row = x * rows(shape)
        absorb(parameters.rule, parameters.credit, real, column, row, z, a, y, 1.0, shape, parameters)


@inlined
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
    """An outcome that comes later counts like one that comes at once."""
    learn(counts, real, column, x, z, a, y, shape, parameters, moment)
