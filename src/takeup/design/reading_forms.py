"""What rules read where a plan sees what was done: the functions of the kernel, and what they are told."""

import numpy as np

from takeup.design.bounded import reading_of
from takeup.design.form_parts import Part, betas, betas_room, compares, margins_of, prior_of_proposing, reads_model
from takeup.design.plan import Plan
from takeup.policies import TSCheck
from takeup.simulation.kernels import (
    comparing,
    look_bounded,
    look_cells,
    look_compliers,
    look_draws,
    look_observed,
    look_rates,
)
from takeup.simulation.kernels.compile import Plain


def reading_part(plan: Plan) -> Part:
    """The part of the reading."""
    if plan.reading == "compliers":
        return _compliers(plan)
    if not isinstance(plan.reading, str):
        return _bounded(plan)
    given = betas(plan)
    room = betas_room(plan, given.prior)
    if not reads_model(plan):
        return Part({look_rates.parameters: look_cells.parameters}, given, room)
    if isinstance(plan.design.policy, TSCheck):
        return Part({look_rates.parameters: look_cells.complied}, given, room)
    if compares(plan):
        two: dict[Plain, Plain] = {
            look_rates.read: look_observed.wish_two,
            look_rates.largest_of: look_observed.largest_of_two,
            look_rates.exceeds_of: look_observed.exceeds_of_two,
        }
        return Part(two, given, room)
    names = ("read", "largest_of", "exceeds_of", "less_of", "close_of", "within_of")
    bind: dict[Plain, Plain] = {getattr(look_rates, name): getattr(look_draws, name) for name in names}
    return Part(bind, look_draws.Margins(*map(float, margins_of(plan))))


def _compliers(plan: Plan) -> Part:
    space = plan.space
    intended = np.array(space.complying("the effect among compliers"), dtype=np.int64)
    given = look_compliers.Effects(prior_of_proposing(plan), comparing.grids(), margins_of(plan), intended)
    bind: dict[Plain, Plain] = {
        look_rates.parameters: look_cells.parameters,
        look_rates.less_of: look_compliers.less_of,
        look_rates.close_of: look_compliers.close_of,
    }
    return Part(bind, given, betas_room(plan, given.prior))


def _bounded(plan: Plan) -> Part:
    chosen = reading_of(plan)
    _, proposals, actions, _ = plan.space.shape
    worth = float(np.ptp(plan.space.reward))
    given = look_bounded.Promise(
        np.asarray(chosen.bound / worth), chosen.control, np.ascontiguousarray(chosen.moved), margins_of(plan)
    )
    names = ("read", "largest_of", "exceeds_of", "most_of", "less_of", "close_of")
    bind: dict[Plain, Plain] = {getattr(look_rates, name): getattr(look_bounded, name) for name in names}

    def room() -> look_bounded.CellsMemory:
        units, mean, square = (np.zeros((proposals, actions)) for _ in range(3))
        return look_bounded.CellsMemory(units, mean, square, np.zeros(proposals), np.zeros(proposals))

    return Part(bind, given, room)
