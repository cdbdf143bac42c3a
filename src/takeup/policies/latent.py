"""Thompson sampling when compliance is not, or not always, seen."""

from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self, TypeAlias, get_args

import numpy as np

from takeup.checks import FloatArray, IntArray
from takeup.conjugates import Bootstrap, Dirichlet
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Event, Evidence, Index, at_context
from takeup.inference import gibbs, gibbs_numbers, meanfield
from takeup.inference.ascent import MAX_EVALUATIONS, TOLERANCE
from takeup.inference.meanfield import Fit
from takeup.outcomes import Levels, Number
from takeup.policies.base import Carded, prior_at
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import ALikelihood, Card, OneOf, Positive, Real, Variant, Whole
from takeup.policies.conjugate import STIRN, TSObs
from takeup.posterior import Posterior
from takeup.prior import Prior
from takeup.randomness import Random
from takeup.space import Space

Inference: TypeAlias = Literal["meanfield", "gibbs"]


@dataclass(frozen=True, slots=True, eq=False)
class Chains(Beliefs):
    """The exact posterior in the limit of many sweeps: every draw is the end of a Gibbs chain of its own.

    Attributes:
        prior: of one context.
        evidence: of one context.
        sweeps: how many each chain takes.
    """

    prior: Posterior
    evidence: Evidence
    sweeps: int

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """E[r given x, z, θ] at the end of a chain for each draw."""
        counts = self.evidence.counts
        if draws is not None:
            counts = np.broadcast_to(counts, (draws, *counts.shape))
        blocks = _chain(self.prior, Evidence(self.evidence.space, counts), rng, self.sweeps)
        return blocks.sample_values(rng)[..., 0, :]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSLat(TSObs):
    """Thompson sampling with latent compliance: Stirn & Jebara (2019), section 3.4 and algorithm 2.

    It explains outcomes whose compliance was not seen by a mean-field approximation or by Gibbs sampling, and takes
    what was seen as it is: with all compliance seen it is TS-Obs exactly, with none and mean-field inference it is the
    paper's TS-Lat. Both start cold from the stream, so that what it proposes is a function of evidence and stream
    alone. Mean-field posteriors are too sure of themselves: it commits early, which is often right and sometimes
    costly. Gibbs sampling tends to the exact posterior as its sweeps grow. It assumes what TS-Obs assumes, and that
    compliance is missing at random: whether it is seen may depend on context, proposal and outcome, not on the action.

    Outcomes that are no levels need Gibbs sampling, and a bin for each of them, as in Number(0, 100, bins=101); by
    `Bootstrap` they are taken by their bins, however wide, and either way of inference does.

    Attributes:
        inference: "meanfield", or "gibbs", which costs its sweeps and has no long tails.
        sweeps: how many sweeps of Gibbs sampling a decision gets, always from a cold start.
        soft_start: M, how many outcomes a context must have seen before its evidence is used; until then it explores
            from the prior.
        restarts: how many cold starts are tried; the one with the highest ELBO wins. More than one pays where the
            modes of the ELBO differ: under priors below one, or that tell the actions apart.
        tolerance: the gain in ELBO below which a fit has converged.
        max_evaluations: how many evaluations a fit may take.
    """

    card: ClassVar[Card] = Card(
        name="TS-Lat",
        family="Thompson sampling",
        source=f"{STIRN}, section 3.4",
        compliance="used where seen",
        ignorable=True,
        outcomes="counted",
        variants=(
            Variant("As TS-Obs, and fills in what was done where nobody reported it."),
            Variant(
                "As TS-Lat-0, after 40 outcomes in each context during which it explores evenly.",
                {"soft_start": 40},
                common=True,
            ),
            Variant(
                "As TS-Lat-0 by random sampling instead of an approximation: exact and slow.",
                {"inference": "gibbs"},
                slow=True,
            ),
        ),
        parameters={
            "alpha": Positive(),
            "beta": Positive(),
            "inference": OneOf(get_args(Inference)),
            "sweeps": Whole(1, 10_000),
            "soft_start": Whole(0, 10**9),
            "restarts": Whole(1, 1_000),
            "tolerance": Real(above=0),
            "max_evaluations": Whole(3, 10**6),
            "likelihood": ALikelihood(),
        },
        kernels=("takeup.simulation.kernels.latent", "takeup.simulation.kernels.gibbs"),
    )
    inference: Inference = "meanfield"
    sweeps: int = gibbs.SWEEPS
    soft_start: int = 0
    restarts: int = 1
    tolerance: float = TOLERANCE
    max_evaluations: int = MAX_EVALUATIONS

    @property
    def name(self) -> str:
        """TS-Lat-M, as the paper writes it, and how it infers where that is not the paper's way."""
        return f"TS-Lat-{self.soft_start}" + (" Gibbs" if self.inference == "gibbs" else "")

    @property
    def fractional(self) -> bool:
        """Gibbs sampling places whole decisions."""
        return self.inference == "meanfield"

    def suits(self, space: Space) -> None:
        """An UnsuitableError where mean-field inference is asked for and outcomes are neither levels nor in bins."""
        if isinstance(space.outcome, Levels) or isinstance(self.likelihood, Bootstrap):
            return
        if self.inference == "meanfield":
            bins = ", or likelihood=Bootstrap() for bins" if isinstance(space.outcome, Number) else ""
            how = f"takes levels alone; use inference='gibbs'{bins}"
            raise UnsuitableError(f"{self.name}: this is a {space.outcome.kind}, and mean-field inference {how}")
        TSObs.suits(self, space)

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """q(μ) q(π), the mean-field approximation of the posterior; or the blocks given one Gibbs draw of the actions.

        Either way a World that is sampled from them is what a decision rests on. Of Gibbs sampling one such World is a
        draw from the posterior; the blocks as a whole are not the posterior, which `beliefs` draws from.
        """
        if self.inference == "gibbs":
            return _chain(prior, self.used(evidence), rng, self.sweeps)
        return self.fit(prior, evidence, rng)[0]

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """The fitted blocks of one context, or a chain for each draw."""
        if self.inference == "meanfield":
            return TSObs.beliefs(self, evidence, context, rng)
        return Chains(prior_at(self, evidence.space, context), self.used(evidence.at(context)), self.sweeps)

    def fit(self, prior: Posterior, evidence: Evidence, rng: Random) -> tuple[Posterior, Fit]:
        """The mean-field approximation, whatever `inference` says, and how the fit went."""
        return meanfield.cold(
            prior,
            self.used(evidence),
            rng,
            restarts=self.restarts,
            tolerance=self.tolerance,
            max_evaluations=self.max_evaluations,
        )

    def used(self, evidence: Evidence) -> Evidence:
        """The evidence without that of contexts which are still in their soft start; by bins for the bootstrap."""
        used = evidence.only(evidence.seen_outcomes >= self.soft_start)
        return used.by_cell() if isinstance(self.likelihood, Bootstrap) else used


def _chain(prior: Posterior, evidence: Evidence, rng: Random, sweeps: int) -> Posterior:
    """The end of a Gibbs chain, in each replication."""
    draw = gibbs.draw if isinstance(prior.block, Dirichlet) else gibbs_numbers.draw
    return draw(prior, evidence, rng, sweeps)


@dataclass(frozen=True, slots=True, eq=False)
class Warm:
    """What a warm-started TS-Lat remembers.

    Attributes:
        evidence: the counts.
        log_responsibilities: log φ[x, z, y, a] of each context's last fit.
    """

    evidence: Evidence
    log_responsibilities: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class WarmTSLat(Carded):
    """TS-Lat whose fits go on from the last one: faster, and for simulations alone, as it depends on the path.

    Attributes:
        latent: the TS-Lat whose parameters it takes; its restarts are not used.
    """

    card: ClassVar[Card] = Card(
        name="TS-Lat warm",
        family="Thompson sampling",
        source=f"{STIRN}, section 3.4",
        compliance="used where seen",
        ignorable=True,
        variants=(Variant("As TS-Lat-0, each fit going on from the last one: faster."),),
        kernels=("takeup.simulation.kernels.latent",),
    )
    latent: TSLat = TSLat()

    def __post_init__(self) -> None:
        if not isinstance(self.latent, TSLat) or self.latent.inference != "meanfield":
            raise InputError(
                "latent",
                getattr(self.latent, "name", repr(self.latent)),
                "a TSLat(inference='meanfield'): Gibbs chains start cold",
            )

    @property
    def name(self) -> str:
        """TS-Lat-M warm."""
        return f"{self.latent.name} warm"

    def informed(self, prior: Prior) -> Self:
        """The TS-Lat that it warms, informed."""
        return replace(self, latent=self.latent.informed(prior))

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Warm:
        """No evidence yet, and responsibilities that the first fit will replace."""
        self.suits(space)
        evidence = self.latent.start(space, batch)
        _, _, actions, _ = space.shape
        return Warm(evidence, np.full((*evidence.latent_outcomes.shape, actions), -np.log(actions)))

    def propose(self, state: Warm, context: Index, rng: Random) -> IntArray:
        """argmax_z of E[r given x, z, θ] in a draw θ from the last fit of the context."""
        prior = self.latent.prior(state.evidence.space).at(context)
        used = self.latent.used(state.evidence.at(context))
        here = at_context(state.log_responsibilities, context, trailing=4)
        value = meanfield.posterior_of(prior, used, here).sample(rng).value()
        return np.asarray(value[..., 0, :].argmax(axis=-1))

    def learn(self, state: Warm, event: Event, rng: Random) -> Warm:
        """One more decision, and a new fit of its context from the last one."""
        return self._refit(state, state.evidence.record(event), event.context, rng)

    def report(self, state: Warm, before: Event, after: Event, rng: Random) -> Warm:
        """A decision moved, and a new fit of its context from the last one."""
        return self._refit(state, state.evidence.move(before, after), after.context, rng)

    def _refit(self, state: Warm, evidence: Evidence, context: Index, rng: Random) -> Warm:
        """As in the paper, a newcomer's own φ is drawn afresh: the φ of a cell is the average over its n patients.

        Without it an early fit in which no action differs from another would never be left.
        """
        latent = self.latent
        prior = latent.prior(evidence.space).at(context)
        before, used = (latent.used(e.at(context)) for e in (state.evidence, evidence))
        patients = used.latent_outcomes
        new = np.clip((patients - before.latent_outcomes) / np.maximum(patients, 1), 0, 1)[..., np.newaxis]
        fresh = meanfield.cold_start(prior, patients.shape, rng)
        last = at_context(state.log_responsibilities, context, trailing=4)
        start = np.log((1 - new) * np.exp(last) + new * np.exp(fresh))
        tolerance, most = latent.tolerance, latent.max_evaluations
        _, fit = meanfield.warm(prior, used, start, tolerance=tolerance, max_evaluations=most)
        here = np.arange(len(evidence.space.contexts)) == np.asarray(context)[..., np.newaxis]
        responsibilities = np.where(here[..., None, None, None], fit.log_responsibilities, state.log_responsibilities)
        return Warm(evidence, responsibilities)
