"""A trial laid out for replays: by the recurrence of two proposals, by a policy's kernel, or by the reference."""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal, TypeAlias

import numpy as np

from takeup.analysis import replay_reference as reference
from takeup.analysis import targets
from takeup.analysis.replay_schedule import INSTEAD, Schedule, check_design, check_own, even_of, schedule_of
from takeup.analysis.scores import guesses
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError, UnsuitableError
from takeup.log import Log
from takeup.policies import TS, TopTwo, Uniform
from takeup.simulation.kernels import replay_cpu, two_arm
from takeup.simulation.kernels.choice import choose
from takeup.simulation.kernels.comparing import RESOLVED
from takeup.simulation.kernels.replay import ASKED, Pair, Recorded
from takeup.simulation.kernels.streams import key_of
from takeup.trial import Design
from takeup.trial.planned_analysis import not_replayable
from takeup.trial.success_tables import limits_of

Statistic: TypeAlias = Literal["difference", "score"]
STATISTICS: dict[Statistic, str] = {
    "difference": "difference of the means, within contexts",
    "score": "sum of (proposed - its probability) times (outcome - what was expected), in units of its error",
}
Form: TypeAlias = Literal["recurrence", "draws", "quadrature", "reference"]
"""How trials are replayed: with P(best) kept up to date, by what a policy's kernel draws, with P(best) computed anew at
every decision, or in numpy."""
LEAST_SHAPE = 0.5
"""The least parameter of a prior for quadrature."""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """A trial as it was.

    Attributes:
        statistics: the difference and the score.
        ended: the look at which it ended before the last, counted from 0; NONE where it went on.
        chosen: the proposal that was called superior then; NONE where none was.
        draws: how many its probabilities rest on; 0 where they are exact.
    """

    statistics: FloatArray
    ended: int = reference.NONE
    chosen: int = reference.NONE
    draws: int = 0


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
        log = log.without_covariates()
        if log.space != design.space.without_covariates():
            raise InputError("design", f"of {design.space}", f"that of the log, {log.space}")
        check_own(log)
        if why := not_replayable(design, stronger=stronger):
            rest = "" if stronger else ", and stronger=True tests that neither outcomes nor compliance change"
            raise UnsuitableError(f"{why}; {INSTEAD}{rest}")
        reads = design.policy.compliance != "not used" or bool(not_replayable(design))
        of, contexts = targets.outcome(log.space), len(log.space.contexts)
        value = of.values(log)
        expected = guesses(log.context, np.zeros_like(log.context), value, contexts, 1, of.middle)[..., 0]
        seen = ~np.isnan(value)
        weight = np.bincount(log.context[seen], minlength=contexts) / max(seen.sum(), 1)
        residual = np.where(seen, value - expected, 0.0)
        return cls(log, design, schedule_of(log, design, compliance=reads), pair, value, residual, weight)

    def observed(self, *, check: bool, score: bool = True) -> "Seen":
        """The trial as it was; without the score where neither it nor a check needs the probabilities."""
        if self.form("score") == "recurrence":
            found, share = self.followed()
            if check:
                check_design(self.log, self.design, self.schedule, share)
            return Seen(found)
        if not (check or score or self.schedule.look_at.size):
            return Seen(np.array([self.difference(self.log.proposal[np.newaxis])[0], np.nan]))
        found, trial = self.followed_by_reference()
        end, chosen = int(trial.ended[0]), int(trial.chosen[0])
        if check:
            upto = None if end == reference.NONE else int(self.schedule.look_at[end])
            check_design(self.log, self.design, self.schedule, trial.probability, trial.draws, upto)
        return Seen(found, end, chosen, trial.draws)

    def followed(self) -> tuple[FloatArray, FloatArray]:
        """Both statistics of the trial as it was by the recurrence, and the probabilities of its decisions."""
        found, share = replay_cpu.follow_pair(self._recorded("recurrence", follow=True), self._allocated())
        return found, np.stack([share, 1 - share], axis=1)

    def followed_by_reference(self) -> tuple[FloatArray, reference.Replays]:
        """The same by the reference, up to the look that ended the trial."""
        trial = reference.follow(self.log, self.design, self.schedule, self.residual, self.pair)
        return np.array([self.difference(trial.proposal)[0], _standard(trial)[0]]), trial

    def form(self, statistic: Statistic) -> Form:
        """What replays it: the fastest that can."""
        if find_spec("numba") is None or self.design.control_share is not None or self.schedule.look_at.size:
            return "reference"
        if self._recurrence:
            return "recurrence"
        if statistic == "difference" and self.free and self._has_kernel:
            return "draws"
        return "quadrature" if self._quadrature else "reference"

    def replays(self, statistic: Statistic, many: int, seed: int) -> FloatArray:
        """The statistic of each replay of a trial that no look can end."""
        form, column = self.form(statistic), list(STATISTICS).index(statistic)
        if form == "reference":
            return self.by_reference(statistic, many, seed)[0]
        recorded = self._recorded(form, seed)
        if form == "recurrence":
            return replay_cpu.replay_pair(recorded, self._allocated(), many)[:, column]
        if form == "draws":
            return replay_cpu.replay_drawn(recorded, self.design.policy, self.log.space, many)[:, 0]
        limited = replay_cpu.limited_by(self._prior(), self.design.limits, len(self.log))
        return replay_cpu.replay_limited(recorded, limited, many)[:, column]

    def by_reference(
        self, statistic: Statistic, many: int, seed: int, looks: int | None = None
    ) -> tuple[FloatArray, reference.Replays]:
        """The same by the reference, whatever the policy, with the first so many looks; and the replays."""
        found = reference.replay(
            self.log,
            self.design,
            self.schedule,
            self.residual,
            self.pair,
            many,
            seed,
            score=statistic == "score",
            looks=looks,
        )
        return _standard(found) if statistic == "score" else self.difference(found.proposal), found

    def difference(self, proposal: IntArray) -> FloatArray:
        """The difference of the means as the kernel has it, of replays side by side, (R, n) -> (R,)."""
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
    def _rates(self) -> bool:
        """Whether there are two outcomes, and TS learns the rate of the better one."""
        outcome = self.log.space.outcome
        return outcome.kind == "level" and outcome.size == 2 and type(self.design.policy) in (TS, TopTwo)

    @property
    def _recurrence(self) -> bool:
        """Whether P(best) of two proposals is known without draws, or the policy is never asked."""
        policy, space = self.design.policy, self.log.space
        if len(space.proposals) != 2:
            return False
        rates = self._rates and isinstance(policy, TS) and two_arm.applies(policy, space)
        return rates or isinstance(policy, Uniform)

    @property
    def free(self) -> bool:
        """Whether nothing stands between what the policy draws and what is proposed."""
        limits, softened = self.design.limits, bool((self.schedule.power != 1).any())
        limited = (
            np.any(limits.floor) or np.any(np.asarray(limits.ceiling) < 1) or self.design.control_share is not None
        )
        return not (limited or softened or self.schedule.look_at.size)

    @property
    def _has_kernel(self) -> bool:
        if self.design.policy.compliance != "not used":
            return False
        try:
            choose(self.design.policy, self.log.space, waiting=True, recurrence=False)
        except UnsuitableError:
            return False
        return True

    @property
    def _quadrature(self) -> bool:
        """Whether there is a grid on which P(best) of several rates is right to about 1e-5."""
        if not self._rates or type(self.design.policy) is not TS or (self.schedule.power != 1).any():
            return False
        prior = self._prior()
        return bool(prior.min() >= LEAST_SHAPE and prior.sum(axis=(1, 2)).max() + len(self.log) <= RESOLVED)

    def _prior(self) -> FloatArray:
        """(a, b) of each context and proposal, a being of the better outcome."""
        assert isinstance(self.design.policy, TS)  # who asks has rates
        return two_arm.good_first(self.design.policy.prior(self.log.space).outcome, self.log.space)

    def _recorded(self, form: Form, seed: int = 0, *, follow: bool = False) -> Recorded:
        log, schedule, space = self.log, self.schedule, self.log.space
        bad = log.outcome != int(np.argmax(space.reward))
        outcome = np.array(log.outcome) if form == "draws" else bad.astype(np.int64)
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
