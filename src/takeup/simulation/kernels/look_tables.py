"""What a trial with looks reads and writes, as arrays."""

from typing import Any, NamedTuple

from takeup.simulation.kernels.machine import Array, Number

NONE = -1


class Schedule(NamedTuple):
    """When what is drawn and known.

    Attributes:
        size: units of each piece, in the order in which they are drawn.
        known: the look from which on its outcomes are known.
        first: the first piece that is drawn after each look, (L + 1,); before the first look, at 0.
        randomised: how many have been randomised at each look.
    """

    size: Array
    known: Array
    first: Array
    randomised: Array


class Thresholds(NamedTuple):
    """Above or below which probability what is concluded, at each look; 2 or -1 where nothing is."""

    superiority: Array
    inferiority: Array
    equivalence: Array
    futility: Array


class Sharing(NamedTuple):
    """How probabilities of being best become those of being proposed.

    Attributes:
        start: the probabilities before the first look.
        adaptive: whether they change.
        factor: whether they come within the limits by one factor; else by one amount.
        floor: the least of each.
        ceiling: the greatest.
        power: to which they are softened after each look.
    """

    start: Array
    adaptive: Number
    factor: Number
    floor: Array
    ceiling: Array
    power: Array


class LookInput(NamedTuple):
    """What all trials of one plan have in common.

    Attributes:
        key: the streams of each scenario, (E, 2).
        control: the first control, or NONE.
        replaced: whether a better proposal takes its place; else the trial ends.
        schedule: the pieces.
        thresholds: when to conclude.
        sharing: how to allocate.
        truth: what units are drawn from, as the file that draws them has it.
        reading: what is believed before any data, as the file that reads them has it.
        policy: the same of the policy, where it does not allocate by the reading.
    """

    key: Array
    control: Number
    replaced: Number
    schedule: Schedule
    thresholds: Thresholds
    sharing: Sharing
    truth: Any
    reading: Any
    policy: Any


class LookMemory(NamedTuple):
    """Where one trial works.

    Attributes:
        waiting: the statistic of the units that become known at each look, (L, K, C).
        known: that of those that are known, (K, C).
        offered: which proposals are, (K,).
        best: the probability that each is best by the reading, (K,).
        wish: the probability with which the policy would propose each, before softening and limits, (K,).
        share: the probability that each is proposed, (K,).
        reading: what the reading works with.
        policy: what the policy works with.
    """

    waiting: Array
    known: Array
    offered: Array
    best: Array
    wish: Array
    share: Array
    reading: Any
    policy: Any


class LookOutput(NamedTuple):
    """What is kept of each trial, (E, R, ..).

    Attributes:
        status: how it ended.
        look: at which look, counted from 0.
        chosen: the proposal that was found superior, else the control at the end, which may be another than at first;
            NONE without either.
        statistic: of all units that were randomised, once all are followed up, (.., K, C).
        dropped: at which look each was dropped, counted from 1; 0 where it was not, (.., K).
        reason: why.
        top: what superiority was asked of at each look, in single precision (to 6e-8), 0 where the trial had ended;
            (.., L), or (.., 0) where it is not kept.
        leader: of which proposal, likewise.
    """

    status: Array
    look: Array
    chosen: Array
    statistic: Array
    dropped: Array
    reason: Array
    top: Array
    leader: Array
