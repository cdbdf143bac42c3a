"""What a trial with looks reads and writes, as arrays."""

from typing import Any, NamedTuple

from takeup.simulation.kernels.machine import Array, Number

NONE = -1
FREE, MATCH, SQUARE_ROOT = 0.0, -1.0, -2.0
"""That the control has no share of its own; that of the likeliest other; one by the square root of their number."""


class Schedule(NamedTuple):
    """When what is drawn and known.

    Attributes:
        size: units of each piece, in the order in which they are drawn; one each where probabilities change after every
            outcome.
        known: the slot in which its outcomes wait: of the look from which on they are known, or a unit's in a ring.
        first: the first piece that is drawn after each look, (L + 1,); before the first look, at 0.
        truth: which row of the truth its units are drawn from, in each scenario, (E, pieces).
        adapted: the first piece behind the burn-in.
        at: how many outcomes are known at each look.
        lag: how many more have been randomised when an outcome is known.
    """

    size: Array
    known: Array
    first: Array
    truth: Array
    adapted: Number
    at: Array
    lag: Number


class Thresholds(NamedTuple):
    """Above or below which probability what is concluded, at each look; 2 or -1 where nothing is."""

    superiority: Array
    inferiority: Array
    equivalence: Array
    futility: Array


class Sharing(NamedTuple):
    """How probabilities of being best become those of being proposed.

    Attributes:
        start: the probabilities before anything is known, before a share of the control.
        adaptive: whether they change.
        factor: whether they come within the limits by one factor; else by one amount.
        floor: the least of each.
        ceiling: the greatest.
        power: to which they are softened after each look, or after each outcome.
        control: the probability of the control; MATCH, SQUARE_ROOT or FREE.
    """

    start: Array
    adaptive: Number
    factor: Number
    floor: Array
    ceiling: Array
    power: Array
    control: Number


class LookInput(NamedTuple):
    """What all trials of one plan have in common.

    Attributes:
        key: the streams of each row of the truth, which are those of its scenario, (F, 2).
        control: the first control, or NONE.
        replaced: whether a better proposal takes its place; else the trial ends.
        schedule: the pieces.
        thresholds: when to conclude.
        sharing: how to allocate.
        truth: what units are drawn from, as the file that draws them has it: a row for each scenario, and behind them
            what they change into, (F, ..).
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
        waiting: the statistic of units that are not yet known, by slots of the schedule, (S, K, C).
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
        top: what superiority was asked of at each look, 0 where the trial had ended;
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
