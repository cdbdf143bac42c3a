"""The reference: trials of a plan one by one, in plain Python, with any policy and any reading.

It is what a live trial would do: each unit is proposed something by the probabilities of its time and answers as the
environment says, the policy sees the evidence that is known, and the rules read it by `takeup.policies.readings`. It is
slow, thousands of times slower than a kernel, and the oracle of every one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.design.bounded import reading_of
from takeup.design.plan import Plan
from takeup.design.running import NEVER_ABOVE
from takeup.design.scenarios import Scenario
from takeup.design.statistics import sees_actions, statistic_of
from takeup.environment import Environment
from takeup.evidence import Evidence
from takeup.log import SOURCES, Log
from takeup.policies import Uniform
from takeup.policies.beliefs import among
from takeup.policies.judging import GOING_ON, MAXIMUM, Standing, judge
from takeup.policies.limits import shared
from takeup.policies.readings import Reading, comparison
from takeup.randomness import stream
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels.look_layout import room_for
from takeup.simulation.kernels.look_tables import NONE, LookOutput
from takeup.space import UNSEEN
from takeup.specfile import SpecError
from takeup.trial.rules import BoundedTable


def run(
    plan: Plan,
    scenarios: Mapping[str, Scenario],
    trials: range,
    seed: int,
    progress: Progress = silent,
    *,
    recording: bool = False,
) -> LookOutput:
    """Run these trials of a plan in each scenario; a trial depends on plan, scenario, seed and its number alone.

    `recording` keeps what superiority was asked of at every look.
    """
    check(plan)
    reading: Reading = reading_of(plan) if isinstance(plan.reading, BoundedTable) else plan.reading
    shape = (len(plan.design.space.proposals), statistic_of(plan).columns)
    output = room_for(len(scenarios), len(trials), shape, plan.looks.at.size if recording else 0)
    for i, scenario in enumerate(scenarios.values()):
        for row, number in enumerate(trials):
            found = Trial(plan, reading, scenario.environment, seed, number).run()
            if not recording:
                found = found._replace(top=found.top[:0], leader=found.leader[:0])
            for kept, part in zip(output, found, strict=True):
                kept[i, row] = part
            progress(1)
    return output


def check(plan: Plan) -> None:
    """An error that names the file, the key and the value, where not even this can run a plan."""
    spec = plan.design.spec
    sometimes = "always or never, as a plan does not say how often it is seen"
    never = "always, as the rules read what was taken"
    read = plan.reading == "compliers" or isinstance(plan.reading, BoundedTable)
    for key, value, wrong, allowed in (
        ("compliance", spec.compliance, spec.compliance == "sometimes" and sees_actions(plan), sometimes),
        ("compliance", spec.compliance, spec.compliance == "never" and read, never),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, allowed)


@dataclass(slots=True)
class Trial:
    """One trial, at work.

    Attributes:
        plan: what is tried.
        reading: what the rules read.
        environment: the truth.
        seed: of all trials.
        number: which of them it is.
    """

    plan: Plan
    reading: Reading
    environment: Environment
    seed: int
    number: int
    rng: np.random.Generator = field(init=False)
    chance: FloatArray = field(init=False)
    units: IntArray = field(init=False)
    probability: FloatArray = field(init=False)
    randomised: int = field(init=False, default=0)
    standing: Standing = field(init=False)

    def __post_init__(self) -> None:
        which = (self.seed, self.environment.fingerprint(), "plan")
        size = int(self.plan.looks.at[-1])
        self.rng = stream(*which, "policy", self.number)
        self.chance = stream(*which, "patients", self.number).random((size, 2))
        self.units = np.zeros((size, 3), dtype=np.int64)
        self.probability = np.zeros((size, len(self.plan.design.space.proposals)))
        self.standing = Standing.of(len(self.plan.design.space.proposals), self.plan.rules)

    def run(self) -> LookOutput:
        """What is kept of it."""
        plan, looks = self.plan, self.plan.looks
        never = np.full(looks.at.size, NEVER_ABOVE)  # what superiority is asked of is recorded without a threshold too
        rules = replace(plan.rules, superiority=never if plan.rules.superiority is None else plan.rules.superiority)
        dropped, reason = (np.zeros(len(plan.design.space.proposals), dtype=np.int64) for _ in range(2))
        top, leader = np.zeros(looks.at.size), np.zeros(looks.at.size, dtype=np.int64)
        for look in range(looks.at.size):
            self.randomise(look)
            known = self.evidence(int(looks.at[look]))
            compared = comparison(self.reading, known, plan.design.policy, self.rng, plan.design.spec.draws)
            verdict = judge(compared, rules, look, self.standing)
            self.standing = verdict.standing
            for k, why in verdict.dropped.items():
                dropped[k], reason[k] = look + 1, why
            for rule, k, probability, _ in verdict.probabilities:
                if rule == "superiority":
                    top[look], leader[look] = probability, k
            if verdict.status != GOING_ON:
                break
        status = verdict.status if verdict.status != GOING_ON else MAXIMUM
        last = self.standing.control if verdict.chosen is None else verdict.chosen
        chosen = NONE if last is None else last
        return LookOutput(status, look, chosen, self.statistic(), dropped, reason, top, leader)

    def randomise(self, look: int) -> None:
        """Those who come between the look before and this one."""
        looks, upto = self.plan.looks, int(self.plan.looks.randomised[look])
        if looks.update == "look" and self.randomised < upto:
            early = min(max(self.plan.design.spec.burn_in, self.randomised), upto)
            if early > self.randomised:
                self.respond(self.shares(None), early)
            if early < upto:
                self.respond(self.shares(None if look == 0 else look - 1), upto)
        while self.randomised < upto:
            known = max(self.randomised - looks.lag, 0)
            self.respond(self.shares(None if self.randomised < self.plan.design.spec.burn_in else known))

    def shares(self, moment: int | None) -> FloatArray:
        """The probability of each proposal after this look, or after so many outcomes; None before policies are asked.

        Where proposals have been dropped the policy allocates among those that are left.
        """
        plan, standing = self.plan, self.standing
        if moment is None or isinstance(plan.design.policy, Uniform):
            wish, power = np.array(plan.design.even), 1.0
        else:
            known = moment if plan.looks.update == "patient" else int(plan.looks.at[moment])
            wish, power = self.wish(self.evidence(known)), float(plan.soften[moment])
        return shared(wish, standing.offered, plan.limits, power, standing.control, plan.control_share)

    def wish(self, known: Evidence) -> FloatArray:
        """With which probability the policy would propose each of those that are offered."""
        policy, draws, offered = self.plan.design.policy, self.plan.design.spec.draws, self.standing.offered
        if len(offered) == len(known.space.proposals):
            return policy.allocation(known, 0, self.rng, draws).probability
        wish = np.zeros(len(known.space.proposals))
        wish[list(offered)] = among(policy.beliefs(known, 0, self.rng), offered, self.rng, draws)
        return wish

    def respond(self, shares: FloatArray, upto: int | None = None) -> None:
        """Randomise with these probabilities, one unit or until there are so many, and see what becomes of them."""
        first, last = self.randomised, self.randomised + 1 if upto is None else upto
        self.probability[first:last] = shares
        marks = np.cumsum(shares)
        z = np.searchsorted(marks, self.chance[first:last, 0] * marks[-1], side="right")
        truth = self.environment.phases
        starts = [step for step, _ in truth]
        phase = np.searchsorted(starts, np.arange(first, last), side="right") - 1
        for i in np.unique(phase):
            here = np.flatnonzero(phase == i)
            a, y = truth[i][1].respond(0, z[here], self.chance[first + here, 1])
            self.units[first + here] = np.stack([z[here], a, y], axis=1)
        self.randomised = last

    def evidence(self, known: int) -> Evidence:
        """What is known once so many outcomes are."""
        space = self.plan.design.space
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
            self.plan.design.space,
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
