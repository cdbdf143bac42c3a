"""A trial laid out for replays: by the recurrence of two proposals, by a policy's kernel, or by the reference."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias

import numpy as np

from takeup.analysis import replay_reference as reference
from takeup.analysis import targets
from takeup.analysis.replay_schedule import INSTEAD, Schedule, check_design, check_replayable, even_of, schedule_of
from takeup.analysis.scores import guesses
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.policies import TS, TopTwo, Uniform
from takeup.simulation.kernels import replay_cpu, two_arm
from takeup.simulation.kernels.choice import choose
from takeup.simulation.kernels.replay import ASKED, Pair, Recorded
from takeup.simulation.kernels.streams import key_of
from takeup.trial import Design
from takeup.trial.success_tables import limits_of

Statistic: TypeAlias = Literal["difference", "score"]
STATISTICS: dict[Statistic, str] = {
    "difference": "difference of the means, within contexts",
    "score": "sum of (proposed - its probability) times (outcome - what was expected), in units of its error",
}


@dataclass(frozen=True, slots=True, eq=False)
class Replayable:
    """A trial that can be replayed.

    Attributes:
        log: what was recorded.
        design: what decided.
        schedule: who knew what when.
        pair: the proposals that are compared.
        value: what each decision came to in the end; NaN where that is not known.
        residual: the value less what was expected from earlier ones, whatever was proposed; 0 where it is not known.
        weight: the share of each context.
    """

    log: Log
    design: Design
    schedule: Schedule
    pair: tuple[int, int]
    value: FloatArray
    residual: FloatArray
    weight: FloatArray

    @classmethod
    def of(cls, log: Log, design: Design, pair: tuple[int, int], stronger: bool) -> "Replayable":
        """Lay it out; an UnsuitableError where it cannot be replayed."""
        if log.space != design.space:
            raise InputError("design", f"of {design.space}", f"that of the log, {log.space}")
        check_replayable(design)
        reads = design.policy.compliance != "not used"
        if reads and not stronger:
            raise UnsuitableError(
                f"{design.policy.name} reads what was implemented, and what would have been after another proposal is"
                f" not known; {INSTEAD}, and stronger=True tests that neither outcomes nor compliance change"
            )
        of, contexts = targets.outcome(log.space), len(log.space.contexts)
        value = of.values(log)
        expected = guesses(log.context, np.zeros_like(log.context), value, contexts, 1, of.middle)[..., 0]
        seen = ~np.isnan(value)
        weight = np.bincount(log.context[seen], minlength=contexts) / max(seen.sum(), 1)
        residual = np.where(seen, value - expected, 0.0)
        return cls(log, design, schedule_of(log, design, compliance=reads), pair, value, residual, weight)

    def statistics(self, *, check: bool, score: bool = True) -> FloatArray:
        """The difference and the score of the trial as it was; not the latter where neither needs the probabilities."""
        if self._recurrence:
            found, share = self.followed()
            if check:
                check_design(self.log, self.design, self.schedule, share)
            return found
        if not (check or score):
            return np.array([self._difference(self.log.proposal[np.newaxis])[0], np.nan])
        found, trial = self.followed_by_reference()
        if check:
            check_design(self.log, self.design, self.schedule, trial.probability, trial.draws)
        return found

    def followed(self) -> tuple[FloatArray, FloatArray]:
        """Both statistics of the trial as it was by the recurrence, and the probabilities of its decisions."""
        found, share = replay_cpu.follow_pair(self._recorded(0, follow=True), self._allocated())
        return found, np.stack([share, 1 - share], axis=1)

    def followed_by_reference(self) -> tuple[FloatArray, reference.Replays]:
        """The same by the reference."""
        trial = reference.follow(self.log, self.design, self.schedule, self.residual, self.pair)
        return np.array([self._difference(self.log.proposal[np.newaxis])[0], _standard(trial)[0]]), trial

    def fast(self, statistic: Statistic) -> bool:
        """Whether a kernel replays it."""
        return self._recurrence or (statistic == "difference" and self._drawn)

    def replays(self, statistic: Statistic, many: int, seed: int) -> FloatArray:
        """The statistic of each replay."""
        if self._recurrence:
            recorded = self._recorded(seed)
            return replay_cpu.replay_pair(recorded, self._allocated(), many)[:, list(STATISTICS).index(statistic)]
        if self.fast(statistic):
            return replay_cpu.replay_drawn(self._recorded(seed), self.design.policy, self.log.space, many)[:, 0]
        return self.by_reference(statistic, many, seed)

    def by_reference(self, statistic: Statistic, many: int, seed: int) -> FloatArray:
        """The same by the reference, whatever the policy."""
        found = reference.replay(
            self.log, self.design, self.schedule, self.residual, self.pair, many, seed, score=statistic == "score"
        )
        return _standard(found) if statistic == "score" else self._difference(found.proposal)

    def _difference(self, proposal: IntArray) -> FloatArray:
        """As the kernel has it, of replays side by side, (R, n) -> (R,)."""
        found, value = np.zeros(proposal.shape[0]), np.nan_to_num(self.value)
        for x, weight in enumerate(self.weight):
            here = (self.log.context == x) & ~np.isnan(self.value)
            number, total = (
                np.stack([((proposal == z) * (here * each)).sum(axis=1) for z in self.pair]) for each in (1.0, value)
            )
            mean = total / np.maximum(number, 1)
            found += np.where((number > 0).all(axis=0), weight * (mean[0] - mean[1]), 0.0)
        return found

    @property
    def _recurrence(self) -> bool:
        """Whether P(best) of two proposals is known without draws, or the policy is never asked."""
        policy, space = self.design.policy, self.log.space
        if find_spec("numba") is None or len(space.proposals) != 2 or self.design.control_share is not None:
            return False
        if isinstance(policy, Uniform):
            return True
        levels = space.outcome.kind == "level" and space.outcome.size == 2
        if not (levels and isinstance(policy, TS) and type(policy) in (TS, TopTwo)):
            return False
        return two_arm.applies(policy, space)

    @property
    def _drawn(self) -> bool:
        """Whether the policy has a kernel and its draws are the proposals: nothing stands between them."""
        limits, policy = self.design.limits, self.design.policy
        limited = (
            np.any(limits.floor) or np.any(np.asarray(limits.ceiling) < 1) or self.design.control_share is not None
        )
        softened = (self.schedule.power != 1).any()
        if find_spec("numba") is None or limited or softened or policy.compliance != "not used":
            return False
        try:
            choose(policy, self.log.space, waiting=True, recurrence=False)
        except UnsuitableError:
            return False
        return True

    def _recorded(self, seed: int, *, follow: bool = False) -> Recorded:
        log, schedule, space = self.log, self.schedule, self.log.space
        outcome = np.array(log.outcome)
        if self._recurrence and space.outcome.kind == "level":
            outcome = (outcome != int(np.argmax(space.utility))).astype(np.int64)
        fixed = np.where(schedule.even[:, np.newaxis], even_of(self.design), log.probability)
        return Recorded(
            key_of(seed, "replay"),
            np.array(log.context),
            outcome,
            schedule.decision,
            schedule.known.astype(np.int64),
            np.where(schedule.asked[:, np.newaxis], ASKED, fixed),
            self.value,
            self.weight,
            self.residual,
            np.array(log.proposal) if follow else np.zeros(0, dtype=np.int64),
            *self.pair,
        )

    def _allocated(self) -> Pair:
        policy, space = self.design.policy, self.log.space
        start = two_arm.parameters(policy, space).start if isinstance(policy, TS) else np.zeros(two_arm.SLOTS)
        leader = float(policy.leader) if isinstance(policy, TopTwo) else 1.0
        return Pair(
            np.asarray(start, dtype=np.float64), np.asarray(self.schedule.power), leader, *limits_of(self.design)
        )


def _standard(found: reference.Replays) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(found.variance > 0, found.score / np.sqrt(found.variance), 0.0)
