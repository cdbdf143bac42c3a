"""Replays in numpy, for every policy whose state is the evidence, many side by side; also what kernels are held to.

Looks that may end a trial or drop proposals are held on what each replay knows, by the rules of a live trial.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from takeup.analysis.replay_schedule import Schedule
from takeup.checks import FloatArray, IntArray
from takeup.evidence import Evidence
from takeup.log import SOURCES, Log
from takeup.policies.beliefs import among, drawn
from takeup.policies.judging import GOING_ON, Standing, Verdict
from takeup.policies.limits import shared
from takeup.randomness import stream
from takeup.trial import Design
from takeup.trial.leases import GRAIN
from takeup.trial.looking import judged
from takeup.trial.proposal import grains

BLOCK = 500
"""Replays side by side: those of a block share a stream."""
NONE = -1
"""Of a replay that no look ended, or of which none was chosen; and of decisions after its end."""

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, eq=False)
class Replays:
    """Trials that were replayed.

    Attributes:
        proposal: what was proposed, (R, n); NONE after the look that ended a replay.
        score: Σ_t e_t (d_t - E d_t) with the residual e and d = 1{one} - 1{other}, (R,); zero where nobody asked.
        variance: Σ_t e_t² Var d_t.
        ended: the look at which each ended, counted from 0; NONE where it went on.
        chosen: the proposal that was called superior then; NONE where none was.
        probability: of the last of them, (n, Kz).
        draws: how many draws the probabilities rest on; 0 where they are exact.
    """

    proposal: IntArray
    score: FloatArray
    variance: FloatArray
    ended: IntArray
    chosen: IntArray
    probability: FloatArray
    draws: int

    def level(self, looks: int, claims: tuple[int, ...]) -> IntArray:
        """How extreme each is by its end, see `level_of`."""
        return level_of(self.ended, self.chosen, looks, claims)


def level_of(ended: ArrayLike, chosen: ArrayLike, looks: int, claims: tuple[int, ...]) -> IntArray:
    """How extreme trials are by their end; 0 where no look ended one.

    Of those that ended with a claim of one of these proposals the earliest are the most extreme, of those that ended
    without the earliest are the least.
    """
    early = np.where(np.asarray(ended) == NONE, 0, looks - np.asarray(ended))
    return np.asarray(np.where(np.isin(chosen, claims), early, -early))


def replay(
    log: Log,
    design: Design,
    schedule: Schedule,
    residual: FloatArray,
    pair: tuple[int, int],
    replays: int,
    seed: int,
    *,
    score: bool = False,
    looks: int | None = None,
) -> Replays:
    """Draw all proposals anew, so many times; only the first so many looks are held where a number is given."""
    blocks = [
        _Walk(log, design, schedule, min(BLOCK, replays - first), stream(seed, "replay", first), looks).run(
            residual, pair, score=score
        )
        for first in range(0, replays, BLOCK)
    ]
    names = ("proposal", "score", "variance", "ended", "chosen")
    parts: dict[str, Any] = {name: np.concatenate([getattr(each, name) for each in blocks]) for name in names}
    return replace(blocks[-1], **parts)


def follow(log: Log, design: Design, schedule: Schedule, residual: FloatArray, pair: tuple[int, int]) -> Replays:
    """The trial as it was, with the probabilities that its design gives, to the look that ended it."""
    return _Walk(log, design, schedule, 1, stream(0, "replay")).run(residual, pair, score=True, follow=True)


class _Walk:
    """Some replays side by side, from the first decision to the last."""

    def __init__(
        self,
        log: Log,
        design: Design,
        schedule: Schedule,
        many: int,
        rng: np.random.Generator,
        looks: int | None = None,
    ) -> None:
        self.log, self.design, self.schedule, self.rng = log, design, schedule, rng
        self.looks = schedule.look_at.size if looks is None else looks
        self.every, self.counts = np.arange(many), np.zeros((many, *log.space.table), dtype=np.int64)
        self.proposal = np.full((many, len(log)), NONE, dtype=np.int64)
        self.ended, self.chosen = np.full(many, NONE), np.full(many, NONE)
        self.standings = [Standing.of(len(log.space.proposals), design.rules)]
        self.standing = np.zeros(many, dtype=np.int64)
        self.told: dict[int, tuple[int, int]] = {}
        self.learned, self.held, self.draws = 0, 0, 0
        self.kept: dict[tuple[int, float | None], FloatArray] = {}
        limits, control = design.limits, design.control_share
        self.limited = bool(np.any(limits.floor) or np.any(np.asarray(limits.ceiling) < 1) or control is not None)

    def run(self, residual: FloatArray, pair: tuple[int, int], *, score: bool, follow: bool = False) -> Replays:
        log, schedule, one, other = self.log, self.schedule, *pair
        total, variance = np.zeros(self.every.size), np.zeros(self.every.size)
        probability, plain = np.array(log.probability), not (score or self.limited or schedule.look_at.size)
        for t in range(len(log)):
            self._look(t)
            self._learn(int(schedule.known[t]))
            if plain and schedule.asked[t] and schedule.power[t] == 1:
                self.proposal[:, t] = self._proposed(t)
                continue
            on = self.ended == NONE
            if not on.any():
                break
            p = self._probability(t)
            z = np.full(self.every.size, log.proposal[t]) if follow else drawn(p, self.rng)
            self.proposal[on, t] = z[on]
            if on[-1]:
                probability[t] = p[-1]
            d, apart = (z == one) * 1.0 - (z == other), p[:, one] - p[:, other]
            total += on * (residual[t] * (d - apart))
            variance += on * (residual[t] ** 2 * (p[:, one] + p[:, other] - apart**2))
        self._look(len(log))
        return Replays(self.proposal, total, variance, self.ended, self.chosen, probability, self.draws)

    def _proposed(self, t: int) -> IntArray:
        """What the policy proposes where nothing stands between it and what is proposed."""
        context = np.full(self.every.size, self.log.context[t])
        beliefs = self.design.policy.beliefs(Evidence(self.log.space, self.counts.copy()), context, self.rng)
        return beliefs.propose(self.rng)

    def _learn(self, known: int) -> None:
        """Move decisions to where they are known to be once so many reports are."""
        for report in range(self.learned, known):
            i, outcome = int(self.schedule.decision[report]), self.log.space.outcome
            x, z, before = int(self.log.context[i]), self.proposal[:, i], self.told.get(i)
            a, y = int(self.schedule.implemented[report]), int(self.schedule.outcome[report])
            if before is not None:
                self.counts[self.every, x, z, before[0]] -= outcome.amounts(np.asarray(before[1]))
            self.counts[self.every, x, z, a] += outcome.amounts(np.asarray(y))
            self.told[i] = (a, y)
            self.kept.clear()
        self.learned = max(self.learned, known)

    def _look(self, t: int) -> None:
        """Hold the looks that are due before a decision, in every replay that goes on."""
        while self.held < self.looks and self.schedule.look_at[self.held] <= t and (self.ended == NONE).any():
            self._learn(int(self.schedule.look_known[self.held]))
            verdicts, back = self._each(self._judged)
            for row in np.flatnonzero(self.ended == NONE):
                verdict = verdicts[back[row]]
                if verdict.status != GOING_ON:
                    self.ended[row] = self.held
                    self.chosen[row] = NONE if verdict.chosen is None else verdict.chosen
                elif verdict.standing not in self.standings:
                    self.standings.append(verdict.standing)
                self.standing[row] = 0 if self.ended[row] != NONE else self.standings.index(verdict.standing)
            self.held += 1
            self.kept.clear()

    def _judged(self, counts: IntArray, standing: Standing) -> Verdict:
        return judged(self.design, counts, self.held, standing, self.rng)

    def _each(self, make: Callable[[IntArray, Standing], Made]) -> tuple[list[Made], IntArray]:
        """What is made of each state that is different, of those that go on, and which of these each replay is in."""
        on, back = np.flatnonzero(self.ended == NONE), np.zeros(self.every.size, dtype=np.int64)
        rows = np.column_stack([self.standing[on], self.counts[on].reshape(on.size, -1)])
        flat, which = np.unique(rows, axis=0, return_inverse=True)
        back[on] = which.reshape(-1)
        return [make(row[1:].reshape(self.log.space.table), self.standings[row[0]]) for row in flat], back

    def _probability(self, t: int) -> FloatArray:
        """The probabilities in each replay, softened and within the limits, (R, Kz)."""
        x, asked = int(self.log.context[t]), bool(self.schedule.asked[t])
        by_client = self.log.source[t] == SOURCES.index("fallback")
        if by_client or not (asked or self.schedule.look_at.size):
            return np.broadcast_to(self.log.probability[t], (self.every.size, len(self.log.space.proposals)))
        key = (x, float(self.schedule.power[t]) if asked else None)
        if key not in self.kept:
            found, back = self._each(lambda counts, standing: self._shared(counts, standing, *key))
            self.kept[key] = np.array(found)[back]
        return self.kept[key]

    def _shared(self, counts: IntArray, standing: Standing, x: int, power: float | None) -> FloatArray:
        """The probabilities in one state; evenly among those that are offered where there is no power."""
        design = self.design
        wish = np.array(design.even) if power is None else self._wish(counts, standing, x)
        if power == 1 and not self.limited:
            return wish
        wish, power = grains(wish) / GRAIN, 1.0 if power is None else power
        return shared(wish, standing.offered, design.limits, power, standing.control, design.control_share)

    def _wish(self, counts: IntArray, standing: Standing, x: int) -> FloatArray:
        """With which probability the policy would propose each of those that are offered."""
        policy, evidence, draws = self.design.policy, Evidence(self.log.space, counts), self.design.spec.draws
        if len(standing.offered) == counts.shape[1]:
            found = policy.allocation(evidence, x, self.rng, draws)
            self.draws = max(self.draws, found.draws)
            return np.asarray(found.probability)
        wish = np.zeros(counts.shape[1])
        wish[list(standing.offered)] = among(policy.beliefs(evidence, x, self.rng), standing.offered, self.rng, draws)
        return wish
