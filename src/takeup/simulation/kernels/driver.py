"""One replication, whatever the policy: meet a patient, propose, see what happens, learn, count.

The policy's four functions are those of `uniform` in this file as it stands; `compile` binds them to those of another
policy's file, and sets WAITING, KEEPING and CHANGING, so that what is not used is not compiled.
"""

import numpy as np

from takeup.simulation.kernels.machine import UNSEEN, Array, Number, inlined, times_double
from takeup.simulation.kernels.streams import ATTEMPT, PATIENT, below, words
from takeup.simulation.kernels.tables import KernelInput, KernelMemory, KernelOutput, Observation, Replication, State
from takeup.simulation.kernels.uniform import begin, learn, propose, reveal

WAITING = False
"""Whether anything reaches the policy later than at once."""

KEEPING = False
"""Whether every decision is kept."""

CHANGING = False
"""Whether any environment changes."""


@inlined
def pick(word: Number, threshold: Array, alias: Array, scenario: Number, start: Number, size: Number) -> Number:
    """The entry of an alias table that a word stands for."""
    j, fraction = below(word, size)
    row, at = np.uintp(scenario), np.uintp(start + j)
    own = np.int64(fraction < threshold[row, at])  # as a factor, 0 or 1: a branch would be a coin toss
    other = np.int64(alias[row, at])
    return other + own * (j - other)


def deliver(step: Number, state: State, ring: Array, given: KernelInput, moment: Number) -> None:
    """Bring the policy up to date before decision `step`, if a batch ends here.

    Of decision i its policy knows proposal and compliance from the first end of a batch after it, and the outcome from
    the first one that is `delay` decisions later. The ring holds (decision, whether compliance was seen), packed.
    """
    visibility, shape = given.visibility, given.shape
    if step % visibility.batch != 0 or step == 0:
        return
    size = ring.shape[0]
    before = step - visibility.batch
    for i in range(max(0, before - visibility.delay), step):
        packed = np.int64(ring[i % size, state.column])
        cell = packed >> 1
        y = cell % shape[3]
        cell //= shape[3]
        a = cell % shape[2] if packed & 1 else UNSEEN
        cell //= shape[2]
        x, z = cell // shape[1], cell % shape[1]
        known = i < step - visibility.delay
        if i >= before:
            learn(state, Observation(x, z, a, y if known else UNSEEN), shape, given.parameters, moment)
        elif known:
            reveal(state, Observation(x, z, a, y), shape, given.parameters, moment)


@inlined
def tally(state: State, first: Number, cells: Number, gap: Array, scenario: Number) -> Number:
    """The regret of the pulls so far, Σ pulls[x, z] gap[x, z], from whole numbers: equal counts give equal bits."""
    total = 0.0
    for cell in range(cells):
        total += times_double(np.float64(state.counts[first + cell, state.column]), gap[scenario, cell])
    return total


def replicate(
    which: Replication, column: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput
) -> None:
    """Run one replication in a column of the memory, and record it in its row of the output."""
    scenario, row, number = which
    shape, scenarios, parameters = given.shape, given.scenarios, given.parameters
    contexts, proposals, levels = shape[0], shape[1], shape[3]
    cells, joint = contexts * proposals, shape[2] * levels
    counts, state = memory.counts, State(memory.counts, memory.real, column)
    first = counts.shape[0] - cells
    for cell in range(cells):
        counts[first + cell, column] = 0
        output.pulls[scenario, row, cell] = 0
    begin(state, shape, parameters)
    recorded, changes, truth, past = 0, 0, np.int64(scenario), 0.0
    due = output.steps[0] if output.steps.size else 0
    key_0, key_1 = scenarios.key[scenario, 0], scenarios.key[scenario, 1]
    for step in range(given.horizon):
        moment = (key_0, key_1, np.uint32(number), np.uint32(step))
        if CHANGING:  # noqa: SIM102  # by itself, so that nothing of it is compiled where nothing changes
            if changes < scenarios.until.shape[1] and step == scenarios.until[scenario, changes]:
                past += tally(state, first, cells, scenarios.gap, truth)
                for cell in range(cells):
                    output.pulls[scenario, row, cell] += counts[first + cell, column]
                    counts[first + cell, column] = 0
                truth = scenarios.becomes[scenario, changes]
                changes += 1
        if WAITING:
            deliver(step, state, memory.ring, given, moment)
        arrival, response, reported, chance = words(moment, PATIENT, ATTEMPT)
        x = 0
        if contexts > 1:
            x = pick(arrival, scenarios.context_threshold, scenarios.context_alias, truth, 0, contexts)
        z = propose(state, x, shape, parameters, moment, chance)
        here = x * proposals + z
        answer = pick(response, scenarios.response_threshold, scenarios.response_alias, truth, here * joint, joint)
        seen = np.uint64(reported) < given.visibility.threshold
        if WAITING:
            packed = 2 * (here * joint + answer) + (1 if seen else 0)
            memory.ring[step % memory.ring.shape[0], column] = np.uint32(packed)
        else:
            a = np.int64(np.uint32(answer) // np.uint32(levels))
            y = answer - a * levels
            learn(state, Observation(x, z, a if seen else UNSEEN, y), shape, parameters, moment)
        counts[np.uintp(first + here), column] += 1
        if KEEPING:
            output.decisions[scenario, row, step] = here * joint + answer
        if step + 1 == due:
            output.regret[scenario, row, recorded] = past + tally(state, first, cells, scenarios.gap, truth)
            recorded += 1
            due = output.steps[recorded] if recorded < output.steps.size else 0
    for cell in range(cells):
        output.pulls[scenario, row, cell] += counts[first + cell, column]


def replicate_many(
    start: Replication, count: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput
) -> None:
    """Run `count` replications from `start` on, one after the other; the CPU's entry."""
    for i in range(count):
        replicate(Replication(start.scenario, start.row + i, start.number + i), 0, given, memory, output)


def replicate_thread(
    i: Number, column: Number, launch: Number, given: KernelInput, memory: KernelMemory, output: KernelOutput
) -> None:
    """Run what is thread i's of a launch (total, count, number) on a GPU: row i mod count of scenario i div count."""
    scenario = i // launch[1]
    row = i - scenario * launch[1]
    replicate(Replication(scenario, row, launch[2] + row), column, given, memory, output)
