"""The parts that forms are made of: what kernels are told of outcomes, and of which functions stand in for others."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import sees_actions
from takeup.policies import TS, TSObs
from takeup.posterior import Posterior
from takeup.simulation.kernels import comparing, look_cells, look_rates
from takeup.simulation.kernels.compile import Plain

LEAST_SHAPE = 0.5
"""The least parameter of a prior with which the kernel's probabilities are as exact as is said of them."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """What a reading, or a policy, adds to a form.

    Attributes:
        bind: which functions stand in for those of `look_rates`.
        given: what they are told.
        room: makes what they work with.
    """

    bind: Mapping[Plain, Plain]
    given: Any = ()
    room: Callable[[], Any] = tuple


def good_of(plan: Plan) -> int:
    """The index of the better of two outcomes."""
    return int(np.argmax(plan.space.reward))


def margins_of(plan: Plan) -> FloatArray:
    """The margins of equivalence and of futility, as shares of what outcomes can differ by."""
    rules = plan.rules
    return np.array([rules.equivalence_margin, rules.futility_margin]) / np.ptp(plan.space.reward)


def better_first(plan: Plan, prior: Posterior) -> FloatArray:
    """(a, b) of the better outcome of each arm, before any data."""
    good = good_of(plan)
    return np.ascontiguousarray(prior.outcome[0][:, [good, 1 - good]])


def prior_of_proposing(plan: Plan) -> FloatArray:
    """The same of each proposal by intention to treat: the policy's own where it is TS, else a uniform one."""
    policy = plan.design.policy
    return better_first(plan, (policy if isinstance(policy, TS) else TS()).prior(plan.space))


def betas(plan: Plan) -> look_rates.Betas:
    """What is believed of the value of each proposal before any data, by intention to treat."""
    equivalence, futility = (comparing.grids(float(margin)) for margin in margins_of(plan))
    return look_rates.Betas(prior_of_proposing(plan), equivalence, futility)


def betas_room(plan: Plan, *priors: FloatArray) -> Callable[[], look_rates.BetasMemory]:
    """Room to compare a beta variable for each proposal, with (a, b) in the rows of one of these before any data."""
    return room_for(plan, float(max(prior.sum(axis=1).max() for prior in priors) + plan.looks.at[-1]))


def room_for(plan: Plan, total: float, finest: int = comparing.FINEST) -> Callable[[], look_rates.BetasMemory]:
    """Room to compare a variable for each proposal, none narrower than a beta whose parameters sum to `total`."""
    count = len(plan.space.proposals)

    def room() -> look_rates.BetasMemory:
        densities = comparing.room(count, total, finest)
        return look_rates.BetasMemory(np.zeros((count, 2)), np.zeros(1, dtype=np.int64), densities)

    return room


def responses(plan: Plan, scenarios: Sequence[Scenario]) -> look_cells.Responses:
    """What is done with each proposal and what comes of it, in all scenarios."""
    good = good_of(plan)
    joint = np.stack([each.environment.response[0] for each in scenarios])
    done = joint.sum(axis=-1)
    left = np.cumsum(done[..., ::-1], axis=-1)[..., ::-1]
    taken = np.divide(done, left, out=np.zeros_like(done), where=done > 0)
    last = (np.cumsum(done[..., ::-1] > 0, axis=-1) == 1)[..., ::-1] & (done > 0)
    success = np.divide(joint[..., good], done, out=np.zeros_like(done), where=done > 0)
    return look_cells.Responses(np.where(last, 1.0, taken), success, good)


def reads_model(plan: Plan) -> bool:
    """Whether the rules read the policy's own model, where that is another than what was proposed."""
    return plan.reading == "policy" and sees_actions(plan)


def compares(plan: Plan) -> bool:
    """Whether TS-Obs has closed forms for all that is asked: with two proposals and actions, and no margin read."""
    margins = reads_model(plan) and (plan.rules.equivalence is not None or plan.rules.futility is not None)
    return isinstance(plan.design.policy, TSObs) and plan.space.shape[1:] == (2, 2, 2) and not margins
