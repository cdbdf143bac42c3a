"""Borrowing: contexts that learn from each other as far as the data say that they are alike."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates import Conjugate, Likelihood
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Evidence, Index, Weighted
from takeup.inference.borrowed_sharing import Responses, Sharing
from takeup.inference.borrowing import Distributions, Family, outcomes
from takeup.inference.pooling import SHARED
from takeup.outcomes import Levels
from takeup.policies.base import FromEvidence, prior_at
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Card, Compliance, Counts, Real, Several, Variant, Whole
from takeup.policies.conjugate import TS, TSCheck, TSObs
from takeup.policies.robust import MOST_PILOT, MOST_POOLED, TSRobust
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

BASES = (TS, TSCheck, TSObs, TSRobust)
_BASE = TS()


@dataclass(frozen=True, slots=True, eq=False)
class Borrowed(Beliefs):
    """What one context is believed to be like, the others taken into account.

    Attributes:
        outcome: the outcomes of each arm.
        compliance: what is done after each proposal; None in a model that takes every proposal as implemented.
        context: which one; it may be another in each replication.
    """

    outcome: Family
    compliance: Distributions | None
    context: Index

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given x, z, θ] in draws of κ, of what contexts share and of the context's own θ."""
        repeat = () if draws is None else (draws,)
        reward = self.outcome.rewards(self.context, rng, repeat)
        if self.compliance is None:
            return reward
        done = self.compliance.sample(self.context, rng, repeat)
        return np.asarray(np.einsum("...za,...a->...z", done, reward))


@dataclass(frozen=True, slots=True, eq=False)
class BorrowedSharing(Beliefs):
    """The same where it is in doubt how far proposals share their outcomes.

    Attributes:
        responses: the outcomes of those who were told z and did a.
        compliance: what is done after each proposal.
        context: which one; it may be another in each replication.
    """

    responses: Responses
    compliance: Distributions
    context: Index

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given x, z] in draws of κ, of how far proposals share, and of the blocks within both."""
        done = self.compliance.sample(self.context, rng, () if draws is None else (draws,))
        return np.asarray(np.einsum("...za,...za->...z", done, self.responses.rewards(rng, draws)))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Borrowing(FromEvidence):
    """A policy whose contexts learn from each other: partial pooling, or a hierarchical model over contexts.

    Contexts are separate strata to its base: twelve that are the same have to be learnt twelve times. Here each
    context's block has a prior that is centred on what contexts share, with the strength of a sample of κ people, and
    κ has a posterior over a few values (see `takeup.inference.borrowing`). A decision draws κ, then what is shared,
    then the context's own block, and proposes what is best by them. Outcomes have one κ, compliance another.

    With one context it is the base, and κ = 0 alone is the base with many.

    Attributes:
        base: TS, TSCheck, TSObs, or TSRobust where outcomes have levels; with one prior for all contexts. TSRobust is
            taken without caution, and leaves out decisions whose compliance is unseen.
        shared: the prior probability that all contexts are the same; 1 is the base with one context for all.
        pooled: the strengths κ of the other models, equally probable: 0 shares nothing, more shares more. They are
            counted in people; of counts and times, in events.
        pilot: n[x, z, a, y], what a pilot saw, with a last slot of a and y for what it did not see; `informed` fills it
            in. It counts as evidence does.
    """

    card: ClassVar[Card] = Card(
        name="Borrowing",
        family="Thompson sampling",
        source="takeup",
        compliance="not used",
        outcomes="all",
        variants=(
            Variant("Thompson sampling whose groups learn from each other as far as they turn out to be alike."),
            Variant(
                "TS-Obs whose groups learn from each other, in what is done and in what comes of it.",
                {"base": {"kind": "TSObs"}},
            ),
        ),
        parameters={
            "shared": Real(least=0, most=1),
            "pooled": Several(Whole(0, MOST_POOLED), most=32),
            "pilot": Counts(MOST_PILOT),
        },
        kernels=("takeup.simulation.kernels.borrowing",),
    )
    base: TS | TSObs | TSRobust = _BASE
    shared: float = 0.5
    pooled: Sequence[int] = (64, 8, 0)
    pilot: ArrayLike | None = None

    def __post_init__(self) -> None:
        FromEvidence.__post_init__(self)
        if type(self.base) not in BASES:
            allowed = f"one of {', '.join(kind.__name__ for kind in BASES)}"
            raise InputError("base", getattr(self.base, "name", repr(self.base)), allowed)
        if isinstance(self.base, TSRobust) and self.base.pilot is not None:
            raise InputError("base.pilot", "a pilot", "none", "give it as pilot, or call informed of this policy")
        if isinstance(self.base, TSRobust):  # contexts that borrow have no chains, and no values of their own to heed
            object.__setattr__(self, "base", replace(self.base, caution=None, sweeps=None))
        object.__setattr__(self, "pooled", tuple(int(strength) for strength in self.pooled))
        if self.shared < 1 and not self.pooled:
            raise InputError("pooled", "an empty list", "at least one strength unless shared is 1")

    @property
    def name(self) -> str:
        """The base's name, and in brackets what is not as it is by default."""
        other = {f.name: getattr(self, f.name) for f in fields(self) if f.name in ("shared", "pooled")}
        changed = [f"{name} {value}" for name, value in other.items() if value != getattr(_DEFAULTS, name)]
        return f"{self.base.name} borrowing" + (f" ({', '.join(changed)})" if changed else "")

    @property
    def compliance(self) -> Compliance:
        """What the base makes of it."""
        return self.base.compliance

    @property
    def ignorable(self) -> bool:
        """Whether the base takes it so."""
        return self.base.ignorable

    @property
    def borrows(self) -> bool:
        """It reads all contexts."""
        return True

    @property
    def likelihood(self) -> Likelihood | None:
        """That of the base."""
        return self.base.likelihood

    @property
    def models(self) -> tuple[int, ...]:
        """The strengths of the models that have a prior probability, SHARED first."""
        return (SHARED,) * (self.shared > 0) + tuple(self.pooled) * (self.shared < 1)

    @property
    def log_prior(self) -> FloatArray:
        """The log prior probability of each model."""
        return np.log(
            [self.shared if model == SHARED else (1 - self.shared) / len(self.pooled) for model in self.models]
        )

    def informed(self, prior: Prior) -> Self:
        """With the pilot's decisions on top of any before."""
        before, table = self._pilot(prior.space), prior.discount * prior.evidence.without_covariates().counts
        return replace(self, pilot=table if before is None else before + table)

    def suits(self, space: Space) -> None:
        """An UnsuitableError where the base does not take the outcomes, or is TSRobust and they have no levels."""
        self.base.suits(space)
        if isinstance(self.base, TSRobust) and not isinstance(space.outcome, Levels):
            others = ", ".join(kind.__name__ for kind in BASES if kind is not TSRobust)
            raise UnsuitableError(
                f"{self.name} takes outcomes with levels alone, and this is a {space.outcome.kind};"
                f" borrowing around {others} takes it"
            )

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet; checks that the base and the pilot fit the space, and that contexts have one prior."""
        self.suits(space)
        empty = self.base.start(space, batch)
        _check_alike(self.base.prior(space), len(space.contexts))
        self._pilot(space)
        return empty

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """What is believed of one context, given the evidence of all."""
        evidence = evidence.without_covariates()
        pilot = self._pilot(evidence.space)
        known = evidence
        if pilot is not None:
            known = Weighted(evidence.space, evidence.counts + pilot)  # type: ignore[arg-type]  # real numbers, there
        prior = prior_at(self.base, evidence.space, np.zeros_like(context))  # any: contexts have the same
        how = (self.models, self.log_prior)
        seen, responses = self.base.read(known)
        done = None
        if responses is not None:
            assert prior.compliance is not None  # the base learns what is done
            done = Distributions.of(prior.compliance[..., 0, :, :], responses, *how)
        if isinstance(self.base, TSRobust):
            assert done is not None
            sharing = Sharing(self.base.models, self.base.log_prior, self.base.sharpness)
            one = prior_at(self.base, evidence.space, 0)
            return BorrowedSharing(Responses.of(one, seen, sharing, context, *how), done, context)
        return Borrowed(outcomes(prior.block, seen, *how), done, context)

    def _pilot(self, space: Space) -> FloatArray | None:
        """The pilot's counts, checked."""
        if self.pilot is None:
            return None
        counts = checks.real("pilot", self.pilot)
        table = space.without_covariates().table
        if counts.shape != table:
            axes = "context, proposal, implemented or UNSEEN, outcome or UNSEEN"
            raise InputError("pilot", f"shape {counts.shape}", f"counts of shape {table}, the axes: {axes}")
        return counts


def _check_alike(prior: Posterior, contexts: int) -> None:
    """An InputError unless all contexts have the same prior."""
    held = {"beta": prior.compliance} | _held(prior.block)
    for name, parameters in held.items():
        if parameters is not None and (parameters != parameters[:1]).any():
            raise InputError(
                f"base.{name}",
                f"one for each of {contexts} contexts",
                "one prior for all contexts, which is what they may share",
                "what is known of each from before goes in as a pilot: Borrowing(..).informed(prior)",
            )


def _held(block: Conjugate) -> dict[str, FloatArray]:
    """What a block holds for each context."""
    found = {field.name: getattr(block, field.name) for field in fields(block)}  # type: ignore[arg-type]  # they all are
    shape = block.shape
    return {name: each for name, each in found.items() if np.shape(each)[: len(shape)] == shape}


_DEFAULTS = Borrowing()
