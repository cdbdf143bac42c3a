"""How policies that see what was done allocate: the functions of the kernel, and what they are told."""

from collections.abc import Callable
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.design.form_parts import Part, betas_room, better_first, compares, prior_of_proposing, reads_model
from takeup.design.plan import Plan
from takeup.policies import TS, TSCheck, TSObs, TSRobust
from takeup.posterior import Posterior
from takeup.simulation.kernels import comparing, host, look_cells, look_draws, look_observed, look_rates, look_robust
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.observed import MEANS


def policy_part(plan: Plan) -> Part:
    """The part of the policy; where the rules read its own model it allocates by what they found."""
    policy = plan.design.policy
    if isinstance(policy, TSCheck):
        return _complying(plan, policy)
    if isinstance(policy, TS) and not isinstance(plan.reading, str):
        return _proposing(plan)
    if isinstance(policy, TSObs):
        return _compared(plan, policy) if compares(plan) else _apart(plan, policy)
    if isinstance(policy, TSRobust):
        return _robust(plan, policy)
    return Part({})


def _complying(plan: Plan, policy: TSCheck) -> Part:
    space = plan.space
    prior = better_first(plan, policy.prior(space))
    given = look_cells.Complying(prior, host.intended(policy, space), comparing.grids())
    if reads_model(plan):
        return Part({}, given)
    return Part({look_rates.wish: look_cells.wish}, given, betas_room(plan, prior))


def _proposing(plan: Plan) -> Part:
    """TS, where the rules do not read what proposing is worth."""
    prior = prior_of_proposing(plan)
    given = look_cells.Complying(prior, np.zeros(len(prior), dtype=np.int32), comparing.grids())
    bind: dict[Plain, Plain] = {
        look_rates.wish: look_cells.wish,
        look_cells.complied: look_cells.all_counted,
    }
    return Part(bind, given, betas_room(plan, prior))


def _compliance(prior: Posterior) -> FloatArray:
    assert prior.compliance is not None  # both policies have one
    return np.ascontiguousarray(prior.compliance[0])


def _compared(plan: Plan, policy: TSObs) -> Part:
    prior = policy.prior(plan.space)
    given = look_observed.Apart(better_first(plan, prior), _compliance(prior), 0, comparing.grids())
    bind: dict[Plain, Plain] = {} if reads_model(plan) else {look_rates.wish: look_observed.wish_two}
    return Part(bind, given, betas_room(plan, given.outcome, given.compliance))


def _counted(plan: Plan) -> dict[Plain, Plain]:
    return {} if reads_model(plan) else {look_rates.wish: look_draws.wish}


def _room(plan: Plan, pairs: int, blocks: int, model: Callable[[], Any]) -> Callable[[], Any]:
    """Room for draws of so many pairs of gammas, with the means of all actions in so many blocks of rows."""
    _, proposals, actions, _ = plan.space.shape
    work, table = MEANS + blocks * 2 * host.even(actions) * LANES, plan.design.spec.draws if reads_model(plan) else 0

    def room() -> look_draws.DrawsMemory:
        lanes = LaneDraws(
            np.zeros(4 * pairs * LANES, dtype=np.float32),
            np.zeros(11 * LANES, dtype=np.uint32),
            np.zeros(4 * LANES, dtype=np.float32),
            np.zeros(work, dtype=np.float32),
            np.zeros(LANES, dtype=np.uint32),
            np.zeros(1, dtype=np.uint32),
        )
        values, kept = (np.zeros((proposals, width), dtype=np.float32) for width in (LANES, table))
        return look_draws.DrawsMemory(lanes, values, kept, model())

    return room


def _apart(plan: Plan, policy: TSObs) -> Part:
    _, proposals, actions, _ = plan.space.shape
    prior = policy.prior(plan.space)
    draws = plan.design.spec.draws
    given = look_observed.Apart(better_first(plan, prior), _compliance(prior), draws, comparing.grids())
    pairs = actions + proposals * host.even(actions) // 2
    return Part(_counted(plan), given, _room(plan, pairs, 1, tuple))


def _robust(plan: Plan, policy: TSRobust) -> Part:
    _, proposals, actions, _ = plan.space.shape
    prior = policy.prior(plan.space)
    strength = np.array(policy.models, dtype=np.int64)
    unseen = np.concatenate([_possibilities(int(each)) for each in strength])
    start = np.concatenate([[0], np.cumsum(np.maximum(strength, 0) + 1)])
    given = look_robust.Models(
        better_first(plan, prior),
        _compliance(prior),
        plan.design.spec.draws,
        strength,
        start,
        policy.log_prior,
        float(policy.sharpness),
        float(policy.caution or 0.0),
        unseen,
    )

    def model() -> look_robust.ModelsMemory:
        upto = np.zeros((actions, 1 << (len(unseen) - 1).bit_length()))
        return look_robust.ModelsMemory(upto, np.zeros(strength.size), np.zeros((actions, 3 * LANES), dtype=np.float32))

    bind: dict[Plain, Plain] = {
        **_counted(plan),
        look_observed.prepare: look_robust.prepare,
        look_observed.draw_values: look_robust.draw_values,
    }
    pairs = proposals * (actions + host.even(actions) // 2)
    return Part(bind, given, _room(plan, pairs, proposals, model))


def _possibilities(strength: int) -> FloatArray:
    """S, κ - S, and whether all is shared."""
    if strength < 0:
        return np.array([[0.0, 0.0, 1.0]], dtype=np.float32)
    unseen = np.arange(strength + 1.0)
    return np.stack([unseen, strength - unseen, np.zeros_like(unseen)], axis=1, dtype=np.float32)
