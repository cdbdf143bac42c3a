"""Thompson sampling with covariates and outcomes that are a mixture of lines."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from takeup.checks import FloatArray
from takeup.covariates import Profile
from takeup.evidence import at_context
from takeup.inference.linear import Regression
from takeup.inference.mixture import Mixture, Weighted, fitted
from takeup.outcomes import Number, Outcome
from takeup.policies.beliefs import Beliefs
from takeup.policies.card import Card, Real, Variant, Whole
from takeup.policies.fitted import Fitted
from takeup.policies.linear import LINE, MIDDLE, features_of, line, worth
from takeup.policies.refitting import Refitting, by_arm, group_of, in_order
from takeup.randomness import Random
from takeup.rows import Rows


@dataclass(frozen=True, slots=True, eq=False)
class MixedLines(Beliefs):
    """A mixture of lines for each proposal, at the features of one unit.

    Attributes:
        mixture: of gains, MIDDLE taken off; leading axes (.., Kz).
        features: v; shape (.., 1, d).
        outcome: what gains are of.
    """

    mixture: Mixture
    features: FloatArray
    outcome: Outcome

    def scores(self, rng: Random, draws: int | None = None) -> FloatArray:
        """Σ_k π[k] v'w[k] in draws of both, however far it leads."""
        return self.mixture.values(self.features, rng, draws)

    def values(self, rng: Random, draws: int | None = None) -> FloatArray:
        """The rewards that this is."""
        return worth(self.outcome, self.scores(rng, draws) + MIDDLE)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MixtureTS(Refitting[Mixture]):
    """Variational Thompson sampling: Urteaga & Wiggins (2018), with a mixture of lines for each proposal.

    A reward is v'w[z, k] + ε, where k is a component that nobody sees, drawn with shares of its own for each proposal;
    see `takeup.inference.mixture`. It draws all parameters and proposes argmax_z Σ_k π[z, k] v'w[z, k], whatever became
    of a proposal. With one component it is LinTS at the last fit. It is fitted to all rows when there is one more, and
    later a fifth more, than at the last fit, each time anew. Every context has models of its own.

    Shares do not depend on the features. A mixture of levels or small counts would have a component for each of them,
    and nothing that the features say: for those there is a single component.

    Attributes:
        components: K, how many there are.
        alpha: the parameter of the Dirichlet prior of their shares; below 1 a component that is not needed is given up.
        ridge: how many outcomes at a feature of 1 the prior of its coefficient, which is around zero, is worth.
        noise: the standard deviation of rescaled rewards around each line, where it is known; left out, it is learnt.
    """

    card: ClassVar[Card] = Card(
        name="MixtureTS",
        family="Thompson sampling",
        source="Urteaga & Wiggins (2018)",
        compliance="not used",
        variants=(Variant("As LinTS, for numbers that are a mixture of groups nobody sees; simulations only."),),
        outcomes="valued",
        parameters={"components": Whole(1, 10), "alpha": Real(least=0.01, most=1e6), **LINE},
        covariates=True,
    )
    components: int = 2
    alpha: float = 0.1
    ridge: float = 1.0
    noise: float | None = None

    @property
    def live(self) -> bool:
        """Simulations only."""
        return False

    def fit(self, rows: Rows) -> tuple[Mixture, ...]:
        """The outcome by proposal."""
        arms, gains = len(rows.space.proposals), rows.space.outcome.gains()
        prior = line(self.ridge, self.noise, (rows.features.shape[-1],))
        components = self.components if isinstance(rows.space.outcome, Number) else 1
        group, groups = group_of(rows, rows.proposal, arms, rows.outcome)
        found = []
        for v, code, own in in_order(rows.features, group, groups, rows.outcome):
            table = Weighted(v, np.where(own, gains[code] - MIDDLE, 0.0), own.astype(np.float64))
            found.append(fitted(table, prior, self.alpha, components)[0])

        def together(name: str) -> FloatArray:
            return by_arm(rows, arms, [getattr(each.regression, name) for each in found])

        lines = Regression(*(together(name) for name in ("mean", "precision", "square", "freedom", "factor")))
        return (Mixture(by_arm(rows, arms, [each.shares for each in found]), lines),)

    def beliefs(self, state: Fitted[Mixture], unit: Profile, rng: Random) -> Beliefs:
        """All models at their last fit."""
        model, features = state.models[0], features_of(unit)[..., np.newaxis, :]
        lines = model.regression

        def here(array: FloatArray, trailing: int) -> FloatArray:
            return np.asarray(at_context(array, unit.context, trailing).squeeze(axis=-trailing))

        of_unit = Regression(
            here(lines.mean, 4),
            here(lines.precision, 5),
            here(lines.square, 3),
            here(lines.freedom, 3),
            here(lines.factor, 5),
        )
        return MixedLines(Mixture(here(model.shares, 3), of_unit), features, state.rows.space.outcome)
