"""TS-Robust: for each implemented action a model of how far proposals share its outcomes, and a draw within it.

The state follows `takeup.inference.pooling`, kept up to date instead of computed anew: an outcome y of (z, a) passes
the sticks 0 .. y, and at each one every model's weights of S are multiplied by the chance of what happened,

    w_S *= (α_j + S + n[z, j]) or (α_>j + κ - S + n[z, >j]),      evidence *= Σ_S w_S / (all four + κ).

As the factor is a line in S, the sum is known from Σ w and Σ S w before, which are kept beside the weights: they are
multiplied and summed up in one pass, scaled so that their sum stays near one.

Where actions are unseen, a chain fills them in (`robust_filling`), and the models are weighed by completed counts.

`robust_tables` says where everything lies. Real numbers are of float64.
"""

import numpy as np
from scipy.special import betaln

from takeup.checks import FloatArray
from takeup.inference import pooling
from takeup.outcomes import Levels
from takeup.policies import TSRobust
from takeup.simulation.kernels.machine import (
    UNSEEN,
    Number,
    inlined,
    one_round,
    times_double,
    times_line,
    times_line_in_vectors,
    vector_of_rounds,
)
from takeup.simulation.kernels.robust_drawing import best, hypothesis
from takeup.simulation.kernels.robust_filling import fill, guess, lay_out
from takeup.simulation.kernels.robust_tables import (
    SUMS,
    Parameters,
    block_of,
    cell,
    complied,
    room,
    stick_size,
    table_size,
    unseen,
)
from takeup.simulation.kernels.robust_weighing import follow, followed, little, sample_sizes, sample_sizes_in_vectors
from takeup.simulation.kernels.tables import Observation, State
from takeup.space import Space

REAL = np.float64

SHAPE = (1, 2, 2, 2)
"""The shape that machine code is made for, where a replication has the memory for itself."""


def _widths(policy: TSRobust, levels: int) -> list[int]:
    """The reals of an action: three a model, then each model's sticks, of which the shared one has none."""
    sticks = [0 if strength == pooling.SHARED else (levels - 1) * stick_size(strength) for strength in policy.models]
    return [3 * len(policy.models), *sticks]


def parameters(policy: TSRobust, space: Space) -> Parameters:
    """The parameters in the layout of the state."""
    prior = policy.prior(space)
    assert prior.compliance is not None
    contexts, proposals, actions, levels = space.shape
    widths = _widths(policy, levels)
    none = np.zeros((contexts, proposals, actions, levels), dtype=np.int64)
    samples = [pooling.weigh(prior.outcome, none, model)[1] for model in policy.models if model != pooling.SHARED]
    evidence = np.zeros((contexts, actions, len(policy.models)))
    sticks = [_with_sums(each).reshape(contexts, actions, -1) for each in samples]
    rows = [evidence, evidence + np.exp(policy.log_prior), evidence + 1.0, *sticks]
    first, others = pooling.sticks(prior.outcome)
    odds, before = _unweighed(policy, first, others, proposals)
    utility = space.reward
    return Parameters(
        np.concatenate(rows, axis=2).ravel(),
        first.ravel(),
        others.ravel(),
        np.ascontiguousarray(prior.outcome).ravel(),
        prior.outcome.mean(axis=1).ravel(),
        np.ascontiguousarray(prior.compliance).ravel(),
        (utility - utility.min()) / (utility.max() - utility.min()),
        np.array(policy.models, dtype=np.int32),
        np.cumsum(widths[:-1]).astype(np.int32),
        odds,
        before,
        policy.log_prior,
        float(policy.sharpness),
        little(float(policy.sharpness)),
        float(policy.caution or 0.0),
        -1 if policy.sweeps is None else int(policy.sweeps),
        sum(widths),
    )


def _unweighed(
    policy: TSRobust, first: FloatArray, others: FloatArray, proposals: int
) -> tuple[FloatArray, FloatArray]:
    """What `robust_weighing` starts from, of α and β of each stick, (X, Ka, Y - 1); see `Parameters`."""
    rows = [np.zeros((*first.shape[:2], 3 * len(policy.models)))]
    before = np.empty((*first.shape[:2], len(policy.models)))
    for m, strength in enumerate(policy.models):
        if strength == pooling.SHARED:
            before[..., m] = -betaln(first, others).sum(axis=-1)
            continue
        nothing, all_beyond = betaln(first, others), betaln(first, others + strength)
        before[..., m] = (all_beyond - nothing - proposals * all_beyond).sum(axis=-1)
        s = np.arange(strength, dtype=np.float64)
        stop, rest = first[..., np.newaxis] + s, others[..., np.newaxis] + strength - s - 1
        odds = (strength - s) / (s + 1) * (rest / stop) ** (proposals - 1)
        odds = np.concatenate([np.ones((*first.shape, 1)), odds], axis=-1)
        rows.append(_with_sums(odds).reshape(*first.shape[:2], -1))
    return np.concatenate(rows, axis=-1).ravel(), before.ravel()


def _with_sums(weights: FloatArray) -> FloatArray:
    """With Σ w and Σ S w in front of the weights of S."""
    moment = weights @ np.arange(weights.shape[-1], dtype=np.float64)
    return np.concatenate([weights.sum(axis=-1)[..., np.newaxis], moment[..., np.newaxis], weights], axis=-1)


def applies(policy: TSRobust, space: Space) -> bool:
    """Where outcomes have levels, all gammas are of shapes of at least one, and no pilot counts by halves."""
    if policy.pilot is not None or not isinstance(space.outcome, Levels):
        return False
    prior = policy.prior(space)
    assert prior.compliance is not None
    return bool(min(prior.outcome.min(), prior.compliance.min()) >= 1)


def size(policy: TSRobust, space: Space) -> tuple[int, int]:
    """Rows of counts and of reals."""
    contexts, _, actions, levels = space.shape
    blocks = 1 + contexts * actions
    return contexts * int(table_size(space.shape)), room(space.shape).block + blocks * sum(_widths(policy, levels))


def begin(state: State, shape: Number, parameters: Number) -> None:
    """Nothing seen yet."""
    counts, real, column = state
    for row in range(shape[0] * table_size(shape)):
        counts[row, column] = 0
    first = block_of(0, 0, shape, parameters)
    for row in range(parameters.start.size):
        real[first + row, column] = parameters.start[row]


@inlined
def propose(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """`decide`, in one column of many."""
    return decide(State(state.counts, state.real[:, state.column], state.column), state, x, shape, parameters, moment)


@inlined
def learn(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """`count`, in one column of many."""
    count(State(state.counts, state.real[:, state.column], state.column), event, shape, parameters)


@inlined
def reveal(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """`tell`, in one column of many."""
    tell(State(state.counts, state.real[:, state.column], state.column), event, shape, parameters)


@inlined
def propose_alone(state: State, x: Number, shape: Number, parameters: Number, moment: Number, chance: Number) -> Number:
    """`decide`, in the only column: numbers lie side by side and are worked on in vectors, and the shape is known."""
    return decide(State(state.counts, state.real.reshape(state.real.size), 0), state, x, SHAPE, parameters, moment)


@inlined
def learn_alone(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """`count`, in the only column."""
    count(State(state.counts, state.real.reshape(state.real.size), 0), event, SHAPE, parameters)


@inlined
def reveal_alone(state: State, event: Observation, shape: Number, parameters: Number, moment: Number) -> None:
    """`tell`, in the only column."""
    tell(State(state.counts, state.real.reshape(state.real.size), 0), event, SHAPE, parameters)


ALONE = {
    propose: propose_alone,
    learn: learn_alone,
    reveal: reveal_alone,
    one_round: vector_of_rounds,
    times_line: times_line_in_vectors,
    sample_sizes: sample_sizes_in_vectors,
}
"""What stands in for what where a replication has the memory for itself."""


@inlined
def decide(state: State, columns: State, x: Number, shape: Number, parameters: Number, moment: Number) -> Number:
    """argmax_z of Σ_a π[z, a] m[z, a], where m[z, a] = Σ_y μ[z, a, y] w_y, in a draw of models, μ and π.

    Here, as in all that follows, the reals of `state` are those of its column alone; `columns` has all of them.
    """
    filled = lay_out(state, x, shape, parameters) and parameters.sweeps >= 0
    if filled:
        guess(state, columns, x, shape, parameters, moment)
    for turn in range(parameters.sweeps + 1 if filled else 1):
        if filled:
            fill(state, x, shape, parameters, moment, turn)
        hypothesis(state, x, filled, shape, parameters, moment, turn)
    return best(state, shape, parameters)


@inlined
def count(state: State, event: Observation, shape: Number, parameters: Number) -> None:
    """One more response to z where a is seen; then what an outcome adds, if it is seen."""
    counts, column = state.counts, state.column
    x, z, a = event.x, event.z, event.a
    if a != UNSEEN:
        counts[complied(x, z, a, shape), column] += 1
    tell(state, event, shape, parameters)


@inlined
def tell(state: State, event: Observation, shape: Number, parameters: Number) -> None:
    """One more outcome of z, or of (z, a) where a is seen: then every model is told."""
    counts, real, column = state
    x, z, a, y = event
    if y == UNSEEN:
        return
    if a == UNSEEN:
        counts[unseen(x, z, y, shape), column] += 1
        return
    block = block_of(x, a, shape, parameters)
    for m in range(parameters.strength.size):
        strength = parameters.strength[m]
        if strength < 0:
            chance = foreseen(state, x, a, y, shape, parameters)
        else:
            chance, start = 1.0, block + parameters.offset[m] + SUMS
            for j in range(min(y + 1, shape[3] - 1)):
                chance *= passed(state, event, j, start, strength, shape, parameters)
                start += stick_size(strength)
        follow(real, block, m, chance, parameters)
    followed(real, block, parameters)
    counts[cell(x, z, a, shape) + y, column] += 1


@inlined
def foreseen(state: State, x: Number, a: Number, y: Number, shape: Number, parameters: Number) -> Number:
    """The chance of outcome y of action a where all proposals share it: (α_y + n[a, y]) / Σ_y (α_y + n[a, y])."""
    counts, column = state.counts, state.column
    first = (x * shape[2] + a) * shape[3]
    this, whole = 0.0, 0.0
    for level in range(shape[3]):
        total = parameters.alpha[first + level]
        for z in range(shape[1]):
            total += np.float64(counts[cell(x, z, a, shape) + level, column])
        whole += total
        if level == y:
            this = total
    return this / whole


@inlined
def passed(
    state: State, event: Observation, j: Number, start: Number, strength: Number, shape: Number, parameters: Number
) -> Number:
    """The chance of what happened at stick j under a model, whose weights of S learn of it."""
    counts, real, column = state
    x, z, a, y = event
    place = (x * shape[2] + a) * (shape[3] - 1) + j
    own = cell(x, z, a, shape)
    stop = parameters.first[place] + np.float64(counts[own + j, column])
    rest = parameters.others[place] + beyond(state, own, j, shape[3])
    before, way = (stop, 1.0) if j == y else (rest + np.float64(strength), -1.0)
    sum_before = real[start - 2]
    total = times_double(before, sum_before) + times_double(way, real[start - 1])
    before, way = before / total, way / total
    end = strength + 1 - (strength + 1) % 4
    real[start - 2], real[start - 1] = times_line(real, start, end, before, way)
    for s in range(end, strength + 1):
        weight = times_double(real[start + s], before + times_double(way, np.float64(s)))
        real[start + s] = weight
        real[start - 2] += weight
        real[start - 1] += times_double(weight, np.float64(s))
    return total / (sum_before * (stop + rest + np.float64(strength)))


@inlined
def beyond(state: State, start: Number, j: Number, levels: Number) -> Number:
    """How many outcomes of the cells from `start` on are of a level above j."""
    counts, column = state.counts, state.column
    total = np.int64(0)
    for level in range(j + 1, levels):
        total += counts[start + level, column]
    return np.float64(total)
