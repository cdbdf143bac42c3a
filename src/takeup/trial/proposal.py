"""From evidence to a proposal: a pure function, so that any decision can be derived again."""

import hashlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.covariates import Profile
from takeup.policies.beliefs import among
from takeup.randomness import bits, stream
from takeup.space import UNSEEN, Space
from takeup.trial.computing import METER, FailedPolicyError
from takeup.trial.design import Design
from takeup.trial.leases import GRAIN, GRAIN_BITS
from takeup.trial.models import state_with
from takeup.trial.secret import Secret

NEARLY = 1e-6
"""How far from probabilities the numbers of a policy may be: rounding."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What is proposed, and with which probability.

    Attributes:
        index: z.
        probability: what z was drawn from; each a multiple of 2^-32, the sum exactly one.
        best: the probability that each proposal is best, before limits and burn-in.
    """

    index: int
    probability: tuple[float, ...]
    best: tuple[float, ...]


def propose(
    design: Design,
    secret: Secret,
    counts: IntArray,
    context: int,
    number: int,
    features: tuple[int, ...] | None = None,
    models: str | None = None,
) -> Proposal:
    """What to propose to the unit of decision `number`.

    Chance takes part twice. The vector of probabilities is a function of the seed, the context and what is known in it,
    or in all contexts where the policy borrows, of the unit's features where it learns from covariates, and of the
    models that were fitted last: decisions that know the same share one vector, however many they are.
    The proposal is drawn from that vector by bits that are a function of the seed and the decision's number alone, so
    its probability is what the vector says.

    Args:
        design: the trial's.
        secret: the trial's.
        counts: the evidence as the policy has it, n[x, z, a, y], or n[e, x, z, a, y] by epoch.
        context: x.
        number: i, counted from 1.
        features: v, where the policy learns from covariates.
        models: those that were fitted last, where the policy fits some and they have been.
    """
    best = best_of(design, secret, context, known_to(design, counts, context), features=features, models=models)
    probability, ends = spread(design, None if number <= design.spec.burn_in else best)
    return Proposal(drawn(ends, secret, number), probability, best)


def drawn(ends: Sequence[int], secret: Secret, number: int) -> int:
    """The proposal of decision `number`, where the grains of each end here."""
    return bisect_right(ends, bits(GRAIN_BITS, secret.number, "decision", number))


def prepare(design: Design, secret: Secret, counts: IntArray, context: int) -> None:
    """Work out now what a decision in this context would need, as long as nothing more becomes known in it."""
    if design.looks is not None or design.shown.covariates is not None:
        return  # probabilities change at looks, or what is offered has to be known; or nobody knows who comes next
    best_of(design, secret, context, known_to(design, counts, context))


def forget() -> None:
    """Forget what was worked out, so that an audit derives it again."""
    _best_of_one.cache_clear()
    _best_of_all.cache_clear()
    spread.cache_clear()


def informative(counts: IntArray, space: Space | None = None) -> IntArray:
    """A table, or a context's part of it, without decisions of which nothing is known yet: they inform nothing.

    Those of a space with covariates have sums, too.
    """
    known = counts.copy()
    known[..., UNSEEN, UNSEEN] = 0
    if space is not None and space.sums is not None:
        first = space.outcome.width + space.sums.triangle
        known[..., UNSEEN, first : first + space.sums.triangle] = 0
    return known


def known_to(design: Design, counts: IntArray, context: int) -> IntArray:
    """What a policy may read to decide in a context: n[z, a, y] of it, or n[x, z, a, y] where the policy borrows.

    Where it forgets, an axis for the epochs comes first.
    """
    return informative(counts if design.policy.borrows else counts[..., context, :, :, :], design.shown)


def allocated(
    design: Design,
    secret: Secret,
    context: int,
    known: IntArray,
    offered: tuple[int, ...] | None = None,
    features: tuple[int, ...] | None = None,
    models: str | None = None,
) -> tuple[float, ...]:
    """The probability that each proposal is best in a context, as far as `known` says.

    Args:
        design: the trial's.
        secret: the trial's.
        context: x.
        known: what the policy may read, see `known_to`.
        offered: the proposals that are still offered; all where left out.
        features: v, where the policy learns from covariates.
        models: those that were fitted last, where the policy fits some and they have been.

    Raises:
        FailedPolicyError: the policy gave something else.
    """
    table = known
    if not design.policy.borrows:
        table = np.zeros_like(design.start.counts)
        table[..., context, :, :, :] = known
    met = context if features is None else Profile(context, features)
    who: tuple[int | str, ...] = () if features is None else features
    if models is not None:
        who = (*who, hashlib.sha256(models.encode()).hexdigest())
    rng = stream(secret.number, "allocation", context, hashlib.sha256(known.tobytes()).hexdigest(), *who)
    state = state_with(design, table, models)
    draws, z = design.spec.draws, len(design.space.proposals)
    if offered is None or len(offered) == z:
        found = design.policy.allocation(state, met, rng, draws).probability
    else:
        found = np.zeros(z)
        found[list(offered)] = among(design.policy.beliefs(state, met, rng), offered, rng, draws)
    if found.shape != (z,):
        raise FailedPolicyError(f"its policy gave probabilities of shape {found.shape} for {z} proposals")
    if not ((found >= -NEARLY).all() and abs(found.sum() - 1) <= NEARLY):
        raise FailedPolicyError(
            "its policy gave numbers that are no probabilities: some below 0, or a sum other than 1"
        )
    return tuple((grains(np.maximum(found, 0.0)) / GRAIN).tolist())


def best_of(
    design: Design,
    secret: Secret,
    context: int,
    known: IntArray,
    offered: tuple[int, ...] | None = None,
    features: tuple[int, ...] | None = None,
    models: str | None = None,
) -> tuple[float, ...]:
    """What is allocated, within the limits of this process; kept as long as nothing more becomes known."""
    kept = _best_of_one if features is None and known.shape == design.shown.table[1:] else _best_of_all
    return kept(design, secret, context, known.tobytes(), known.shape, offered, features, models)


def _best_of(
    design: Design,
    secret: Secret,
    context: int,
    counts: bytes,
    shape: tuple[int, ...],
    offered: tuple[int, ...] | None,
    features: tuple[int, ...] | None,
    models: str | None,
) -> tuple[float, ...]:
    known = np.frombuffer(counts, dtype=np.int64).reshape(shape)
    return METER.run(lambda: allocated(design, secret, context, known, offered, features, models))


_best_of_one = lru_cache(maxsize=4096)(_best_of)
"""What follows from one context."""
_best_of_all = lru_cache(maxsize=64)(_best_of)
"""Whole tables, epochs and sums of covariates are large, and anything that becomes known in them makes another one."""


@lru_cache(maxsize=4096)
def spread(design: Design, best: tuple[float, ...] | None) -> tuple[tuple[float, ...], tuple[int, ...]]:
    """The probabilities within the limits, even where `best` is None, and where the grains of each end."""
    whole = grains(design.even if best is None else design.limits.project(np.array(best)))
    return tuple((whole / GRAIN).tolist()), tuple(np.cumsum(whole).tolist())


def grains(probability: FloatArray | tuple[float, ...]) -> IntArray:
    """Whole numbers that sum to GRAIN, in proportion; what rounding leaves over goes to the largest fractions."""
    given = np.asarray(probability, dtype=np.float64)
    exact = given / given.sum() * GRAIN
    whole: IntArray = np.floor(exact).astype(np.int64)
    left = GRAIN - int(whole.sum())
    whole[np.argsort(whole - exact, kind="stable")[:left]] += 1
    return whole
