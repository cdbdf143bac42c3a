"""What the kernel draws and reads where outcomes are more than two levels, numbers, counts or times."""

import math
from collections.abc import Sequence

import numpy as np

from takeup.checks import FloatArray
from takeup.conjugates import Dirichlet, GammaRate, NormalGamma
from takeup.design.form_parts import LEAST_SHAPE, Part, margins_of, room_for
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.design.statistics import Sums, prior_of, statistic_of
from takeup.outcomes import Count
from takeup.simulation.kernels import comparing, look_events, look_levels, look_numbers, look_rates, look_sums
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.tables import alias_table
from takeup.specfile import SpecError

SPARE = 2.0
"""How many times narrower than is expected a trial may leave a value, by chance."""
RARE = 1e-12
"""Outcomes that are less probable in all scenarios are not drawn: a word has 32 bits."""


def part_of(plan: Plan) -> Part:
    """How this plan's kind of outcome is drawn and read, by what was proposed."""
    block = prior_of(plan)
    if isinstance(block, NormalGamma):
        return _numbers(plan, block)
    if isinstance(block, GammaRate):
        return _events(plan, block)
    assert isinstance(block, Dirichlet)
    return _levels(plan, block)


def check(plan: Plan) -> None:
    """An error that names the file, the key and the value, where what is believed of values has no kernel."""
    block, utility = prior_of(plan), bool(getattr(plan.space.outcome, "utility", ()))
    events = float(block.events.min()) if isinstance(block, GammaRate) else 1.0
    kind = "bootstrap" if isinstance(block, Dirichlet) else "lognormal" if getattr(block, "logarithmic", False) else ""
    for key, value, wrong, allowed in (
        ("policy.likelihood.kind", kind, bool(kind), "normal"),
        ("space.outcomes.utility", "a utility", utility, "numbers that are worth themselves"),
        ("policy.likelihood.weight", f"{events:g} events", events < LEAST_SHAPE, f"at least {LEAST_SHAPE:g} events"),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, f"{allowed}, so far, on other engines than the reference")


def check_width(plan: Plan) -> None:
    """The same where so much would be known of a value that no grid of the kernel resolves it."""
    total, units = narrowest(plan), int(plan.looks.at[-1])
    if total > comparing.RESOLVED:
        fewer = f"at most about {units * comparing.RESOLVED / total:,.0f} units with values that vary as little"
        raise SpecError(
            f"{plan.source}: looks", f"{units:,} units", f"{fewer}, so far, on other engines than the reference"
        )


def narrowest(plan: Plan) -> float:
    """What the parameters of a beta as narrow as any proposal's value sum to, as expected where it is given to all."""
    block, units = prior_of(plan), float(plan.looks.at[-1])
    if isinstance(block, NormalGamma):  # laid out around a middle, in units of its own spread
        return 0.0
    every = [
        one for each in plan.scenarios.values() for one in (each.environment, *(e for _, e in each.environment.later))
    ]
    probability = np.stack([each.response[0].sum(axis=-2) for each in every])  # (E, K, Y)
    if isinstance(block, GammaRate):
        statistic = statistic_of(plan)
        assert isinstance(statistic, Sums)
        added = statistic.amounts(np.arange(probability.shape[-1]))[:, 0]
        return 4.0 * float((block.events[0] + units * (probability @ added)).max())
    assert isinstance(block, Dirichlet)
    a, b = look_levels.matched(block.alpha[0] + units * probability, _gain(plan))
    return float((a + b).max())


def _gain(plan: Plan) -> FloatArray:
    """What outcomes are worth, in parts of what they differ by."""
    reward: FloatArray = plan.space.reward
    return np.asarray((reward - reward.min()) / np.ptp(reward))


def outcomes(plan: Plan, scenarios: Sequence[Scenario]) -> look_levels.Levels | look_sums.Sums:
    """What comes of each proposal in all scenarios, whatever is taken."""
    probability = np.stack([each.environment.response[0].sum(axis=-2) for each in scenarios])  # (E, K, Y)
    statistic = statistic_of(plan)
    if not isinstance(statistic, Sums):
        left = np.cumsum(probability[..., ::-1], axis=-1)[..., ::-1]
        return look_levels.Levels(np.divide(probability, left, out=np.zeros_like(left), where=left > 0))
    codes = np.flatnonzero((probability > RARE).any(axis=(0, 1)))
    threshold, alias = alias_table(probability[..., codes].reshape(-1, codes.size))
    shape = len(scenarios), -1
    return look_sums.Sums(threshold.reshape(shape), alias.reshape(shape), statistic.amounts(codes))


def _levels(plan: Plan, block: Dirichlet) -> Part:
    """The mean of utilities under a Dirichlet distribution, as a beta variable."""
    finest = comparing.finest_for(SPARE * narrowest(plan))
    equivalence, futility = (comparing.grids(float(margin), finest) for margin in margins_of(plan))
    given = look_levels.Dirichlets(block.alpha[0].copy(), _gain(plan), equivalence, futility)
    bind: dict[Plain, Plain] = {look_rates.respond: look_levels.respond, look_rates.parameters: look_levels.parameters}
    return Part(bind, given, room_for(plan, math.inf, finest))


def _numbers(plan: Plan, block: NormalGamma) -> Part:
    """Means, by Student's t."""
    given = look_numbers.students(block, plan.rules.equivalence_margin, plan.rules.futility_margin)
    bind: dict[Plain, Plain] = {
        look_rates.respond: look_sums.respond,
        look_rates.read: look_numbers.read,
        look_rates.less_of: look_numbers.less_of,
        look_rates.within_of: look_numbers.within_of,
    }
    proposals = len(plan.space.proposals)
    return Part(bind, given, lambda: look_numbers.room(proposals))


def _events(plan: Plan, block: GammaRate) -> Part:
    """Rates, by gammas."""
    finest = comparing.finest_for(SPARE * narrowest(plan))
    given = look_events.gammas(block, plan.rules.equivalence_margin, plan.rules.futility_margin, finest)
    each = block.outcome.most if isinstance(block.outcome, Count) else 1
    most = 4.0 * (float(block.events.max()) + each * float(plan.looks.at[-1]))
    bind: dict[Plain, Plain] = {look_rates.respond: look_sums.respond, look_rates.read: look_events.read}
    return Part(bind, given, room_for(plan, most, finest))
