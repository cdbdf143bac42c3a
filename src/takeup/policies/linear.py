"""Bandits with covariates: what proposing is worth is a line in a unit's features."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.conjugates.quadrature import Variables, normals, students
from takeup.covariates import ONE, LeastSquares, Profile
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Evidence, at_context
from takeup.inference.linear import Regression, Sums
from takeup.outcomes import Outcome
from takeup.policies.allocation import Allocation
from takeup.policies.base import FromEvidence
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.card import Bound, Card, Counts, Real, Variant
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

MIDDLE = 0.5
"""What a gain is taken to be before any data: half of the way from the least to the greatest reward."""
SPREAD, FREEDOM = 0.25, 2.0
"""Where the noise is learnt: its standard deviation before any data, in parts of that way, and how many outcomes that
is worth."""
MOST_PILOT = 1e18

By: TypeAlias = Literal["proposal", "action", "both"]
"""What sums are told apart by."""

LINE: dict[str, Bound] = {"ridge": Real(least=1e-6, most=1e6), "noise": Real(least=1e-6, most=1e3, optional=True)}
"""The parameters of a line's prior."""

KERNELS = ("takeup.simulation.kernels.linear",)


def line(ridge: float, noise: float | None, shape: tuple[int, ...]) -> Regression:
    """What is believed of lines through gains, MIDDLE taken off, before any data; `shape` is (.., p)."""
    if noise is None:
        return Regression.prior(np.full(shape, ridge), square=SPREAD**2, freedom=FREEDOM)
    return Regression.prior(np.full(shape, ridge), square=noise**2)


def sums_here(evidence: Evidence, unit: Profile, by: By, pilot: FloatArray | None = None) -> LeastSquares:
    """The sums of a unit's context, [.., z], [.., a] or [.., z, a], and those of a pilot.

    By proposal they are of all decisions, else of those whose compliance was seen. Whole numbers are added before they
    are divided, so that the same decisions give the same bits.
    """
    space = evidence.space
    if space.sums is None:
        raise UnsuitableError("the space has no covariates; give it covariates={'age': Measure(18, 100)}")
    here: IntArray | FloatArray = at_context(evidence.counts, unit.context, trailing=4)[..., 0, :, :, :]
    if pilot is not None:
        here = here + at_context(pilot, unit.context, trailing=4)[..., 0, :, :, :]
    if by == "proposal":
        here = here.sum(axis=-2)
    else:
        here = here[..., :-1, :] if by == "both" else here[..., :-1, :].sum(axis=-3)
    return space.sums.least_squares(here[..., space.outcome.width : -1], space.outcome.seen(here))


def around_middle(sums: LeastSquares) -> Sums:
    """The sums of gains from which MIDDLE is taken off; the first feature is 1."""
    product = sums.product - MIDDLE * sums.gram[..., 0, :]
    square = sums.square - 2 * MIDDLE * sums.product[..., 0] + MIDDLE**2 * sums.count
    return Sums(sums.count, sums.gram, product, np.maximum(square, 0.0))


def features_of(unit: Profile) -> FloatArray:
    """From 0 to 1; shape (.., d)."""
    return np.asarray(unit.features, dtype=np.float64) / ONE


def worth(outcome: Outcome, gain: FloatArray) -> FloatArray:
    """The rewards of gains; a line may lead beyond what there is, and then it is the end of that."""
    return np.asarray(outcome.lowest + (outcome.highest - outcome.lowest) * np.clip(gain, 0.0, 1.0))


@dataclass(frozen=True, slots=True, eq=False)
class Lines(Beliefs):
    """A line for each proposal, at the features of one unit.

    Attributes:
        regression: of gains, MIDDLE taken off; leading axes (.., Kz).
        features: v; shape (.., 1, d).
        outcome: what gains are of.
    """

    regression: Regression
    features: FloatArray
    outcome: Outcome

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """v'θ in draws of θ, however far it leads."""
        return self.regression.values(self.features, rng, draws)

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """The rewards that this is."""
        return worth(self.outcome, self.scores(rng, draws) + MIDDLE)

    def variables(self) -> Variables | None:
        """Independent normal variables, or Student's t; None with many proposals."""
        centre, scale = self.regression.centre(self.features), self.regression.scale(self.features)
        freedom = self.regression.freedom
        scale = np.maximum(scale, 1e-300)
        known = bool(np.isinf(freedom).all())
        return normals(centre, scale) if known else students(centre, scale, freedom)

    def ahead(self, rng: Random, draws: int) -> FloatArray:
        """P(the first of two is the higher), (..): by draws of the noise, given which it is exact."""
        centre, width = self.regression.centre(self.features), self.regression.width(self.features)
        spread = np.sqrt(((self.regression.noise(rng, (draws,)) * width) ** 2).sum(axis=-1))
        apart = (centre[..., 0] - centre[..., 1]) / np.maximum(spread, 1e-300)
        return np.asarray(ndtr(apart).reshape(-1, *centre.shape[:-1]).mean(axis=0))

    def allocation(self, rng: np.random.Generator, draws: int) -> Allocation:
        """Exact; with many proposals from draws."""
        variables = self.variables()
        if variables is None:
            return Beliefs.allocation(self, rng, draws)
        p = variables.largest()
        return Allocation(p, np.zeros(p.size), draws=0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinTS(FromEvidence):
    """Thompson sampling with a line for each proposal: Agrawal & Goyal (2013), with a regression for each arm.

    The reward is v'θ[z] + ε, whatever became of the proposal, so that it is right however compliance comes about as far
    as what proposing is worth is a line in the features. Every context has lines of its own. Rewards are rescaled to
    [0, 1], of which 1/2 is what is expected before any data.

    Attributes:
        ridge: how many outcomes at a feature of 1 the prior of its coefficient, which is around zero, is worth.
        noise: the standard deviation of rescaled rewards around the line, where it is known; left out, it is learnt, of
            each proposal by itself. Agrawal & Goyal have a ridge of 1 and call the noise v.
        pilot: what a pilot's decisions add up to, as evidence has it; `informed` fills it in.
    """

    card: ClassVar[Card] = Card(
        name="LinTS",
        family="Thompson sampling",
        source="Agrawal & Goyal (2013)",
        compliance="not used",
        variants=(
            Variant(
                "Thompson sampling by intention to treat, with covariates: what proposing is worth is a line in them.",
                common=True,
            ),
        ),
        outcomes="valued",
        parameters={**LINE, "pilot": Counts(MOST_PILOT)},
        covariates=True,
        kernels=KERNELS,
    )
    ridge: float = 1.0
    noise: float | None = None
    pilot: ArrayLike | None = None

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; checks that the pilot fits the space."""
        self.suits(space)
        pilot_of(self.pilot, space)
        return Evidence.empty(space, batch)

    def informed(self, prior: Prior) -> Self:
        """With the pilot's decisions, on top of any before."""
        counts = np.asarray(prior.discount * prior.evidence.counts)
        return replace(self, pilot=counts if self.pilot is None else pilot_of(self.pilot, prior.space) + counts)

    def beliefs(self, evidence: Evidence, context: Profile, rng: Random) -> Beliefs:
        """A line for each proposal."""
        features = features_of(context)[..., np.newaxis, :]
        sums = sums_here(evidence, context, "proposal", pilot_of(self.pilot, evidence.space))
        prior = line(self.ridge, self.noise, sums.product.shape)
        return Lines(prior.plus(around_middle(sums)), features, evidence.space.outcome)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinUCB(FromEvidence):
    """The upper confidence bound on a line for each proposal: Li et al. (2010), with disjoint models.

    It proposes what has the highest v'θ[z] + α sqrt(v' B[z]^-1 v), with B = λ I + Σ v v'; by chance
    only where two tie. Rewards are rescaled to [0, 1], of which 1/2 is what is expected before any data. Every context
    has lines of its own.

    Attributes:
        alpha: α, how many standard errors it is optimistic by, in units of the noise.
        ridge: λ.
    """

    card: ClassVar[Card] = Card(
        name="LinUCB",
        family="bandits",
        source="Li, Chu, Langford & Schapire (2010)",
        compliance="not used",
        variants=(Variant("The most promising line within its uncertainty, with covariates; never by chance."),),
        outcomes="valued",
        parameters={"alpha": Real(least=0, most=1e6), "ridge": LINE["ridge"]},
        covariates=True,
        kernels=KERNELS,
    )
    alpha: float = 0.5
    ridge: float = 1.0

    def beliefs(self, evidence: Evidence, context: Profile, rng: Random) -> Beliefs:
        """One for the highest bound, shared by those that tie."""
        features = features_of(context)[..., np.newaxis, :]
        sums = sums_here(evidence, context, "proposal")
        after = line(self.ridge, 1.0, sums.product.shape).plus(around_middle(sums))
        bound = after.centre(features) + self.alpha * after.width(features)
        return Exact.tied(bound == bound.max(axis=-1, keepdims=True))


def pilot_of(given: ArrayLike | None, space: Space) -> FloatArray | None:
    """A pilot's sums, checked against the space."""
    if given is None:
        return None
    sums = checks.real("pilot", given)
    if sums.shape != space.table:
        axes = "context, proposal, implemented or UNSEEN, what a decision adds"
        raise InputError("pilot", f"shape {sums.shape}", f"sums of shape {space.table}, the axes: {axes}")
    return sums
