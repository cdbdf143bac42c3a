"""How the probabilities of a trial with looks change, for kernels: `takeup.policies.limits` in a form that compiles."""

import math

from takeup.simulation.kernels.look_tables import FREE, MATCH, NONE, SQUARE_ROOT, LookInput, LookMemory, Sharing
from takeup.simulation.kernels.machine import Array, Number

HALVINGS = 60
MOST_FACTOR = 1e18
"""By how much an entry is enlarged at most."""
FINE = 2.0**30
"""Into how many parts probabilities are rounded."""


def allocate(place: Number, control: Number, given: LookInput, memory: LookMemory) -> None:
    """The probabilities by what the policy wishes, softened; `place` is that of the power."""
    power = given.sharing.power[place]
    for k in range(memory.share.size):
        memory.share[k] = memory.wish[k] ** power if memory.offered[k] else 0.0
    spread_out(control, given.sharing, memory)


def keep(control: Number, given: LookInput, memory: LookMemory) -> None:
    """The probabilities of a trial that does not adapt: those of the start, among the proposals that are offered."""
    for k in range(memory.share.size):
        memory.share[k] = given.sharing.start[k] if memory.offered[k] else 0.0
    spread_out(control, given.sharing, memory)


def spread_out(control: Number, rules: Sharing, memory: LookMemory) -> None:
    """Make probabilities of weights: the control has its share, and all keep to the limits."""
    share, offered = memory.share, memory.offered
    fixed = fixed_share(rules, offered)
    if rules.control == MATCH:
        share[control] = 0.0
        for k in range(share.size):
            if offered[k] and k != control:
                share[control] = max(share[control], share[k])
    elif rules.control != FREE:
        offered[control] = 0
    hold(1.0 - fixed, rules, memory)
    if rules.control != FREE and rules.control != MATCH:
        offered[control], share[control] = 1, fixed
    round_off(share)


def fixed_share(rules: Sharing, offered: Array) -> Number:
    """The probability that the control has in any case."""
    if rules.control == SQUARE_ROOT:
        others = -1
        for k in range(offered.size):
            others += offered[k]
        return math.sqrt(others) / (math.sqrt(others) + others)
    return max(rules.control, 0.0)


def hold(whole: Number, rules: Sharing, memory: LookMemory) -> None:
    """Let the weights of those that are offered sum to this, and bring them within their limits."""
    share, offered = memory.share, memory.offered
    total, count, beyond = 0.0, 0, False
    for k in range(share.size):
        if offered[k]:
            total += share[k]
            count += 1
    for k in range(share.size):
        if offered[k]:
            share[k] = share[k] * whole / total if total > 0.0 else whole / count
            beyond = beyond or share[k] < rules.floor[k] or share[k] > rules.ceiling[k]
    if beyond and count == 2:
        move_two(whole, rules, memory)
    elif beyond:
        move(whole, rules, memory)


def move_two(whole: Number, rules: Sharing, memory: LookMemory) -> None:
    """The same as `move` where two are offered, by either rule: one is at its limit, and the other has the rest."""
    share, offered, one, other = memory.share, memory.offered, NONE, NONE
    for k in range(share.size):
        if offered[k]:
            one, other = other, k
    low = max(rules.floor[one], whole - rules.ceiling[other])
    high = min(rules.ceiling[one], whole - rules.floor[other])
    share[one] = min(max(share[one], low), high)
    share[other] = whole - share[one]


def move(whole: Number, rules: Sharing, memory: LookMemory) -> None:
    """Change all that are offered by one amount or one factor, until they are within the limits and sum to this."""
    share, offered = memory.share, memory.offered
    low, high = (0.0, 1.0) if rules.factor else (-1.0, 1.0)
    if rules.factor:
        while within_limits(high, rules, memory) < whole and high < MOST_FACTOR:
            high *= 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if within_limits(middle, rules, memory) < whole:
            low = middle
        else:
            high = middle
    rest, room = whole - within_limits(high, rules, memory), 0.0
    for k in range(share.size):
        if offered[k]:
            share[k] = limited(k, high, rules, memory)
            room += rules.ceiling[k] - share[k]
    if rest > 0.0 and room > 0.0:  # no factor reaches it, as others have no probability: they share it by their room
        for k in range(share.size):
            if offered[k]:
                share[k] += (rules.ceiling[k] - share[k]) * rest / room


def round_off(share: Array) -> None:
    """To multiples of 1 / FINE, which sum to one to the last bit; the largest takes what rounding leaves.

    What is drawn with them does not depend on how an engine rounds, and nobody is left over.
    """
    left, first = 1.0, 0
    for k in range(share.size):
        share[k] = math.floor(share[k] * FINE + 0.5) / FINE
        left -= share[k]
        if share[k] > share[first]:
            first = k
    share[first] += left


def limited(k: Number, change: Number, rules: Sharing, memory: LookMemory) -> Number:
    """An entry changed by a factor or an amount, and cut off at its limits."""
    moved = memory.share[k] * change if rules.factor else memory.share[k] + change
    return min(max(moved, rules.floor[k]), rules.ceiling[k])


def within_limits(change: Number, rules: Sharing, memory: LookMemory) -> Number:
    """What all entries that are offered sum to then."""
    total = 0.0
    for k in range(memory.share.size):
        if memory.offered[k]:
            total += limited(k, change, rules, memory)
    return total
