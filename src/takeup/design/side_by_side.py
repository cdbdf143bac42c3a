"""Trials of a plan whose policy proposes by covariates, a hundred side by side.

As the reference it does what a live trial would do, unit after unit: who comes has covariates, is proposed something by
what the policy makes of all that is known, and answers as the scenario says. Rules read outcomes as ever, trial by
trial. Numbers of trials belong to blocks, which are run as a whole, so that a trial depends on plan, scenario, seed and
its number alone. Units are the same whatever is proposed to them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.covariates import Profile
from takeup.design.course import Course
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import ByUnit, statistic_of
from takeup.evidence import Event, Evidence
from takeup.policies.beliefs import Beliefs, Exact, drawn, highest
from takeup.policies.limits import shared, softened
from takeup.policies.linear import Lines
from takeup.policies.readings import Reading
from takeup.populations import CovariateEnvironment
from takeup.randomness import stream
from takeup.simulation.engine import Progress, silent
from takeup.simulation.kernels.look_layout import room_for
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.space import UNSEEN
from takeup.trial.proposal import informative

BLOCK = 100
"""How many trials run side by side."""
AHEAD = 50
"""In how many draws of the noise of two lines it is found which of them is ahead: given the noise it is exact."""
RESPONSE = 3
"""The uniform numbers of a response: hidden type, action and outcome."""


def run(
    plan: Plan,
    reading: Reading,
    scenarios: Mapping[str, Scenario],
    trials: range,
    seed: int,
    progress: Progress = silent,
    *,
    recording: bool = False,
) -> LookOutput:
    """Run these trials in each scenario; `recording` keeps what superiority was asked of at every look."""
    shape = (len(plan.space.proposals), statistic_of(plan).columns)
    output = room_for(len(scenarios), len(trials), shape, plan.looks.at.size if recording else 0)
    for i, scenario in enumerate(scenarios.values()):
        for block in range(trials.start // BLOCK, -(-trials.stop // BLOCK)):
            courses = Block(plan, reading, scenario, seed, block).run()
            numbers = [number for number in block_of(block) if number in trials]
            for number in numbers:
                found = courses[number - block * BLOCK].output()
                if not recording:
                    found = found._replace(top=found.top[:0], leader=found.leader[:0])
                for kept, part in zip(output, found, strict=True):
                    kept[i, number - trials.start] = part
            progress(len(numbers))
    return output


def block_of(number: int) -> range:
    """The numbers of the trials in a block."""
    return range(number * BLOCK, (number + 1) * BLOCK)


@dataclass(slots=True)
class SuitedCourse(Course):
    """The course of a trial in which it is known how well each proposal suited its unit.

    Attributes:
        suited: what `ByUnit` keeps of that, (Kz, 2).
    """

    suited: IntArray = field(init=False)

    def __post_init__(self) -> None:
        Course.__post_init__(self)
        self.suited = np.zeros((len(self.plan.space.proposals), 2), dtype=np.int64)

    def statistic(self) -> IntArray:
        """Of all that were randomised."""
        found = Course.statistic(self)
        found[:, -2:] += self.suited
        return found


@dataclass(slots=True)
class Block:
    """Trials side by side, at work.

    Attributes:
        plan: what is tried.
        reading: what the rules read.
        scenario: the truth.
        seed: of all trials.
        number: of the block.
        logging: whether the probabilities of all proposals are kept, which takes longer.
    """

    plan: Plan
    reading: Reading
    scenario: Scenario
    seed: int
    number: int
    logging: bool = False
    courses: list[SuitedCourse] = field(init=False)
    on: IntArray = field(init=False)
    state: Any = field(init=False)
    waiting: list[Event] = field(init=False, default_factory=list)
    learnt: int = field(init=False, default=0)
    rng: np.random.Generator = field(init=False)
    patients: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        truth = [each.fingerprint() for _, each in self.scenario.people]
        self.rng, self.patients = (
            stream(self.seed, *truth, "plan", name, self.number) for name in ("policies", "people")
        )
        self.courses = [SuitedCourse(self.plan, self.reading) for _ in range(BLOCK)]
        self.on = np.arange(BLOCK)
        self.state = self.plan.design.policy.start(self.plan.design.shown, (BLOCK,))

    def run(self, most: int | None = None) -> list[SuitedCourse]:
        """The course of each, to its end; or for so many units at most."""
        looks = self.plan.looks
        for look, upto in enumerate(looks.randomised.tolist()):
            first = 0 if look == 0 else int(looks.randomised[look - 1])
            for t in range(first, upto):
                if t == most:
                    return self.courses
                self.unit(t)
            self.hold(look)
            if not self.on.size:
                break
        return self.courses

    def hold(self, look: int) -> None:
        """Hold a look at every trial that goes on; those that end by it leave."""
        self.learn(int(self.plan.looks.at[look]))
        goes_on = np.array([not self.courses[row].hold(look, self.known(i), self.rng) for i, row in enumerate(self.on)])
        self.on = self.on[goes_on]
        self.state = replace(self.state, counts=self.state.counts[goes_on])
        self.waiting = [_rows(each, goes_on) for each in self.waiting]

    def known(self, i: int) -> Evidence:
        """What is known of one of those that go on, all decisions alike."""
        counts = self.state.counts[i]
        if self.plan.design.epochs is not None:
            counts = counts.sum(axis=0)
        return Evidence(self.plan.design.shown, informative(counts, self.plan.design.shown))

    def unit(self, t: int) -> None:
        """The next unit of each trial."""
        truth, policy = self.truth(t), self.plan.design.policy
        chance = self.patients.random((BLOCK, truth.uniforms + RESPONSE))[self.on]
        unit, value = truth.meet(chance[:, : truth.uniforms])
        self.learn(max(t - self.plan.looks.lag, 0))
        z = self.propose(t, unit)
        a, y = truth.respond(unit, z, chance[:, truth.uniforms :])
        self.keep(t, z, a, y, value)
        seen = np.full_like(a, UNSEEN) if self.plan.design.spec.compliance == "never" else a
        event = Event(unit.context, z, seen, y, t, features=unit.features)
        lag = self.plan.looks.lag
        if lag:
            pending = replace(event, implemented=UNSEEN, outcome=UNSEEN)
            self.state = policy.learn(self.state, pending, self.rng)
        self.waiting.append(event)

    def learn(self, known: int) -> None:
        """Let the policy know the first so many outcomes."""
        policy = self.plan.design.policy
        for event in self.waiting[: known - self.learnt]:
            if self.plan.looks.lag:
                pending = replace(event, implemented=UNSEEN, outcome=UNSEEN)
                self.state = policy.report(self.state, pending, event, self.rng)
            else:
                self.state = policy.learn(self.state, event, self.rng)
        self.waiting = self.waiting[max(known - self.learnt, 0) :]
        self.learnt = max(known, self.learnt)

    def truth(self, t: int) -> CovariateEnvironment:
        """What holds when this unit comes."""
        return [each for start, each in self.scenario.people if start <= t][-1]

    def keep(self, t: int, z: IntArray, a: IntArray, y: IntArray, value: FloatArray) -> None:
        """Write down what became of the unit of each trial."""
        statistic = statistic_of(self.plan)
        assert isinstance(statistic, ByUnit)
        suited = statistic.suited(value, self.scenario.nearly)[np.arange(z.size), z]
        for i, row in enumerate(self.on):
            course = self.courses[row]
            course.units[t] = z[i], a[i], y[i]
            course.suited[z[i]] += suited[i]
            course.randomised = t + 1

    def propose(self, t: int, unit: Profile) -> IntArray:
        """What is proposed to the unit of each trial."""
        plan, design = self.plan, self.plan.design
        standings = [self.courses[row].standing for row in self.on]
        offered = np.zeros((self.on.size, len(plan.space.proposals)), dtype=bool)
        for i, standing in enumerate(standings):
            offered[i, list(standing.offered)] = True
        known = max(t - plan.looks.lag, 0)
        even, power = t < design.spec.burn_in, float(plan.soften[known])
        if even:
            wish, power = np.broadcast_to(design.even, offered.shape) * offered, 1.0
        else:
            beliefs = design.policy.beliefs(self.state, unit, self.rng)
            if self.free(power) and not isinstance(beliefs, Exact):
                return highest(np.where(offered, beliefs.scores(self.rng), -np.inf))
            wish = wished(beliefs, offered, self.rng, design.spec.draws)
        share = self.shares(wish, offered, power)
        if self.logging:
            for i, row in enumerate(self.on):
                self.courses[row].probability[t] = share[i]
        return drawn(share, self.rng)

    def free(self, power: float) -> bool:
        """Whether proposals are made as the policy would like to, and nobody asks for their probabilities."""
        limits = self.plan.limits
        unlimited = np.max(limits.floor) == 0 and np.min(limits.ceiling) == 1
        return bool(unlimited and power == 1 and self.plan.control_share is None and not self.logging)

    def shares(self, wish: FloatArray, offered: NDArray[np.bool_], power: float) -> FloatArray:
        """The probabilities within the limits, (R, Kz); as `shared` has them of each."""
        plan, limits = self.plan, self.plan.limits
        if wish.shape[-1] == 2 and plan.control_share is None and offered.all():
            wish = softened(wish / wish.sum(axis=-1, keepdims=True), power)
            low, high = (np.broadcast_to(np.asarray(each, dtype=float), 2) for each in (limits.floor, limits.ceiling))
            first = np.clip(wish[:, 0], max(low[0], 1 - high[1]), min(high[0], 1 - low[1]))
            return np.stack([first, 1 - first], axis=1)
        standings = (self.courses[row].standing for row in self.on)
        return np.array(
            [
                shared(each, standing.offered, limits, power, standing.control, plan.control_share)
                for each, standing in zip(wish, standings, strict=True)
            ]
        )


def wished(beliefs: Beliefs, offered: NDArray[np.bool_], rng: np.random.Generator, draws: int) -> FloatArray:
    """With which probability a policy would propose each of those that are offered, (R, Kz); counted in draws."""
    if isinstance(beliefs, Exact):
        wish = np.where(offered, beliefs.probability, 0.0)
        return np.where(wish.sum(axis=-1, keepdims=True) > 0, wish, offered / offered.sum(axis=-1, keepdims=True))
    if isinstance(beliefs, Lines) and offered.shape[-1] == 2 and offered.all():
        ahead = beliefs.ahead(rng, min(draws, AHEAD))
        return np.stack([ahead, 1 - ahead], axis=-1)
    best = highest(np.where(offered, beliefs.scores(rng, draws), -np.inf))
    return np.stack([(best == k).mean(axis=0) for k in range(offered.shape[-1])], axis=-1)


def _rows(event: Event, rows: NDArray[np.bool_]) -> Event:
    """What is known of some trials."""
    context, proposal, implemented, outcome, features = (
        np.asarray(each)[rows]
        for each in (event.context, event.proposal, event.implemented, event.outcome, event.features)
    )
    return Event(context, proposal, implemented, outcome, event.number, features=features)
