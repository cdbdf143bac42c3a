"""The chains of 32 replications side by side: the numbers of `gibbs`, lane by lane.

All of it lies in the reals of each lane's own context, row r of lane l at r LANES + l: the counts, and behind the rows
beside them the room of a chain. Lanes in which nothing is unseen yet, or too little is known, run along: their counts
are taken for zero, so that their chains end where they began.
"""

import math
from typing import Any

import numpy as np

from takeup.simulation.kernels.gibbs_room import LEAST, Room, rows
from takeup.simulation.kernels.lane_binomials import CHANCE, COUNT, TAKEN, binomial_lanes
from takeup.simulation.kernels.lane_dirichlets import dirichlet_lanes
from takeup.simulation.kernels.lane_slides import slide
from takeup.simulation.kernels.lanes import LaneDraws, Lanes
from takeup.simulation.kernels.latent import block_size, table_size
from takeup.simulation.kernels.machine import LANES, Array, Number, either

_TOTAL = np.uintp(7 * LANES)


def in_lanes(shape: tuple[int, int, int, int], parameters: Any) -> bool:
    """Whether `propose_lanes` can stand in: where no gamma has a shape below one."""
    return bool(min(parameters.alpha.min(), parameters.beta.min()) >= 1)


def propose_lanes(lanes: Lanes, draws: LaneDraws, shape: Number, parameters: Number, moment: Number) -> None:
    """`gibbs.propose` for 32 replications side by side."""
    real, actions, levels = draws.shapes, shape[2], shape[3]
    start, blocks = 2 * table_size(shape), block_size(shape)
    unseen = start + 3 * blocks
    room = Room(
        rows(start),
        rows(start + blocks),
        rows(start + 2 * blocks),
        rows(unseen),
        rows(unseen + shape[1] * levels),
        prepare(real, lanes.x, shape, parameters),
    )
    copy(real, room.rest, room.blocks, rows(blocks))
    world(draws, room, shape, moment, blocks)
    explain(real, room, shape)
    slot = 2 * blocks
    for sweep in range(parameters.sweeps):
        world(draws, room, shape, moment, slot)
        slot += blocks
        for a in range(actions):
            b = (a + 1 + sweep % (actions - 1)) % actions
            slide(draws, room, (a, b), shape, moment, slot + a)
        slot += actions
        copy(real, room.rest, room.blocks, rows(blocks))
        for z in range(shape[1]):
            for y in range(levels):
                share(draws, room, (z, y), shape, moment, slot)
                slot += actions - 1
    world(draws, room, shape, moment, 0)
    decide(real, room, shape, parameters, lanes.z)


def prepare(real: Array, x: Array, shape: Number, parameters: Number) -> Number:
    """What the blocks rest on, and how many are unseen, where a lane is ready for it; whether all of it is flat."""
    cells, outcomes, blocks = shape[1] * shape[3], shape[2] * shape[3], block_size(shape)
    rest, last = 2 * table_size(shape) + 2 * blocks, table_size(shape) - 1
    unseen, flat = rest + blocks, True
    for lane in range(LANES):
        ready = 1.0 if real[last * LANES + lane] >= parameters.soft_start else 0.0
        for i in range(cells):
            real[(unseen + i) * LANES + lane] = ready * real[i * LANES + lane]
        for i in range(blocks):
            if i < outcomes:
                prior = parameters.alpha[x[lane] * outcomes + i]
            else:
                prior = parameters.beta[x[lane] * (blocks - outcomes) + i - outcomes]
            base = prior + ready * real[(cells + i) * LANES + lane]
            real[(rest + i) * LANES + lane] = base
            flat = flat and base == 1.0
    return flat


def copy(real: Array, source: Number, target: Number, length: Number) -> None:
    """Rows to other rows."""
    for i in range(length):
        real[target + np.uintp(i)] = real[source + np.uintp(i)]


def world(draws: LaneDraws, room: Room, shape: Number, moment: Number, slot: Number) -> None:
    """A draw of μ and π from the blocks."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    outcomes = actions * levels
    for row in range(0, outcomes, levels):
        dirichlet_lanes(draws, room.blocks + rows(row), room.world + rows(row), levels, moment, slot + row)
    for row in range(outcomes, outcomes + proposals * actions, actions):
        dirichlet_lanes(draws, room.blocks + rows(row), room.world + rows(row), actions, moment, slot + row)


def explain(real: Array, room: Room, shape: Number) -> None:
    """The start of a chain: every unseen patient at the action under which the outcome is likeliest."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    for y in range(levels):
        for lane in range(LANES):
            likeliest = 0
            for a in range(1, actions):
                here, there = rows(a * levels + y) + lane, rows(likeliest * levels + y) + lane
                if real[room.world + here] > real[room.world + there]:
                    likeliest = a
            for z in range(proposals):
                n = real[room.unseen + rows(z * levels + y) + lane]
                real[room.blocks + rows(likeliest * levels + y) + lane] += n
                real[room.blocks + rows(actions * levels + z * actions + likeliest) + lane] += n


def decide(real: Array, room: Room, shape: Number, parameters: Number, z: Array) -> None:
    """argmax_z of Σ_a π[z, a] Σ_y μ[a, y] r_y."""
    proposals, actions, levels = shape[1], shape[2], shape[3]
    for lane in range(LANES):
        best, best_value = 0, -math.inf
        for a in range(actions):
            mean = 0.0
            for y in range(levels):
                mean += real[room.world + rows(a * levels + y) + lane] * parameters.utility[y]
            real[room.blocks + rows(a) + lane] = mean
        for proposal in range(proposals):
            value = 0.0
            for a in range(actions):
                pi = real[room.world + rows(actions * levels + proposal * actions + a) + lane]
                value += pi * real[room.blocks + rows(a) + lane]
            if value > best_value:
                best, best_value = proposal, value
        z[lane] = best


def share(draws: LaneDraws, room: Room, cell: Number, shape: Number, moment: Number, slot: Number) -> None:
    """`gibbs.share` for the n of a cell (z, y)."""
    real, spare = draws.shapes, room.spare
    z, y = cell
    actions, levels = shape[2], shape[3]
    unseen, pi = room.unseen + rows(z * levels + y), rows(actions * levels + z * actions)
    count(real, unseen, spare, draws.late.size)
    for a in range(actions):
        weigh(real, room.world + rows(a * levels + y), room.world + pi + rows(a), spare, draws.late.size)
    for a in range(actions - 1):
        odds(real, room.world + rows(a * levels + y), room.world + pi + rows(a), spare)
        binomial_lanes(draws, spare, moment, slot + a)
        give(real, room.blocks + rows(a * levels + y), room.blocks + pi + rows(a), spare)
    leave(real, room.blocks + rows((actions - 1) * levels + y), room.blocks + pi + rows(actions - 1), spare)


def count(real: Array, unseen: Number, spare: Number, lanes: Number) -> None:
    """All of a cell are left, and nothing weighed yet."""
    for i in range(lanes):
        lane = np.uintp(i)
        real[spare + lane + COUNT] = real[unseen + lane]
        real[spare + lane + _TOTAL] = 0.0


def weigh(real: Array, mu: Number, pi: Number, spare: Number, lanes: Number) -> None:
    """The weight of an action, in the total."""
    for i in range(lanes):
        lane = np.uintp(i)
        real[spare + lane + _TOTAL] += real[mu + lane] * real[pi + lane]


def odds(real: Array, mu: Number, pi: Number, spare: Number) -> None:
    """The chance of an action among those that are left, and the rest of the total."""
    for i in range(LANES):
        lane = np.uintp(i)
        weight, total = real[mu + lane] * real[pi + lane], real[spare + lane + _TOTAL]
        real[spare + lane + CHANCE] = weight / either(total > LEAST, total, LEAST)
        real[spare + lane + _TOTAL] = total - weight


def give(real: Array, outcome: Number, response: Number, spare: Number) -> None:
    """The action to those who were drawn."""
    for i in range(LANES):
        lane = np.uintp(i)
        taken = real[spare + lane + TAKEN]
        real[outcome + lane] += taken
        real[response + lane] += taken
        real[spare + lane + COUNT] -= taken


def leave(real: Array, outcome: Number, response: Number, spare: Number) -> None:
    """The last action to those who are left."""
    for i in range(LANES):
        lane = np.uintp(i)
        left = real[spare + lane + COUNT]
        real[outcome + lane] += left
        real[response + lane] += left
