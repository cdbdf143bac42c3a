"""How the probabilities of a trial with looks change, for kernels: `takeup.policies.limits` in a form that compiles."""

import math

from takeup.simulation.kernels.look_tables import LookInput, LookMemory, Sharing
from takeup.simulation.kernels.machine import Array, Number

HALVINGS = 60
MOST_FACTOR = 1e18
"""By how much an entry is enlarged at most."""
FINE = 2.0**30
"""Probabilities are multiples of one over this, which sum to one to the last bit: what is drawn with them does not
depend on how an engine rounds, and nobody is left over."""


def allocate(look: Number, given: LookInput, memory: LookMemory) -> None:
    """The probabilities after a look: softened, and within the limits by one amount or one factor."""
    share, offered, rules = memory.share, memory.offered, given.sharing
    total = 0.0
    for k in range(share.size):
        share[k] = memory.wish[k] ** rules.power[look - 1] if offered[k] else 0.0
        total += share[k]
    for k in range(share.size):
        share[k] /= total
    hold(rules, memory)


def hold(rules: Sharing, memory: LookMemory) -> None:
    """Bring the probabilities within the limits, by one amount or one factor."""
    share, offered, beyond = memory.share, memory.offered, False
    for k in range(share.size):
        beyond = beyond or (offered[k] and (share[k] < rules.floor[k] or share[k] > rules.ceiling[k]))
    if beyond:
        move(rules, memory)
    round_off(share)


def move(rules: Sharing, memory: LookMemory) -> None:
    """Change all that are offered, until they are within the limits and sum to one."""
    share, offered = memory.share, memory.offered
    low, high = (0.0, 1.0) if rules.factor else (-1.0, 1.0)
    if rules.factor:
        while within_limits(high, rules, memory) < 1.0 and high < MOST_FACTOR:
            high *= 2.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if within_limits(middle, rules, memory) < 1.0:
            low = middle
        else:
            high = middle
    rest, room = 1.0 - within_limits(high, rules, memory), 0.0
    for k in range(share.size):
        if offered[k]:
            share[k] = limited(k, high, rules, memory)
            room += rules.ceiling[k] - share[k]
    if rest > 0.0 and room > 0.0:  # no factor reaches it, as others have no probability: they share it by their room
        for k in range(share.size):
            if offered[k]:
                share[k] += (rules.ceiling[k] - share[k]) * rest / room


def round_off(share: Array) -> None:
    """To multiples of 1 / FINE; the largest takes what that leaves."""
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


def keep(given: LookInput, memory: LookMemory) -> None:
    """The probabilities of a trial that does not adapt: those of the start, among the proposals that are offered."""
    total = 0.0
    for k in range(memory.share.size):
        if memory.offered[k]:
            total += given.sharing.start[k]
    for k in range(memory.share.size):
        memory.share[k] = given.sharing.start[k] / total if memory.offered[k] else 0.0
    hold(given.sharing, memory)
