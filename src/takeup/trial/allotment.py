"""How proposals are made in a trial with looks: as the last look left it, or as follows from every outcome."""

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from takeup.checks import IntArray
from takeup.policies.conjugate import Uniform
from takeup.policies.judging import Standing
from takeup.policies.limits import shared
from takeup.trial.design import Design
from takeup.trial.events import Looked
from takeup.trial.leases import GRAIN
from takeup.trial.proposal import Proposal, allocated, best_of, drawn, grains, known_to
from takeup.trial.secret import Secret


class Allotment(NamedTuple):
    """How proposals are made.

    Attributes:
        best: the probability that each proposal is best, of those that are offered.
        probability: with which each is proposed; multiples of 2^-32 that sum to one.
    """

    best: tuple[float, ...]
    probability: tuple[float, ...]


def standing_of(design: Design, look: Looked | None) -> Standing:
    """What is left of a trial after a look; all of it where none was held."""
    labels = design.space.proposals
    if look is None:
        return Standing.of(len(labels), design.rules)
    index = {label: z for z, label in enumerate(labels)}  # this is asked for every decision: one way through them
    return Standing(
        tuple(index[label] for label in look.offered), None if look.control is None else index[look.control]
    )


def _offering(design: Design, look: Looked | None) -> Standing:
    """What is offered by now: after an end that was advised, what was before it."""
    if look is None or look.still is None:
        return standing_of(design, look)
    return standing_of(design, replace(look, offered=tuple(look.still["offered"]), control=look.still.get("control")))


def proposed_between_looks(
    design: Design,
    secret: Secret,
    counts: IntArray,
    number: int,
    look: Looked | None,
    features: tuple[int, ...] | None = None,
    models: str | None = None,
) -> Proposal:
    """What to propose to the unit of decision `number`, after the look that was the last; as `propose` does it."""
    found = allotment(design, secret, counts, number, look, features, models)
    ends = np.cumsum(np.array(found.probability) * GRAIN).astype(np.int64)
    return Proposal(drawn(ends.tolist(), secret, number), found.probability, found.best)


def allotment(
    design: Design,
    secret: Secret,
    counts: IntArray,
    number: int,
    look: Looked | None,
    features: tuple[int, ...] | None = None,
    models: str | None = None,
) -> Allotment:
    """How decision `number` is made: evenly at first, then as the last look left it or as what is known now says.

    A look that advised an end changed nothing: proposals are made as before it, until somebody stops the trial.

    Args:
        design: the trial's.
        secret: the trial's.
        counts: the evidence as the policy has it, n[x, z, a, y], or n[e, x, z, a, y] by epoch.
        number: counted from 1.
        look: the last that was held.
        features: v, where the policy learns from covariates.
        models: those that were fitted last, where the policy fits some and they have been.
    """
    assert design.looks is not None  # who asks has looks
    if look is not None and look.probability is not None and (number > design.spec.burn_in or look.ended is not None):
        return Allotment(look.best or look.probability, look.probability)
    standing = _offering(design, look)
    if number <= design.spec.burn_in or design.looks.update == "look":
        return _allot(design, None, standing, 1.0)
    best = best_of(design, secret, 0, known_to(design, counts, 0), standing.offered, features, models)
    return _allot(design, best, standing, _power(design, counts))


def allotment_after(design: Design, secret: Secret, counts: IntArray, standing: Standing, look: int) -> Allotment:
    """How proposals are made after a look, where that is when probabilities change."""
    assert design.soften is not None  # it has looks
    best = allocated(design, secret, 0, known_to(design, counts, 0), standing.offered)
    return _allot(design, best, standing, float(design.soften[look]))


def _power(design: Design, counts: IntArray) -> float:
    """The power of the probabilities, by how many outcomes are known."""
    assert design.soften is not None  # it has looks
    known = int(design.space.outcome.seen(counts).sum())
    return float(design.soften[min(known, design.soften.size - 1)])


@lru_cache(maxsize=4096)
def _allot(design: Design, best: tuple[float, ...] | None, standing: Standing, power: float) -> Allotment:
    """Softened, shared with the control and within the limits; even where `best` is None or the policy is."""
    fixed = best is None or isinstance(design.policy, Uniform)
    wish = np.array(design.even if fixed else best)
    share = shared(
        wish, standing.offered, design.limits, 1.0 if fixed else power, standing.control, design.control_share
    )
    probability = tuple((grains(share) / GRAIN).tolist())
    return Allotment(probability if best is None else best, probability)
