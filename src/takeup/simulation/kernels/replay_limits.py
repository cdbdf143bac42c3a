"""Replays of more than two proposals within limits: TS with two outcomes, by the quadrature of `comparing`.

The probability that each proposal is best is right to about 1e-5; it is brought within the limits and drawn from, as a
live trial does. It is computed anew where a context has heard of more since.
"""

import math
from typing import NamedTuple

import numpy as np

from takeup.simulation.kernels.comparing import Densities, Grids, largest, lay_out_all
from takeup.simulation.kernels.look_sharing import allocate
from takeup.simulation.kernels.look_tables import NONE, Sharing
from takeup.simulation.kernels.machine import Array, Number, maker
from takeup.simulation.kernels.replay import ASKED, Recorded, ReplayMemory, difference
from takeup.simulation.kernels.streams import ATTEMPT, PATIENT, uniform, words
from takeup.simulation.kernels.tables import Replication


class Limited(NamedTuple):
    """How proposals are allocated.

    Attributes:
        prior: (a, b) of each context and proposal, a being of the better outcome, (X, K, 2).
        sharing: the limits.
        grids: what densities are laid out on.
    """

    prior: Array
    sharing: Sharing
    grids: Grids


class LimitedMemory(NamedTuple):
    """Where one replay works.

    Attributes:
        shapes: (a, b) as it is, (X, K, 2).
        shares: the probabilities of each context, (X, K).
        stale: whether those are to be computed anew, (X,).
        densities: room.
        offered: all of them, (K,).
        wish: the probability that each is best, (K,).
        share: the probability that each is proposed, (K,).
        trial: what was proposed, and what came of it.
    """

    shapes: Array
    shares: Array
    stale: Array
    densities: Densities
    offered: Array
    wish: Array
    share: Array
    trial: ReplayMemory


@maker
def replay(number: Number, recorded: Recorded, limited: Limited, memory: LimitedMemory) -> Number:
    """Replay the trial once; the sum of the score, and its variance if nothing has an effect."""
    contexts, proposals = memory.shares.shape
    learned, score, variance, one, other = 0, 0.0, 0.0, recorded.one, recorded.other
    for x in range(contexts):
        memory.stale[x] = 1
        for k in range(proposals):
            memory.offered[k] = 1
            memory.shapes[x, k, 0], memory.shapes[x, k, 1] = limited.prior[x, k, 0], limited.prior[x, k, 1]
    for t in range(recorded.context.size):
        while learned < recorded.known[t]:
            i = recorded.order[learned]
            memory.shapes[recorded.context[i], memory.trial.proposal[i], recorded.outcome[i]] += 1.0
            memory.stale[recorded.context[i]] = 1
            learned += 1
        x = recorded.context[t]
        asked = recorded.fixed[t, 0] == ASKED
        if asked and memory.stale[x]:
            lay_out_all(memory.densities, memory.shapes[x], memory.offered, limited.grids)
            largest(memory.densities, memory.offered, memory.wish)
            allocate(0, NONE, limited, memory)  # type: ignore[arg-type]  # it reads what these have, too
            for k in range(proposals):
                memory.shares[x, k] = memory.share[k]
            memory.stale[x] = 0
        word = words((recorded.key[0], recorded.key[1], np.uint32(number), np.uint32(t)), PATIENT, ATTEMPT)[3]
        row, at = (memory.shares, x) if asked else (recorded.fixed, np.int64(t))
        z, mark = np.int64(0), uniform(word) - row[at, 0]
        while mark >= 0.0 and z < proposals - 1:
            z += 1
            mark -= row[at, z]
        memory.trial.proposal[t] = z
        apart, residual = row[at, one] - row[at, other], recorded.residual[t]
        score += residual * ((1.0 if z == one else 0.0) - (1.0 if z == other else 0.0) - apart)
        variance += residual * residual * (row[at, one] + row[at, other] - apart * apart)
    return score, variance


def replay_limited(
    start: Replication, count: Number, recorded: Recorded, limited: Limited, memory: LimitedMemory, output: Array
) -> None:
    """Replay so many times from `start` on: the difference, and the score in units of its error."""
    for i in range(count):
        score, variance = replay(start.number + i, recorded, limited, memory)
        output[start.row + i, 0] = difference(recorded, memory.trial)
        output[start.row + i, 1] = score / math.sqrt(variance) if variance > 0.0 else 0.0
