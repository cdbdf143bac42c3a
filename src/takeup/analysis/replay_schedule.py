"""Who knew what when: a trial's log as a policy met it, so that it can be met again."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError
from takeup.log import SOURCES, Log
from takeup.log.arrays import TOLERANCE
from takeup.policies import Uniform
from takeup.policies.limits import shared
from takeup.space import UNSEEN
from takeup.trial import Design
from takeup.trial.planned_analysis import may_end

INSTEAD = "betting and the martingale score need the logged probabilities alone"
"""What can be had where a trial cannot be replayed."""
DEVIATIONS = 6.0
"""By how many of its errors a probability that is counted in draws may differ from another such."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """What reaches the policy, in order, and which decisions it makes with how much of it.

    A report is a decision of which more is known than before.

    Attributes:
        decision: of each report, whose it is, (m,).
        implemented: a as it is known from then on; UNSEEN where it is not, or where the policy does not read it.
        outcome: y likewise.
        known: how many reports each decision knows, (n,).
        power: to which its probabilities are taken, (n,).
        asked: whether the policy was asked; else a proposal was drawn with the probabilities in the log, (n,).
        even: whether it was drawn evenly, before the policy was asked, (n,).
        look_at: before which decision each look was held that may have ended the trial or dropped proposals, (m,); the
            last of all is none of them, as nothing comes after it.
        look_known: how many reports each of them knew, (m,).
    """

    decision: IntArray
    implemented: IntArray
    outcome: IntArray
    known: IntArray
    power: FloatArray
    asked: NDArray[np.bool_]
    even: NDArray[np.bool_]
    look_at: IntArray
    look_known: IntArray

    @property
    def asks(self) -> int:
        """How many different states of what is known the policy is asked about, and looks are held in."""
        return int(np.unique(self.known[self.asked]).size) + self.look_at.size


def schedule_of(log: Log, design: Design, *, compliance: bool = False) -> Schedule:
    """The schedule of one trial; `compliance` says whether the policy reads what was implemented.

    Looks are held as soon as so many outcomes are known, those that became known together in the order of decisions.
    """
    n = len(log)
    time, decision, a, y, new = _reports(log, compliance)
    known = np.searchsorted(time, np.arange(n), side="right")
    outcomes = np.concatenate([[0], np.cumsum(new)])[known]
    power, looked = np.ones(n), np.ones(n, dtype=bool)
    looks, soften = design.looks, design.soften
    look_at = look_known = np.zeros(0, dtype=np.int64)
    if looks is not None and may_end(design):
        look_known = (np.flatnonzero(new)[looks.at[looks.at <= new.sum()] - 1] + 1)[: looks.at.size - 1]
        look_at = np.searchsorted(known, look_known)
    if looks is not None and soften is not None:
        places = np.flatnonzero(new)[looks.at[looks.at <= new.sum()] - 1] + 1
        if looks.update == "patient":
            power = soften[np.minimum(outcomes, soften.size - 1)]
            known = np.minimum(known, places[-1]) if places.size == looks.at.size else known
        else:
            held = np.minimum(np.searchsorted(looks.at, outcomes, side="right"), looks.at.size - 1)
            looked, power = held > 0, soften[held - 1]
            known = np.concatenate([[0], places])[held]
    even = ((np.arange(n) < design.spec.burn_in) | ~looked) & (log.source != SOURCES.index("fallback"))
    asked = ~even & (log.source == SOURCES.index("policy"))
    if isinstance(design.policy, Uniform):
        even, asked, known = even | asked, np.zeros(n, dtype=bool), np.zeros(n, dtype=np.int64)
    return Schedule(decision, a, y, known, np.where(asked, power, 1.0), asked, even, look_at, look_known)


def _reports(log: Log, compliance: bool) -> tuple[IntArray, ...]:
    """When, whose, a and y as they are known then, and whether y is new; in order."""
    place = np.arange(len(log))
    seen_y, seen_a = log.outcome != UNSEEN, (log.implemented != UNSEEN) & compliance
    with_y = np.where(seen_a & (log.implemented_by <= log.outcome_by), log.implemented, UNSEEN)
    alone = seen_a & ~(seen_y & (log.implemented_by == log.outcome_by))
    with_a = np.where(seen_y & (log.outcome_by < log.implemented_by), log.outcome, UNSEEN)
    both = (
        np.concatenate([log.outcome_by[seen_y], log.implemented_by[alone]]),
        np.concatenate([place[seen_y], place[alone]]),
        np.concatenate([with_y[seen_y], log.implemented[alone]]),
        np.concatenate([log.outcome[seen_y], with_a[alone]]),
        np.concatenate([np.ones(seen_y.sum(), dtype=np.int64), np.zeros(alone.sum(), dtype=np.int64)]),
    )
    order = np.lexsort((both[1], both[0]))
    return tuple(each[order] for each in both)


def check_own(log: Log) -> None:
    """An UnsuitableError where some were assigned before the trial was taken over, by what nobody can do again."""
    if many := int((log.source == SOURCES.index("past")).sum()):
        raise UnsuitableError(f"{many} were assigned before the trial was taken over, not by its design; {INSTEAD}")


def even_of(design: Design) -> FloatArray:
    """The probabilities before the policy is asked."""
    even, rules = np.array(design.even), design.rules
    return shared(even, range(even.size), design.limits, 1.0, rules.control, design.control_share)


def check_design(
    log: Log, design: Design, schedule: Schedule, derived: FloatArray, draws: int = 0, upto: int | None = None
) -> None:
    """An UnsuitableError that names a decision whose logged probabilities are not those of the design.

    Args:
        log: the trial's.
        design: what may be the trial's.
        schedule: who knew what when.
        derived: the probabilities by the design of those decisions for which the policy was asked, (n, Kz).
        draws: how many they rest on, in the trial as here; 0 where they are exact.
        upto: how many decisions came before a look ended the trial; all where none did.
    """
    p, ours = log.probability, schedule.asked | (schedule.even & (schedule.look_at.size > 0))
    right = np.where(ours[:, np.newaxis], derived, np.where(schedule.even[:, np.newaxis], even_of(design), p))
    room = np.full(p.shape, TOLERANCE)
    if draws:
        counted = DEVIATIONS * np.sqrt(2 * np.maximum(p * (1 - p), right * (1 - right)) / draws) + 10 / draws
        room = np.where(schedule.asked[:, np.newaxis], counted ** schedule.power[:, np.newaxis], room)
    counts = np.arange(len(log)) < (len(log) if upto is None else upto)
    wrong = (np.abs(p - right) > room).any(axis=1) & counts
    late = (log.source == SOURCES.index("burn-in")) & ~schedule.even & counts
    if wrong.any() or late.any():
        i = int((wrong | late).argmax())
        told = "was made in a burn-in" if late[i] else f"was made with the probabilities {_shown(p[i])}"
        own = "which the design does not have there" if late[i] else f"and by the design they are {_shown(right[i])}"
        raise UnsuitableError(f"decision {i + 1} {told}, {own}: {_why(log, i)}; {INSTEAD}")


def _why(log: Log, i: int) -> str:
    """Why probabilities cannot be derived again: what they rested on was corrected, or it is another design."""
    used = np.flatnonzero(np.zeros(0) if log.corrected is None else log.corrected[:i])
    if not used.size:
        return "it is not the design of this trial"
    return (
        f"what was reported of decision {used[0] + 1} was corrected after it had been used, and is no longer in the log"
    )


def _shown(row: FloatArray) -> str:
    return "(" + ", ".join(f"{each:.9g}" for each in row) + ")"
