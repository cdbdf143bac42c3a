"""One replication in which units have covariates, whatever the policy; `driver` is the one for those without.

Policies that learn from covariates are given a `Unit` wherever others are given a context: as x of `propose`, and as x
of an event. Others are given the context alone, as ever.
"""

import numpy as np

from takeup.simulation.kernels.machine import UNSEEN, Number, inlined
from takeup.simulation.kernels.streams import ATTEMPT, PATIENT, words
from takeup.simulation.kernels.tables import KernelInput, KernelOutput, Observation, Replication, State
from takeup.simulation.kernels.uniform import begin, learn, propose, reveal
from takeup.simulation.kernels.units import Unit, UnitMemory, appraise, meet, places, respond

WAITING = False
"""Whether anything reaches the policy later than at once."""

COVARIATES = True
"""Whether the policy learns from covariates."""


@inlined
def ask(state: State, x: Number, given: KernelInput, memory: UnitMemory, moment: Number, chance: Number) -> Number:
    """What the policy proposes to who is in the room."""
    if COVARIATES:
        return propose(state, Unit(x, memory.room), given.shape, given.parameters, moment, chance)
    return propose(state, x, given.shape, given.parameters, moment, chance)


@inlined
def tell(state: State, event: Observation, given: KernelInput, memory: UnitMemory, moment: Number) -> None:
    """The policy hears of the decision for who is in the room."""
    if COVARIATES:
        met = Observation(Unit(event.x, memory.room), event.z, event.a, event.y)
        learn(state, met, given.shape, given.parameters, moment)
    else:
        learn(state, event, given.shape, given.parameters, moment)


def tell_outcome(state: State, event: Observation, given: KernelInput, memory: UnitMemory, moment: Number) -> None:
    """The policy hears of the outcome of a decision that it was told of."""
    if COVARIATES:
        met = Observation(Unit(event.x, memory.room), event.z, event.a, event.y)
        reveal(state, met, given.shape, given.parameters, moment)
    else:
        reveal(state, event, given.shape, given.parameters, moment)


def deliver(step: Number, scenario: Number, given: KernelInput, memory: UnitMemory, moment: Number) -> None:
    """Bring the policy up to date before decision `step`, if a batch ends here, as in `driver`.

    Whom it is told of is met again.
    """
    visibility, shape, population = given.visibility, given.shape, given.scenarios.population
    if step % visibility.batch != 0 or step == 0:
        return
    state, ring = State(memory.counts, memory.real, 0), memory.ring
    before = step - visibility.batch
    for i in range(max(0, before - visibility.delay), step):
        known = i < step - visibility.delay
        if i < before and not known:
            continue
        packed = np.int64(ring[i % ring.shape[0], 0])
        cell = packed >> 1
        y = cell % shape[3] if known else UNSEEN
        cell //= shape[3]
        a = cell % shape[2] if packed & 1 else UNSEEN
        cell //= shape[2]
        event = Observation(cell // shape[1], cell % shape[1], a, y)
        if COVARIATES:
            meet(memory.room, population, scenario, (moment[0], moment[1], moment[2], np.uint32(i)))
        if i >= before:
            tell(state, event, given, memory, moment)
        else:
            tell_outcome(state, event, given, memory, moment)


def replicate(which: Replication, given: KernelInput, memory: UnitMemory, output: KernelOutput) -> None:
    """Run one replication, and record it in its row of the output."""
    scenario, row, number = which
    shape, truths = given.shape, given.scenarios
    proposals, levels = shape[1], shape[3]
    joint = shape[2] * levels
    room, state = memory.room, State(memory.counts, memory.real, 0)
    values = places(shape, truths)[2]
    begin(state, shape, given.parameters)
    recorded, regret = 0, 0.0
    key_0, key_1 = truths.key[scenario, 0], truths.key[scenario, 1]
    for step in range(given.horizon):
        moment = (key_0, key_1, np.uint32(number), np.uint32(step))
        if WAITING:
            deliver(step, scenario, given, memory, moment)
        hidden, action, reported, chance = words(moment, PATIENT, ATTEMPT)
        met = meet(room, truths.population, scenario, moment)
        best = appraise(room, shape, met, scenario, truths)
        z = ask(state, met[0], given, memory, moment, chance)
        a, y = respond(room, shape, met, scenario, (z, hidden, action), truths)
        here = met[0] * proposals + z
        seen = np.uint64(reported) < given.visibility.threshold
        if WAITING:
            packed = 2 * (here * joint + a * levels + y) + (1 if seen else 0)
            memory.ring[step % memory.ring.shape[0], 0] = np.uint32(packed)
        else:
            tell(state, Observation(met[0], z, a if seen else UNSEEN, y), given, memory, moment)
        output.pulls[scenario, row, here] += 1
        regret += best - room[np.uintp(values + z)]
        if recorded < output.steps.size and output.steps[recorded] == step + 1:
            output.regret[scenario, row, recorded] = regret
            recorded += 1


def replicate_many(
    start: Replication, count: Number, given: KernelInput, memory: UnitMemory, output: KernelOutput
) -> None:
    """Run `count` replications from `start` on, one after the other."""
    for i in range(count):
        replicate(Replication(start.scenario, start.row + i, start.number + i), given, memory, output)
