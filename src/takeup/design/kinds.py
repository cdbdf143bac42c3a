"""What the kernel draws and reads where outcomes are more than two levels, numbers, counts or times."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates import Dirichlet, GammaRate, NormalGamma
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import Sums, prior_of, statistic_of
from takeup.outcomes import Levels
from takeup.simulation.kernels import comparing, look_events, look_levels, look_numbers, look_rates, look_sums
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.tables import alias_table

LEAST_SHAPE = 0.5
"""The least parameter of a prior with which the kernel's probabilities are as exact as is said of them."""
RARE = 1e-12
"""Outcomes that are less probable in all scenarios are not drawn: a word has 32 bits."""


class Kind(NamedTuple):
    """The parts of a form that depend on the kind of outcome.

    Attributes:
        bind: which functions stand in for those of `look_rates`.
        truth: what units are drawn from, in all scenarios.
        reading: what is believed before any data.
        room: makes the memory of the reading, for one trial at work.
    """

    bind: Mapping[Plain, Plain]
    truth: Any
    reading: Any
    room: Callable[[], Any]


def kind_of(plan: Plan, scenarios: Sequence[Scenario]) -> Kind:
    """What the kernel draws and reads for this plan's kind of outcome."""
    block = prior_of(plan)
    if isinstance(block, NormalGamma):
        return numbers(plan, block, scenarios)
    if isinstance(block, GammaRate):
        return events(plan, block, scenarios)
    assert isinstance(block, Dirichlet)
    return levels(plan, block, scenarios)


def unsuited(plan: Plan) -> list[tuple[str, object, bool, str]]:
    """What the kernel asks of a prior: key and value, whether it is wrong, and what is allowed."""
    block, utility = prior_of(plan), bool(getattr(plan.design.space.outcome, "utility", ()))
    if isinstance(block, GammaRate):
        return [_strength("likelihood.weight", block.events)]
    if isinstance(block, NormalGamma):
        kind = "lognormal" if block.logarithmic else "normal"
        return [
            ("policy.likelihood.kind", kind, block.logarithmic, "normal"),
            ("space.outcomes.utility", "a utility", utility, "numbers that are worth themselves"),
        ]
    if isinstance(block, Dirichlet) and isinstance(plan.design.space.outcome, Levels):
        return [_strength("alpha", block.alpha)]
    return [("policy.likelihood.kind", "bootstrap", True, "normal")]


def _strength(key: str, shape: FloatArray) -> tuple[str, object, bool, str]:
    least = float(shape.min())
    return f"policy.{key}", least, least < LEAST_SHAPE, f"a prior of at least {LEAST_SHAPE:g}"


def levels(plan: Plan, block: Dirichlet, scenarios: Sequence[Scenario]) -> Kind:
    """More outcomes, of which how many have each is a multinomial draw."""
    probability = _outcomes(scenarios)
    left = np.cumsum(probability[..., ::-1], axis=-1)[..., ::-1]
    truth = look_levels.Levels(np.divide(probability, left, out=np.zeros_like(left), where=left > 0))
    reward = plan.design.space.reward
    gain = (reward - reward.min()) / np.ptp(reward)
    worth = float(np.ptp(reward))
    margins = (plan.rules.equivalence_margin / worth, plan.rules.futility_margin / worth)
    reading = look_levels.Dirichlets(block.alpha[0].copy(), gain, *map(comparing.grids, margins))
    bind: dict[Plain, Plain] = {
        look_rates.draw: look_levels.draw,
        look_rates.parameters: look_levels.parameters,
    }
    return Kind(bind, truth, reading, _betas_room(plan))


def numbers(plan: Plan, block: NormalGamma, scenarios: Sequence[Scenario]) -> Kind:
    """Numbers, each unit drawn by itself and read by Student's t."""
    rules = plan.rules
    bind: dict[Plain, Plain] = {
        look_rates.draw: look_sums.draw,
        look_rates.read: look_numbers.read,
        look_rates.less_of: look_numbers.less_of,
        look_rates.within_of: look_numbers.within_of,
    }
    reading = look_numbers.students(block, rules.equivalence_margin, rules.futility_margin)
    proposals = len(plan.design.space.proposals)
    return Kind(bind, _sums(plan, scenarios), reading, lambda: look_numbers.room(proposals))


def events(plan: Plan, block: GammaRate, scenarios: Sequence[Scenario]) -> Kind:
    """Counts and times, each unit drawn by itself and read by gammas."""
    rules = plan.rules
    bind: dict[Plain, Plain] = {look_rates.draw: look_sums.draw, look_rates.read: look_events.read}
    reading = look_events.gammas(block, rules.equivalence_margin, rules.futility_margin)
    return Kind(bind, _sums(plan, scenarios), reading, _betas_room(plan))


def _outcomes(scenarios: Sequence[Scenario]) -> Any:
    """p(y given z), whatever is taken, in the only context; shape (E, K, Y)."""
    return np.stack([each.environment.response[0].sum(axis=-2) for each in scenarios])


def _sums(plan: Plan, scenarios: Sequence[Scenario]) -> look_sums.Sums:
    """Alias tables of the outcomes that can come up."""
    probability = _outcomes(scenarios)
    codes = np.flatnonzero((probability > RARE).any(axis=(0, 1)))
    some = probability[..., codes]
    threshold, alias = alias_table(some.reshape(-1, codes.size))
    statistic = statistic_of(plan)
    assert isinstance(statistic, Sums)
    shape = len(scenarios), -1
    return look_sums.Sums(threshold.reshape(shape), alias.reshape(shape), statistic.amounts(codes))


def _betas_room(plan: Plan) -> Callable[[], Any]:
    proposals = len(plan.design.space.proposals)
    return lambda: look_rates.BetasMemory(np.zeros(1, dtype=np.int64), comparing.room(proposals))
