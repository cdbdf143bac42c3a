"""Forms of plans that see what was done: what the kernels of TS-Check, TS-Obs and TS-Robust are told."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from takeup.checks import FloatArray
from takeup.design.plan import Plan
from takeup.design.scenarios import Scenario
from takeup.policies import TSCheck, TSObs, TSRobust
from takeup.posterior import Posterior
from takeup.simulation.kernels import (
    comparing,
    host,
    look_cells,
    look_draws,
    look_observed,
    look_rates,
    look_robust,
)
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.kernels.lanes import LaneDraws
from takeup.simulation.kernels.machine import LANES
from takeup.simulation.kernels.observed import MEANS


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """The policy's part of a form.

    Attributes:
        bind: which functions stand in for those of `look_rates`.
        given: what the policy is told.
        room: makes what it works with.
        reading: what the rules are told, where they read its model and need anything other than betas.
    """

    bind: Mapping[Plain, Plain]
    given: Any = ()
    room: Callable[[], Any] = tuple
    reading: Any = None


def good_of(plan: Plan) -> int:
    """The index of the better of two outcomes."""
    return int(np.argmax(plan.design.space.reward))


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


def betas_room(variables: int, total: float = np.inf) -> look_rates.BetasMemory:
    """Room to compare so many beta variables, of which none has parameters that sum to more than `total`."""
    return look_rates.BetasMemory(
        np.zeros((variables, 2)), np.zeros(1, dtype=np.int64), comparing.room(variables, total)
    )


def policy_part(plan: Plan, *, read: bool) -> Part:
    """How the policy allocates; with `read`, the rules read its own model, and it allocates by what they found."""
    policy = plan.design.policy
    if isinstance(policy, TSCheck):
        return _complying(plan, policy, read)
    if isinstance(policy, TSObs):
        return _compared(plan, policy, read) if compares(plan, read=read) else _apart(plan, policy, read)
    if isinstance(policy, TSRobust):
        return _robust(plan, policy, read)
    return Part({})


def compares(plan: Plan, *, read: bool) -> bool:
    """Whether TS-Obs has closed forms for all that is asked: with two proposals and actions, and no margin."""
    margins = read and (plan.rules.equivalence is not None or plan.rules.futility is not None)
    return plan.design.space.shape[1:] == (2, 2, 2) and not margins


def better_first(plan: Plan, prior: Posterior) -> FloatArray:
    """(a, b) of the better outcome of each arm, before any data."""
    good = good_of(plan)
    return np.ascontiguousarray(prior.outcome[0][:, [good, 1 - good]])


def _compliance(prior: Posterior) -> FloatArray:
    assert prior.compliance is not None  # both policies have one
    return np.ascontiguousarray(prior.compliance[0])


def _complying(plan: Plan, policy: TSCheck, read: bool) -> Part:
    space = plan.design.space
    prior = better_first(plan, policy.prior(space))
    given = look_cells.Complying(prior, host.intended(policy, space), comparing.grids())
    if read:
        return Part({look_rates.parameters: look_cells.complied}, given)
    return Part({look_rates.wish: look_cells.wish}, given, lambda: betas_room(len(prior)))


def _compared(plan: Plan, policy: TSObs, read: bool) -> Part:
    prior = policy.prior(plan.design.space)
    given = look_observed.Apart(better_first(plan, prior), _compliance(prior), 0, comparing.grids())
    bind: dict[Plain, Plain] = {look_rates.wish: look_observed.wish_two}
    if read:
        bind = {
            look_rates.read: look_observed.wish_two,
            look_rates.largest_of: look_observed.largest_of_two,
            look_rates.exceeds_of: look_observed.exceeds_of_two,
        }
    return Part(bind, given, lambda: betas_room(2))


def _counted(read: bool) -> dict[Plain, Plain]:
    """How draws are counted."""
    if not read:
        return {look_rates.wish: look_draws.wish}
    names = ("read", "largest_of", "exceeds_of", "less_of", "within_of")
    return {getattr(look_rates, name): getattr(look_draws, name) for name in names}


def _margins(plan: Plan, read: bool) -> look_draws.Margins | None:
    rules, worth = plan.rules, float(np.ptp(plan.design.space.reward))
    return look_draws.Margins(rules.equivalence_margin / worth, rules.futility_margin / worth) if read else None


def _room(plan: Plan, pairs: int, blocks: int, read: bool, model: Callable[[], Any]) -> Callable[[], Any]:
    """Room for draws of so many pairs of gammas, with the means of all actions in so many blocks of rows."""
    _, proposals, actions, _ = plan.design.space.shape
    work, table = MEANS + blocks * 2 * host.even(actions) * LANES, plan.design.spec.draws if read else 0

    def room() -> look_draws.DrawsMemory:
        lanes = LaneDraws(
            np.zeros(4 * pairs * LANES, dtype=np.float32),
            np.zeros(7 * LANES, dtype=np.uint32),
            np.zeros(work, dtype=np.float32),
            np.zeros(LANES, dtype=np.uint8),
        )
        values, kept = (np.zeros((proposals, width), dtype=np.float32) for width in (LANES, table))
        return look_draws.DrawsMemory(lanes, values, kept, model())

    return room


def _apart(plan: Plan, policy: TSObs, read: bool) -> Part:
    _, proposals, actions, _ = plan.design.space.shape
    prior = policy.prior(plan.design.space)
    draws = plan.design.spec.draws
    given = look_observed.Apart(better_first(plan, prior), _compliance(prior), draws, comparing.grids())
    pairs = actions + proposals * host.even(actions) // 2
    return Part(_counted(read), given, _room(plan, pairs, 1, read, tuple), _margins(plan, read))


def _robust(plan: Plan, policy: TSRobust, read: bool) -> Part:
    _, proposals, actions, _ = plan.design.space.shape
    prior = policy.prior(plan.design.space)
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
        unseen,
    )

    def model() -> look_robust.ModelsMemory:
        picked = np.zeros((actions, LANES), dtype=np.int64)
        return look_robust.ModelsMemory(np.zeros((actions, len(unseen))), np.zeros(strength.size), picked)

    bind: dict[Plain, Plain] = {
        **_counted(read),
        look_observed.prepare: look_robust.prepare,
        look_observed.draw_values: look_robust.draw_values,
    }
    pairs = proposals * (actions + host.even(actions) // 2)
    return Part(bind, given, _room(plan, pairs, proposals, read, model), _margins(plan, read))


def _possibilities(strength: int) -> FloatArray:
    """S, κ - S, and whether all is shared."""
    if strength < 0:
        return np.array([[0.0, 0.0, 1.0]])
    unseen = np.arange(strength + 1.0)
    return np.stack([unseen, strength - unseen, np.zeros_like(unseen)], axis=1)
