"""TS-Robust: a draw of models, outcomes and compliance, given completed counts and the blocks of models.

The models are drawn first; then it is known which gammas are needed, and all of them are drawn in one loop, whose body
the compiler turns into SIMD instructions. Two make the break of a stick, or a pair of a row of responses.
"""

import math

import numpy as np

from takeup.simulation.kernels.gammas import ONE, ZERO, accepted, cubed, gamma_pair, normal_pair, scale, settled
from takeup.simulation.kernels.machine import Array, Number, either, inlined, one_round, times, times_double
from takeup.simulation.kernels.robust_tables import MODELS, SUMS, Room, above, block_of, pairs_of, room, stick_size
from takeup.simulation.kernels.robust_weighing import contradiction, judge, keep_logs, weigh
from takeup.simulation.kernels.streams import ATTEMPT, POLICY, uniform, words
from takeup.simulation.kernels.tables import State

_THIRD = 0.3333333333333333


@inlined
def hypothesis(
    state: State, x: Number, filled: Number, shape: Number, parameters: Number, moment: Number, turn: Number
) -> None:
    """A draw of models, μ and π given the completed counts; `filled` says that actions were filled in."""
    at, actions = room(shape), shape[2]
    less = 0.0
    if parameters.caution > 0.0:
        less = times_double(parameters.caution, contradiction(state, x, shape, parameters))
    kept, count = math.exp(-less) if less > 0.0 else 1.0, 0
    draw_chances(state, at, actions * (shape[3] - 1), moment, turn)
    for a in range(actions):
        block = block_of(x, a, shape, parameters)
        if filled:
            block = at.block
            weigh(state, x, a, shape, parameters)
            judge(state.real, block, 0.0, parameters)
        count = lay_outcomes(state, x, a, block, (less, kept), count, shape, parameters)
    count = lay_responses(state, x, count, shape, parameters)
    draw_pairs(state, at, count, moment, turn * pairs_of(shape))
    count = 0
    for a in range(actions):
        count = read_outcomes(state, a, count, filled, shape, parameters)
    read_responses(state, count, shape, parameters)


@inlined
def draw_chances(state: State, at: Room, many: Number, moment: Number, turn: Number) -> None:
    """Uniform numbers for the models and for S, of every stick of every action; a vector of them at a time."""
    values, row = state.real, np.uintp(at.chances)
    for i in range(many):
        one, other, _, _ = words(moment, POLICY + MODELS + np.uint32(turn * many + i), ATTEMPT)
        values[row + np.uintp(i)] = uniform(one)
        values[row + np.uintp(many + i)] = uniform(other)


@inlined
def lay_outcomes(
    state: State,
    x: Number,
    a: Number,
    block: Number,
    doubt: Number,
    count: Number,
    shape: Number,
    parameters: Number,
) -> Number:
    """Draw a model for action a, and lay out the pairs that break its sticks; how many pairs there are by now.

    Where all is shared, a stick has one pair, else one for each proposal.
    """
    real = state.real
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape)
    chances = at.chances + a * (levels - 1)
    model = pick_model(state, block, doubt, real[chances], parameters)
    strength = parameters.strength[model]
    real[at.shared + a] = 1.0 if strength < 0 else 0.0
    for j in range(levels - 1):
        place = (x * actions + a) * (levels - 1) + j
        first, others = parameters.first[place] - _THIRD, parameters.others[place] - _THIRD
        if strength > 0:
            start = block + parameters.offset[model] + j * stick_size(strength)
            chance = times_double(real[chances + actions * (levels - 1) + j], real[start])
            stopped = pick(state.real, start + SUMS, strength, chance)
            first += np.float64(stopped)
            others += np.float64(strength - stopped)
        if strength < 0:
            for z in range(proposals):
                start = at.table + (z * actions + a) * levels
                first += real[start + j]
                others += above(state, start, j, levels)
            count = lay(state, at, count, first, others)
        else:
            for z in range(proposals):
                start = at.table + (z * actions + a) * levels
                one, other = real[start + j], above(state, start, j, levels)
                count = lay(state, at, count, first + one, others + other)
    return count


@inlined
def lay_responses(state: State, x: Number, count: Number, shape: Number, parameters: Number) -> Number:
    """Lay out the gammas of each proposal's responses, two and two; an odd last one has none beside it."""
    real = state.real
    proposals, actions = shape[1], shape[2]
    at = room(shape)
    for z in range(proposals):
        for a in range(0, actions, 2):
            shapes, made = (x * proposals + z) * actions + a, at.made + z * actions + a
            other = 0.0
            if a + 1 < actions:
                other = parameters.beta[shapes + 1] + real[made + 1] - _THIRD
            count = lay(state, at, count, parameters.beta[shapes] + real[made] - _THIRD, other)
    return count


@inlined
def place_of(at: Room, pair: Number) -> Number:
    """Where the first gamma of a pair is; the second is two rounds behind it.

    Pairs 2 b and 2 b + 1 have block b of words. So many blocks as a vector has make a group, in four rows: the first
    gammas of the pairs 2 b, those of the pairs 2 b + 1, and their second ones.
    """
    rounds, block = one_round(), pair // 2
    return at.pairs + (block // rounds) * 4 * rounds + (pair % 2) * rounds + block % rounds


@inlined
def lay(state: State, at: Room, count: Number, one: Number, other: Number) -> Number:
    """One more pair of gammas of shapes d + 1/3; how many there are now."""
    place = place_of(at, count)
    state.real[place] = one
    state.real[place + 2 * one_round()] = other
    return count + 1


@inlined
def draw_pairs(state: State, at: Room, count: Number, moment: Number, slot: Number) -> None:
    """Gammas in the place of all d."""
    values, rounds = state.real, one_round()
    groups = ((count + 1) // 2 + rounds - 1) // rounds
    for i in range(count, 2 * groups * rounds):
        lay(state, at, i, 1.0, 1.0)
    row, refused = np.uintp(rounds), np.int32(0)
    for group in range(groups):
        first, first_slot = np.uintp(at.pairs + 4 * rounds * group), POLICY + np.uint32(slot + rounds * group)
        for i in range(rounds):
            place = first + np.uintp(i)
            w_0, w_1, w_2, w_3 = words(moment, first_slot + np.uint32(i), ATTEMPT)
            one, other = drawn(values[place], values[place + row + row], w_0, w_1)
            refused += np.int32(one < 0.0)
            values[place] = one
            values[place + row + row] = other
            place += row
            one, other = drawn(values[place], values[place + row + row], w_2, w_3)
            refused += np.int32(one < 0.0)
            values[place] = one
            values[place + row + row] = other
    i = 0
    while refused > 0 and i < count:
        # each goes on to its own next one first, so that the threads of a GPU settle theirs together
        while i < count and values[place_of(at, i)] >= 0.0:
            i += 1
        if i < count:
            settle(values, place_of(at, i), i, moment, slot)
            i, refused = i + 1, refused - 1


def settle(values: Array, place: Number, pair: Number, moment: Number, slot: Number) -> None:
    """A pair that the squeeze did not accept."""
    behind = place + 2 * one_round()
    d = (np.float32(-values[place]), np.float32(-values[behind]))
    w_0, w_1, w_2, w_3 = words(moment, POLICY + np.uint32(slot + pair // 2), ATTEMPT)
    word = (w_2, w_3) if pair % 2 == 1 else (w_0, w_1)
    t_1, t_2 = settled(d, (width(d[0]), width(d[1])), word, moment, slot + pair)
    values[place] = np.float64(cubed(d[0], t_1))
    values[behind] = np.float64(cubed(d[1], t_2))


@inlined
def width(d: Number) -> Number:
    """The `scale` of a gamma; of one that is not there, zero."""
    return either(d > ZERO, scale(either(d > ZERO, d, ONE)), ZERO)


@inlined
def drawn(one: Number, other: Number, radius: Number, angle: Number) -> Number:
    """Two gammas of shapes d + 1/3; minus both d where the squeeze does not accept."""
    d_1, d_2 = np.float32(one), np.float32(other)
    x_1, x_2 = normal_pair(radius, angle)
    t_1, t_2 = times(width(d_1), x_1), times(width(d_2), x_2)
    squeezed = accepted(d_1, d_2, t_1, t_2, angle)
    return (
        np.float64(either(squeezed, cubed(d_1, t_1), -d_1)),
        np.float64(either(squeezed, cubed(d_2, t_2), -d_2)),
    )


@inlined
def read_outcomes(state: State, a: Number, count: Number, filled: Number, shape: Number, parameters: Number) -> Number:
    """The mean utility of action a under every proposal, and μ where it is to fill in by; how many pairs were read."""
    real = state.real
    proposals, actions, levels = shape[1], shape[2], shape[3]
    at = room(shape)
    own = 1 if real[at.shared + a] > 0.0 else proposals
    for z in range(own):
        mean, left, pair = 0.0, 1.0, count + z
        law = at.law + (z * actions + a) * levels
        for j in range(levels - 1):
            place = place_of(at, pair)
            stop, rest = real[place], real[place + 2 * one_round()]
            left /= stop + rest
            chance = times_double(left, stop)
            if filled:
                real[law + j] = chance
            mean += times_double(chance, parameters.weight[j])
            left = times_double(left, rest)
            pair += own
        if filled:
            real[law + levels - 1] = left
        real[at.means + z * actions + a] = mean + times_double(left, parameters.weight[levels - 1])
    for z in range(own, proposals):
        if filled:
            for y in range(levels):
                real[at.law + (z * actions + a) * levels + y] = real[at.law + a * levels + y]
        real[at.means + z * actions + a] = real[at.means + a]
    return count + (levels - 1) * own


@inlined
def read_responses(state: State, count: Number, shape: Number, parameters: Number) -> None:
    """π of every proposal, but for a factor."""
    real = state.real
    actions = shape[2]
    at = room(shape)
    for z in range(shape[1]):
        pair = count + z * ((actions + 1) // 2)
        for a in range(actions):
            real[at.follow + z * actions + a] = real[place_of(at, pair + a // 2) + (a % 2) * 2 * one_round()]


@inlined
def pick_model(state: State, block: Number, doubt: Number, chance: Number, parameters: Number) -> Number:
    """A model by its probability, those that share discounted: `doubt` is what is taken off their logarithm, and e^-it.

    The probabilities are relative to the greatest before the discount. Where that leaves next to nothing, they are
    judged again, so that the discount cancels where it is the same for all that are left.
    """
    real = state.real
    models = parameters.strength.size
    less, kept = doubt
    total = 0.0
    for m in range(models):
        total += times_double(real[block + models + m], either(parameters.strength[m] != 0, kept, 1.0))
    if total < 1e-100:
        keep_logs(state.real, block, parameters)
        judge(state.real, block, less, parameters)
        found = pick(state.real, block + models, models - 1, chance)
        judge(state.real, block, 0.0, parameters)
        return found
    left = times_double(chance, total)
    for m in range(models - 1):
        left -= times_double(real[block + models + m], either(parameters.strength[m] != 0, kept, 1.0))
        if left < 0.0:
            return m
    return models - 1


@inlined
def pick(real: Array, start: Number, last: Number, chance: Number) -> Number:
    """A number from 0 to `last`, from probabilities that lie in the reals from `start` on.

    Eight at a time while it is none of them: a number by itself would have to wait for the one before.
    """
    left, i, row = chance, 0, np.uintp(start)
    while i + 8 <= last:
        eight = _sum_of_four(real, row + np.uintp(i)) + _sum_of_four(real, row + np.uintp(i + 4))
        if left < eight:
            break
        left -= eight
        i += 8
    while i < last:
        left -= real[row + np.uintp(i)]
        if left < 0.0:
            return i
        i += 1
    return last


@inlined
def _sum_of_four(real: Array, at: Number) -> Number:
    one, two, three = at + np.uintp(1), at + np.uintp(2), at + np.uintp(3)
    return (real[at] + real[one]) + (real[two] + real[three])


def stick(first: Number, others: Number, moment: Number, pair: Number) -> Number:
    """A Beta(first, others) draw; float64."""
    radius, angle, _, _ = words(moment, POLICY + np.uint32(pair), ATTEMPT)
    d_1, d_2 = np.float32(first - _THIRD), np.float32(others - _THIRD)
    g_1, g_2 = gamma_pair((d_1, d_2), (scale(d_1), scale(d_2)), (radius, angle), moment, pair)
    stop, rest = np.float64(g_1), np.float64(g_2)
    return stop / (stop + rest)


@inlined
def best(state: State, shape: Number, parameters: Number) -> Number:
    """The proposal that is worth the most in the hypothesis."""
    real = state.real
    at = room(shape)
    found, highest = 0, -1.0
    for z in range(shape[1]):
        value, whole = 0.0, 0.0
        for a in range(z * shape[2], (z + 1) * shape[2]):
            value += times_double(real[at.follow + a], real[at.means + a])
            whole += real[at.follow + a]
        value /= whole
        if value > highest:
            found, highest = z, value
    return found
