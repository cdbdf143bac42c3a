"""Two outcomes and what was done: how many of those who were offered each proposal did what, and how they fared.

The statistic is n[z, a, y], with a and y in the columns, a 2 + y. It is read by what was proposed, as in `look_rates`,
or by those alone who complied, as TS-Check does.
"""

from typing import NamedTuple

from takeup.simulation.kernels.binomials import binomial
from takeup.simulation.kernels.comparing import Grids, largest, lay_out_all
from takeup.simulation.kernels.look_tables import LookInput, LookMemory
from takeup.simulation.kernels.machine import Array, Number


class Responses(NamedTuple):
    """The truth: what is done and what comes of it.

    Attributes:
        taken: P(a given z), among those who do none of the actions before a, (E, K, Ka).
        success: P(better outcome given z, a), (E, K, Ka).
        good: the index of the better outcome.
    """

    taken: Array
    success: Array
    good: Number


class Complying(NamedTuple):
    """What TS-Check believes before any data, and TS where the rules read something else.

    Attributes:
        prior: (a, b) of each proposal among those who comply, (K, 2).
        intended: the action that complying means, (K,).
        grids: where densities are laid out.
    """

    prior: Array
    intended: Array
    grids: Grids


def respond(
    k: Number, units: Number, known: Number, row: Number, moment: Number, given: LookInput, memory: LookMemory
) -> None:
    """What those do who are offered proposal k, and how many of them succeed, which is known from a look on.

    Where all comply the draws are those of `look_rates`, slot by slot.
    """
    proposals, actions = memory.known.shape[0], memory.known.shape[1] // 2
    waiting, good, left = memory.waiting, given.truth.good, units
    for a in range(actions):
        did = binomial(left, given.truth.taken[row, k, a], moment, 2 * (k + proposals * (a + 1)))
        left -= did
        slot = 2 * (k + proposals * ((a + actions - k % actions) % actions)) + 1
        successes = binomial(did, given.truth.success[row, k, a], moment, slot)
        waiting[known, k, 2 * a + good] += successes
        waiting[known, k, 2 * a + 1 - good] += did - successes


def outcomes_of(z: Number, a: Number, given: LookInput, memory: LookMemory) -> Number:
    """How many of those who were told z and did a had the better outcome, and how many had not."""
    good = given.truth.good
    return memory.known[z, 2 * a + good], memory.known[z, 2 * a + 1 - good]


def parameters(k: Number, given: LookInput, memory: LookMemory) -> Number:
    """Of the beta distribution of the value of a proposal, whatever those did who were offered it."""
    return proposed(k, given.reading.prior, given, memory)


def proposed(k: Number, prior: Array, given: LookInput, memory: LookMemory) -> Number:
    """The same with a prior, (a, b) of each proposal."""
    one, other = prior[k, 0], prior[k, 1]
    for a in range(memory.known.shape[1] // 2):
        better, worse = outcomes_of(k, a, given, memory)
        one, other = one + better, other + worse
    return one, other


def complied(k: Number, given: LookInput, memory: LookMemory) -> Number:
    """Of the beta distribution of the outcomes of those who did what was proposed."""
    better, worse = outcomes_of(k, given.policy.intended[k], given, memory)
    return given.policy.prior[k, 0] + better, given.policy.prior[k, 1] + worse


def all_counted(k: Number, given: LookInput, memory: LookMemory) -> Number:
    """What TS has instead of `complied`: of the outcomes of all who were offered the proposal."""
    return proposed(k, given.policy.prior, given, memory)


def wish(look: Number, scenario: Number, number: Number, given: LookInput, memory: LookMemory) -> None:
    """TS-Check: as probable as each is best among those who comply."""
    work = memory.policy
    for k in range(memory.known.shape[0]):
        work.shapes[k, 0], work.shapes[k, 1] = complied(k, given, memory)
    lay_out_all(work.densities, work.shapes, memory.offered, given.policy.grids)
    largest(work.densities, memory.offered, memory.wish)
