"""One trial with looks: between two looks the probabilities stay, so that what happens there is a few draws.

A piece is a number of units that are randomised under one vector of probabilities and whose outcomes are known from one
look on; what a trial knows at a look is the sum of the pieces that are known by then. The statistic, how it is drawn
and how it is read are those of `look_rates` in this file as it stands; `compile` binds them to another file's.
"""

from takeup.policies.judging import GOING_ON, MAXIMUM
from takeup.simulation.kernels.look_judging import judge, judge_control
from takeup.simulation.kernels.look_rates import draw, read, wish
from takeup.simulation.kernels.look_sharing import allocate, keep
from takeup.simulation.kernels.look_tables import NONE, LookInput, LookMemory, LookOutput
from takeup.simulation.kernels.look_units import draw_units, learn
from takeup.simulation.kernels.machine import Number
from takeup.simulation.kernels.tables import Replication

CONTROLLED = False
"""Whether there is a control."""
BY_UNIT = False
"""Whether probabilities change after every outcome."""


def replicate(which: Replication, given: LookInput, memory: LookMemory, output: LookOutput) -> None:
    """Run one trial, and record it in its row of the output."""
    scenario, row, number = which
    begin(which, given, memory, output)
    looks = given.schedule.at.size
    status, look, control, chosen = GOING_ON, 0, given.control, NONE
    while status == GOING_ON:
        if BY_UNIT:
            draw_units(look, control, which, given, memory)
        else:
            draw_pieces(look, control, which, given, memory)
        read(look, scenario, number, given, memory)
        if CONTROLLED:
            status, control, chosen = judge_control(look, control, which, given, memory, output)
        else:
            status, chosen = judge(look, which, given, memory, output)
        if status == GOING_ON:
            look += 1
            if look == looks:
                status, look = MAXIMUM, looks - 1
    output.status[scenario, row], output.look[scenario, row] = status, look
    output.chosen[scenario, row] = control if chosen == NONE else chosen
    for k in range(memory.known.shape[0]):
        for column in range(memory.known.shape[1]):
            total = memory.known[k, column]
            for slot in range(memory.waiting.shape[0]):
                total += memory.waiting[slot, k, column]
            output.statistic[scenario, row, k, column] = total


def draw_pieces(look: Number, control: Number, which: Replication, given: LookInput, memory: LookMemory) -> None:
    """Randomise the units between two looks, with what was known at the first of them."""
    schedule, (scenario, _, number) = given.schedule, which
    first = schedule.first[look]
    for piece in range(first, schedule.first[look + 1]):
        if piece == first or piece == schedule.adapted:
            if given.sharing.adaptive and look > 0 and piece >= schedule.adapted:
                wish(look, scenario, number, given, memory)
                allocate(look - 1, control, given, memory)
            else:
                keep(control, given, memory)
        draw(piece, schedule.truth[scenario, piece], number, given, memory)
    learn(look, memory)


def begin(which: Replication, given: LookInput, memory: LookMemory, output: LookOutput) -> None:
    """Nothing known, and everything offered."""
    for k in range(memory.known.shape[0]):
        memory.offered[k] = 1
        output.dropped[which.scenario, which.row, k] = output.reason[which.scenario, which.row, k] = 0
        for column in range(memory.known.shape[1]):
            memory.known[k, column] = 0
            for slot in range(memory.waiting.shape[0]):
                memory.waiting[slot, k, column] = 0


def replicate_many(start: Replication, count: Number, given: LookInput, memory: LookMemory, output: LookOutput) -> None:
    """Run `count` trials from `start` on, one after the other."""
    for i in range(count):
        replicate(Replication(start.scenario, start.row + i, start.number + i), given, memory, output)
