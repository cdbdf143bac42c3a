"""What a look at a trial says, for kernels: `takeup.policies.judging` in a form that compiles.

The reading's functions are those of `look_rates` in this file as it stands; `compile` binds them to another reading's.
"""

from takeup.policies.judging import EQUIVALENT, FUTILE, GOING_ON, INFERIOR, SUPERIOR
from takeup.simulation.kernels.look_rates import close_of, exceeds_of, largest_of, less_of, most_of, within_of
from takeup.simulation.kernels.look_tables import NONE, LookInput, LookMemory, LookOutput
from takeup.simulation.kernels.machine import Array, Number
from takeup.simulation.kernels.tables import Replication

FUTILITY = 1
"""Which margin is meant; 0 is that of equivalence."""
NEVER = 1.0
"""A threshold that no probability is above."""


def judge(look: Number, which: Replication, given: LookInput, memory: LookMemory, output: LookOutput) -> Number:
    """What a look says without a control: status, and the proposal that is superior."""
    offered, best, rules = memory.offered, memory.best, given.thresholds
    while True:
        largest_of(given, memory)
        count, first = leading(offered, best)
        fewer = False
        for k in range(offered.size):
            if offered[k] and k != first and best[k] < rules.inferiority[look]:
                drop(k, look, INFERIOR, which, memory, output)
                fewer = True
        if not fewer:
            break
    note(first, best[first], look, which, output)
    if count == 1 or best[first] > rules.superiority[look]:
        return SUPERIOR, first
    if rules.equivalence[look] >= NEVER:
        return GOING_ON, NONE
    close = within_of(given, memory)
    return (EQUIVALENT if close > rules.equivalence[look] else GOING_ON), NONE


def leading(offered: Array, best: Array) -> Number:
    """How many proposals are offered, and which of them is most probably the best."""
    count, first = 0, NONE
    for k in range(offered.size):
        if offered[k]:
            count += 1
            if first == NONE or best[k] > best[first]:
                first = k
    return count, first


def judge_control(
    look: Number,
    control: Number,
    which: Replication,
    given: LookInput,
    memory: LookMemory,
    output: LookOutput,
) -> Number:
    """What a look says with a control: status, the control from now on, and the proposal that is superior."""
    offered, rules = memory.offered, given.thresholds
    while True:
        first, most = NONE, -1.0
        for k in range(offered.size):
            if offered[k] and k != control:
                better = exceeds_of(k, control, given, memory)
                if better > most:
                    first, most = k, better
                if most_of(k, control, better, given, memory) < rules.inferiority[look]:
                    drop(k, look, INFERIOR, which, memory, output)
        note(first, most, look, which, output)
        if first == NONE or most <= rules.superiority[look]:
            break
        if not given.replaced:
            return SUPERIOR, control, first
        drop(control, look, INFERIOR, which, memory, output)
        control = first
    status = SUPERIOR
    for k in range(offered.size):  # where both leave the control alone, futility is why
        if offered[k] and k != control:
            equal, futile = rules.equivalence[look], rules.futility[look]
            if equal < NEVER and close_of(k, control, given, memory) > equal:
                status = EQUIVALENT if status == SUPERIOR else status
                drop(k, look, EQUIVALENT, which, memory, output)
            elif futile < NEVER and less_of(k, control, FUTILITY, given, memory) > futile:
                status = FUTILE
                drop(k, look, FUTILE, which, memory, output)
    for k in range(offered.size):
        if offered[k] and k != control:
            largest_of(given, memory)
            return GOING_ON, control, NONE
    return status, control, control if status == SUPERIOR else NONE


def drop(k: Number, look: Number, reason: Number, which: Replication, memory: LookMemory, output: LookOutput) -> None:
    """Offer a proposal no more."""
    memory.offered[k] = 0
    output.dropped[which.scenario, which.row, k] = look + 1
    output.reason[which.scenario, which.row, k] = reason


def note(first: Number, probability: Number, look: Number, which: Replication, output: LookOutput) -> None:
    """Keep which proposal leads and by how much, where that is asked for."""
    if output.top.shape[2] > 0:
        output.top[which.scenario, which.row, look] = probability
        output.leader[which.scenario, which.row, look] = first
