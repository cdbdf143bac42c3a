"""The reference: trials of a plan one by one, in plain Python, with any policy and any reading.

It is what a live trial would do: each unit is proposed something by the probabilities of its time and answers as the
environment says, the policy sees the evidence that is known, and the rules read it by `takeup.policies.readings`. It is
slow, thousands of times slower than a kernel, and the oracle of every one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from takeup.checks import FloatArray
from takeup.design import side_by_side
from takeup.design.bounded import reading_of
from takeup.design.course import Course
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import sees_actions, statistic_of
from takeup.environment import Environment
from takeup.epochs import Epochs
from takeup.evidence import Evidence
from takeup.policies import Uniform
from takeup.policies.beliefs import among
from takeup.policies.limits import shared
from takeup.policies.meeting import uses_covariates
from takeup.policies.readings import Reading
from takeup.randomness import stream
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels.look_layout import room_for
from takeup.simulation.kernels.look_tables import LookOutput
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
    if uses_covariates(plan.design.policy):
        return side_by_side.run(plan, reading, scenarios, trials, seed, progress, recording=recording)
    shape = (len(plan.space.proposals), statistic_of(plan).columns)
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
class Trial(Course):
    """One trial, at work.

    Attributes:
        environment: the truth.
        seed: of all trials.
        number: which of them it is.
    """

    environment: Environment
    seed: int
    number: int
    rng: np.random.Generator = field(init=False)
    chance: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        Course.__post_init__(self)
        which = (self.seed, self.environment.fingerprint(), "plan")
        self.rng = stream(*which, "policy", self.number)
        self.chance = stream(*which, "patients", self.number).random((len(self.units), 2))

    def run(self) -> LookOutput:
        """What is kept of it."""
        for look in range(self.plan.looks.at.size):
            self.randomise(look)
            if self.hold(look, self.evidence(int(self.plan.looks.at[look])), self.rng):
                break
        return self.output()

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
            wish, power = self.wish(self.state(known)), float(plan.soften[moment])
        return shared(wish, standing.offered, plan.limits, power, standing.control, plan.control_share)

    def wish(self, known: Evidence | Epochs) -> FloatArray:
        """With which probability the policy would propose each of those that are offered."""
        policy, draws, offered = self.plan.design.policy, self.plan.design.spec.draws, self.standing.offered
        if len(offered) == len(known.space.proposals):
            return policy.allocation(known, 0, self.rng, draws).probability
        wish = np.zeros(len(known.space.proposals))
        wish[list(offered)] = among(policy.beliefs(known, 0, self.rng), offered, self.rng, draws)
        return wish

    def state(self, known: int) -> Evidence | Epochs:
        """What the policy believes from once so many outcomes are known: by epoch, where it forgets."""
        start = self.plan.design.epochs
        if start is None:
            return self.evidence(known)
        counts, state = np.zeros_like(start.counts), replace(start, decided=self.randomised)
        slot = np.minimum(state.newest - np.arange(known) // start.length, len(counts) - 1)
        z, a, y = self.reported(known)
        np.add.at(counts[:, 0], (slot, z, a), self.plan.space.outcome.amounts(y))
        return replace(state, counts=counts)

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
