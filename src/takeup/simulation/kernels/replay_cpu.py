"""Replays on the CPU: blocks of them on threads of one process; a replay depends on the record and its number alone."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.policies import LivePolicy
from takeup.policies.limits import Limits
from takeup.simulation.engine import silent
from takeup.simulation.kernels import comparing, compile_cpu, replay, replay_lanes, replay_limits
from takeup.simulation.kernels.choice import bound, choose
from takeup.simulation.kernels.cpu import spread
from takeup.simulation.kernels.look_tables import FREE, Sharing
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.replay import Pair, Recorded, ReplayMemory
from takeup.simulation.kernels.replay_limits import Limited, LimitedMemory
from takeup.simulation.kernels.tables import Replication
from takeup.space import Space

BLOCK_DECISIONS = 5_000_000
"""About how many decisions a block makes."""


def replay_pair(recorded: Recorded, pair: Pair, replays: int) -> FloatArray:
    """The difference and the score of each replay of two proposals, (R, 2)."""
    compiled = compile_cpu.build(replay.replay_many, {}, {})
    output, none = np.zeros((replays, 2)), np.zeros(0)

    def work(start: Replication, count: int) -> int:
        compiled(start, count, recorded, pair, _memory(recorded, 0, pair.start.size), output, none)
        return count

    _spread(work, replays, recorded)
    return output


def follow_pair(recorded: Recorded, pair: Pair) -> tuple[FloatArray, FloatArray]:
    """The difference and the score of the trial as it was, and the probability of proposal 0 at every decision."""
    compiled = compile_cpu.build(replay.replay_many, {}, {})
    output, share = np.zeros((1, 2)), np.zeros(recorded.context.size)
    compiled(Replication(0, 0, 0), 1, recorded, pair, _memory(recorded, 0, pair.start.size), output, share)
    return output[0], share


def replay_drawn(
    recorded: Recorded, policy: LivePolicy, space: Space, replays: int, *, lanes: bool = True
) -> FloatArray:
    """The difference of each replay of a policy with a kernel, (R, 1); lanes, where there are any, change nothing."""
    kernel = choose(policy, space, waiting=True, recurrence=False)
    parameters, (counts, real) = kernel.parameters(policy, space), kernel.size(policy, space)
    switches = kernel.switches(policy, space) if hasattr(kernel, "switches") else {}
    bind, entry, columns = bound(kernel, policy, parameters), replay.replay_drawn_many, 1
    if lanes and space.shape[0] == 1 and hasattr(kernel, "in_lanes") and kernel.in_lanes(space.shape, parameters):
        bind, columns = bind | {replay_lanes.propose_lanes: kernel.propose_lanes}, LANES
        entry = replay_lanes.replay_lanes
    compiled = compile_cpu.build(entry, bind, switches)
    output = np.zeros((replays, 1))

    def work(start: Replication, count: int) -> int:
        memory = _memory(recorded, counts, real, kernel.REAL, columns)
        compiled(start, count, recorded, space.shape, parameters, memory, output)
        return count

    _spread(work, replays, recorded)
    return output


def replay_limited(recorded: Recorded, limited: Limited, replays: int) -> FloatArray:
    """The difference and the score of each replay of several proposals within limits, (R, 2)."""
    compiled = compile_cpu.build(replay_limits.replay_limited, {}, {})
    output = np.zeros((replays, 2))
    contexts, proposals, _ = limited.prior.shape
    total = float(limited.prior.sum(axis=(1, 2)).max()) + recorded.context.size

    def work(start: Replication, count: int) -> int:
        memory = LimitedMemory(
            np.zeros(limited.prior.shape),
            np.zeros((contexts, proposals)),
            np.zeros(contexts, dtype=np.int64),
            comparing.room(proposals, total, comparing.finest_for(total)),
            np.ones(proposals, dtype=np.int64),
            np.zeros(proposals),
            np.zeros(proposals),
            _memory(recorded, 0, 0),
        )
        compiled(start, count, recorded, limited, memory, output)
        return count

    _spread(work, replays, recorded)
    return output


def limited_by(prior: FloatArray, limits: Limits, units: int) -> Limited:
    """The tables of a trial of so many units, with (a, b) of each context and proposal."""
    proposals = prior.shape[1]
    total = float(prior.sum(axis=(1, 2)).max()) + units
    sharing = Sharing(
        np.full(proposals, 1 / proposals),
        True,
        limits.rule == "proportional",
        np.broadcast_to(np.asarray(limits.floor, dtype=np.float64), proposals).copy(),
        np.broadcast_to(np.asarray(limits.ceiling, dtype=np.float64), proposals).copy(),
        np.ones(1),
        FREE,
    )
    return Limited(np.array(prior, dtype=np.float64), sharing, comparing.grids(0.0, comparing.finest_for(total)))


def _memory(
    recorded: Recorded, counts: int, real: int, kind: type[np.floating[Any]] = np.float64, columns: int = 1
) -> ReplayMemory:
    cells = recorded.weight.size, recorded.fixed.shape[1]
    return ReplayMemory(
        np.zeros((max(counts, 1), columns), dtype=np.int32),
        np.zeros((max(real, 1), columns), dtype=kind),
        np.zeros(recorded.context.size, dtype=np.int64),
        np.zeros(cells, dtype=np.int64),
        np.zeros(cells),
    )


def _spread(work: Callable[[Replication, int], int], replays: int, recorded: Recorded) -> None:
    workers = os.cpu_count() or 1
    most = max(1, BLOCK_DECISIONS // max(1, recorded.context.size))
    block = -(-max(1, min(most, -(-replays // (4 * workers)))) // LANES) * LANES  # whole groups of lanes
    blocks = ((Replication(0, row, row), min(block, replays - row)) for row in range(0, replays, block))
    if replays * recorded.context.size <= BLOCK_DECISIONS:
        for each in blocks:
            work(*each)
    else:
        spread(work, blocks, workers, silent)
