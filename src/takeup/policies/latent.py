"""Thompson sampling when compliance is not, or not always, seen."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.evidence import Event, Evidence, Index, at_context
from takeup.inference import meanfield
from takeup.inference.ascent import MAX_EVALUATIONS, TOLERANCE
from takeup.inference.meanfield import Fit
from takeup.policies.conjugate import TSObs
from takeup.posterior import Posterior
from takeup.randomness import Random
from takeup.space import Space


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TSLat(TSObs):
    """Thompson sampling with latent compliance: Stirn & Jebara (2019), section 3.4 and algorithm 2.

    It explains outcomes whose compliance was not seen by a mean-field approximation, and takes what was seen as it
    is: with all compliance seen it is TS-Obs exactly, with none it is the paper's TS-Lat. Each fit starts cold from
    the stream, so that what it proposes is a function of evidence and stream alone. Mean-field posteriors are too
    sure of themselves: it commits early, which is often right and sometimes costly. It assumes what TS-Obs assumes,
    and that compliance is missing at random: whether it is seen may depend on context, proposal and outcome, not on
    the action.

    Attributes:
        soft_start: M, how many outcomes a context must have seen before its evidence is used; until then it explores
            from the prior.
        restarts: how many cold starts are tried; the one with the highest ELBO wins. More than one pays where the
            modes of the ELBO differ: under priors below one, or that tell the actions apart.
        tolerance: the gain in ELBO below which a fit has converged.
        max_evaluations: how many evaluations a fit may take.
    """

    soft_start: int = 0
    restarts: int = 1
    tolerance: float = TOLERANCE
    max_evaluations: int = MAX_EVALUATIONS

    def __post_init__(self) -> None:
        checks.whole("soft_start", self.soft_start, least=0)
        checks.whole("restarts", self.restarts, least=1)
        checks.whole("max_evaluations", self.max_evaluations, least=3)
        checks.positive("tolerance", self.tolerance)

    @property
    def name(self) -> str:
        """TS-Lat-M, as the paper writes it."""
        return f"TS-Lat-{self.soft_start}"

    def update(self, prior: Posterior, evidence: Evidence, rng: Random) -> Posterior:
        """q(μ) q(π), the mean-field approximation of the posterior."""
        return self.fit(prior, evidence, rng)[0]

    def fit(self, prior: Posterior, evidence: Evidence, rng: Random) -> tuple[Posterior, Fit]:
        """The approximation, and how the fit went."""
        return meanfield.cold(
            prior,
            self.used(evidence),
            rng,
            restarts=self.restarts,
            tolerance=self.tolerance,
            max_evaluations=self.max_evaluations,
        )

    def used(self, evidence: Evidence) -> Evidence:
        """The evidence without that of contexts which are still in their soft start."""
        return evidence.only(evidence.seen_outcomes >= self.soft_start)


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
class WarmTSLat:
    """TS-Lat whose fits go on from the last one: faster, and for simulations alone, as it depends on the path.

    Attributes:
        latent: the TS-Lat whose parameters it takes; its restarts are not used.
    """

    latent: TSLat = TSLat()
    live: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """TS-Lat-M warm."""
        return f"{self.latent.name} warm"

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Warm:
        """No evidence yet, and responsibilities that the first fit will replace."""
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
