"""Replays in numpy, for every policy whose state is the evidence, many side by side; also what kernels are held to."""

from dataclasses import dataclass

import numpy as np

from takeup.analysis.replay_schedule import Schedule
from takeup.checks import FloatArray, IntArray
from takeup.evidence import Evidence
from takeup.log import Log
from takeup.policies.beliefs import Beliefs, Exact, drawn
from takeup.policies.limits import shared
from takeup.randomness import stream
from takeup.trial import Design
from takeup.trial.proposal import GRAIN, grains

BLOCK = 500
"""Replays side by side: those of a block share a stream."""


@dataclass(frozen=True, slots=True, eq=False)
class Replays:
    """Trials that were replayed.

    Attributes:
        proposal: what was proposed, (R, n).
        score: Σ_t e_t (d_t - E d_t) with the residual e and d = 1{one} - 1{other}, (R,); zero where nobody asked.
        variance: Σ_t e_t² Var d_t.
        probability: of the last of them, (n, Kz).
        draws: how many draws the probabilities rest on; 0 where they are exact.
    """

    proposal: IntArray
    score: FloatArray
    variance: FloatArray
    probability: FloatArray
    draws: int


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
) -> Replays:
    """Draw all proposals anew, so many times."""
    blocks = [
        _Walk(log, design, schedule, min(BLOCK, replays - first), stream(seed, "replay", first)).run(
            residual, pair, score=score
        )
        for first in range(0, replays, BLOCK)
    ]
    proposal, score_of, variance = (
        np.concatenate([getattr(each, name) for each in blocks]) for name in ("proposal", "score", "variance")
    )
    return Replays(proposal, score_of, variance, blocks[-1].probability, blocks[-1].draws)


def follow(log: Log, design: Design, schedule: Schedule, residual: FloatArray, pair: tuple[int, int]) -> Replays:
    """The trial as it was, with the probabilities that its design gives."""
    return _Walk(log, design, schedule, 1, stream(0, "replay")).run(residual, pair, score=True, follow=True)


class _Walk:
    """Some replays side by side, from the first decision to the last."""

    def __init__(self, log: Log, design: Design, schedule: Schedule, many: int, rng: np.random.Generator) -> None:
        self.log, self.design, self.schedule, self.rng = log, design, schedule, rng
        self.every = np.arange(many)
        self.counts = np.zeros((many, *log.space.table), dtype=np.int64)
        self.proposal = np.zeros((many, len(log)), dtype=np.int64)
        self.told: dict[int, tuple[int, int]] = {}
        self.draws = 0
        limits, control = design.limits, design.control_share
        self.limited = bool(np.any(limits.floor) or np.any(np.asarray(limits.ceiling) < 1) or control is not None)

    def run(self, residual: FloatArray, pair: tuple[int, int], *, score: bool, follow: bool = False) -> Replays:
        log, schedule, one, other = self.log, self.schedule, *pair
        total, variance = np.zeros(self.every.size), np.zeros(self.every.size)
        probability, learned = np.array(log.probability), 0
        for t in range(len(log)):
            for report in range(learned, int(schedule.known[t])):
                self._learn(report)
            learned = max(learned, int(schedule.known[t]))
            p: FloatArray | None = np.broadcast_to(log.probability[t], (self.every.size, len(log.space.proposals)))
            if schedule.asked[t]:
                plain = not (score or self.limited or schedule.power[t] != 1)
                p = None if plain else self._probability(t)
            if follow:
                self.proposal[:, t] = log.proposal[t]
            elif p is None:
                self.proposal[:, t] = self._beliefs(t).propose(self.rng)
            else:
                self.proposal[:, t] = drawn(p, self.rng)
            if p is not None:
                probability[t] = p[-1]
                d = (self.proposal[:, t] == one) * 1.0 - (self.proposal[:, t] == other)
                apart = p[:, one] - p[:, other]
                total += residual[t] * (d - apart)
                variance += residual[t] ** 2 * (p[:, one] + p[:, other] - apart**2)
        return Replays(self.proposal, total, variance, probability, self.draws)

    def _learn(self, report: int) -> None:
        """Move a decision to where it is known to be now."""
        i, outcome = int(self.schedule.decision[report]), self.log.space.outcome
        x, z, before = int(self.log.context[i]), self.proposal[:, i], self.told.get(i)
        a, y = int(self.schedule.implemented[report]), int(self.schedule.outcome[report])
        if before is not None:
            self.counts[self.every, x, z, before[0]] -= outcome.amounts(np.asarray(before[1]))
        self.counts[self.every, x, z, a] += outcome.amounts(np.asarray(y))
        self.told[i] = (a, y)

    def _beliefs(self, t: int) -> Beliefs:
        context = np.full(self.every.size, self.log.context[t])
        return self.design.policy.beliefs(Evidence(self.log.space, self.counts.copy()), context, self.rng)

    def _probability(self, t: int) -> FloatArray:
        """The probabilities by what is known in each replay, softened and within the limits; (R, Kz)."""
        x, policy, design = int(self.log.context[t]), self.design.policy, self.design
        beliefs = self._beliefs(t)
        if isinstance(beliefs, Exact):
            wish = np.broadcast_to(beliefs.probability, (self.every.size, len(self.log.space.proposals)))
        else:
            flat, back = np.unique(self.counts.reshape(self.every.size, -1), axis=0, return_inverse=True)
            found = [
                policy.allocation(Evidence(self.log.space, row), x, self.rng, design.spec.draws)
                for row in flat.reshape(-1, *self.log.space.table)
            ]
            self.draws = max(self.draws, *(each.draws for each in found))
            wish = np.array([each.probability for each in found])[back.reshape(-1)]
        power = float(self.schedule.power[t])
        if power == 1 and not self.limited:
            return np.asarray(wish)
        return np.array([self._shared(row, power) for row in wish])

    def _shared(self, wish: FloatArray, power: float) -> FloatArray:
        control, share = self.design.rules.control, self.design.control_share
        wish = grains(wish) / GRAIN
        return shared(wish, range(wish.size), self.design.limits, power, control, share)
