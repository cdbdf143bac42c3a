"""The course of one trial of a plan: who was randomised, what became of them, and what looks concluded."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.plan import Plan
from takeup.design.running import NEVER_ABOVE
from takeup.design.statistics import statistic_of
from takeup.evidence import Evidence
from takeup.log import SOURCES, Log
from takeup.policies.judging import GOING_ON, MAXIMUM, Rules, Standing, judge
from takeup.policies.readings import Reading, comparison
from takeup.simulation.kernels.look_tables import NONE, LookOutput
from takeup.space import UNSEEN


@dataclass(slots=True)
class Course:
    """One trial, whoever makes its proposals.

    Attributes:
        plan: what is tried.
        reading: what the rules read.
        units: z, a and y of each who was randomised; shape (units, 3).
        probability: with which each proposal was made; shape (units, Kz).
        randomised: how many there are.
        standing: what is left after the last look.
        rules: those of the plan; superiority is asked of without a threshold too.
        concluded: what looks concluded so far.
    """

    plan: Plan
    reading: Reading
    units: IntArray = field(init=False)
    probability: FloatArray = field(init=False)
    randomised: int = field(init=False, default=0)
    standing: Standing = field(init=False)
    rules: Rules = field(init=False)
    concluded: LookOutput = field(init=False)

    def __post_init__(self) -> None:
        plan, looks, proposals = self.plan, self.plan.looks.at.size, len(self.plan.space.proposals)
        size = int(plan.looks.at[-1])
        self.units = np.zeros((size, 3), dtype=np.int64)
        self.probability = np.zeros((size, proposals))
        self.standing = Standing.of(proposals, plan.rules)
        never = np.full(looks, NEVER_ABOVE)
        self.rules = replace(
            plan.rules, superiority=never if plan.rules.superiority is None else plan.rules.superiority
        )
        dropped, reason, leader = (np.zeros(many, dtype=np.int64) for many in (proposals, proposals, looks))
        self.concluded = LookOutput(GOING_ON, 0, NONE, None, dropped, reason, np.zeros(looks), leader)

    def hold(self, look: int, known: Evidence, rng: np.random.Generator) -> bool:
        """Hold a look, counted from 0; whether the trial ends by it, as it does by the last."""
        plan, so_far = self.plan, self.concluded
        compared = comparison(self.reading, known, plan.design.policy, rng, plan.design.spec.draws)
        verdict = judge(compared, self.rules, look, self.standing)
        self.standing = verdict.standing
        for k, why in verdict.dropped.items():
            so_far.dropped[k], so_far.reason[k] = look + 1, why
        for rule, k, probability, _ in verdict.probabilities:
            if rule == "superiority":
                so_far.top[look], so_far.leader[look] = probability, k
        ended: Any = verdict.status != GOING_ON
        last = self.standing.control if verdict.chosen is None else verdict.chosen
        chosen = NONE if last is None else last
        self.concluded = so_far._replace(status=verdict.status if ended else MAXIMUM, look=look, chosen=chosen)
        return bool(ended) or look == plan.looks.at.size - 1

    def output(self) -> LookOutput:
        """What is kept of it."""
        return self.concluded._replace(statistic=self.statistic())

    def evidence(self, known: int) -> Evidence:
        """What is known once so many outcomes are."""
        space = self.plan.space
        z, a, y = self.reported(known)
        counts = np.zeros(space.table, dtype=np.int64)
        np.add.at(counts[0], (z, a), space.outcome.amounts(y))
        return Evidence(space, counts)

    def reported(self, known: int) -> tuple[IntArray, IntArray, IntArray]:
        """What was proposed to the first so many, and what is reported of what was done and of what came of it."""
        z, a, y = self.units[:known].T
        return z, np.full_like(a, UNSEEN) if self.plan.design.spec.compliance == "never" else a, y

    def log(self) -> Log:
        """All that were randomised, once all are followed up."""
        n = self.randomised
        z, a, y = self.reported(n)
        by = np.minimum(np.arange(n) + 1 + self.plan.looks.lag, n)
        source = np.where(np.arange(n) < self.plan.design.spec.burn_in, SOURCES.index("burn-in"), 0)
        return Log.of(
            self.plan.space,
            z,
            self.probability[:n],
            implemented=a,
            outcome=y,
            outcome_by=by,
            source=source,
        )

    def statistic(self) -> IntArray:
        """Of all that were randomised."""
        z, a, y = self.units[: self.randomised].T
        statistic = statistic_of(self.plan)
        found = np.zeros((len(self.plan.design.even), statistic.columns), dtype=np.int64)
        np.add.at(found, z, statistic.added(a, y))
        return found
