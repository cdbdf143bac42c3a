"""A CovariateEnvironment is the truth of a simulation in which units have covariates."""

import hashlib
import json
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.covariates import Profile
from takeup.environment import invert
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Index
from takeup.outcomes import Number
from takeup.populations import fitting
from takeup.populations.arrivals import Independent, Population, Resampled
from takeup.populations.models import Compliance, Linear, Logit, Outcomes, Table, check
from takeup.rows import Rows
from takeup.space import Space

PARTS: Mapping[str, type[Any]] = {kind.__name__: kind for kind in (Independent, Resampled, Table, Logit, Linear)}
"""What an environment is made of, by name."""

NODES = 32
"""Of the sums over h. With logits whose λ is 1, 2, 3 and 5 values are exact to 1e-12, 1e-7, 1e-4 and 1e-2."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class CovariateEnvironment:
    """Who comes, p(a given u, h, x, z, v) and p(y given u, h, x, z, a, v); nobody sees the type u, nor h ~ N(0, 1).

    Types confound: where those who take a drug are of another type than those who do not, and fare otherwise, how those
    fare who got it is not what it does. So does h, by degrees, where both models have coefficients for it. With a
    single type, and without h in one of them, compliance is ignorable, given context and covariates; and where the
    outcome does not depend on the proposal, that works through the action alone.

    Attributes:
        space: what the axes stand for; it has covariates.
        population: who comes.
        compliance: a Table or a Logit.
        outcome: a Table, a Logit or a Linear.
        share: the probability of each hidden type, (U,), or by context, (X, U); a single type where left out.
    """

    space: Space
    population: Population
    compliance: Compliance
    outcome: Outcomes
    share: ArrayLike = (1.0,)

    def __post_init__(self) -> None:
        if self.space.covariates is None:
            raise UnsuitableError(
                "a CovariateEnvironment needs a space with covariates; without them it is Environment"
            )
        for name, kind in (("population", Population), ("compliance", Compliance), ("outcome", Outcomes)):
            if not isinstance(getattr(self, name), kind):
                allowed = {"population": "Independent(..) or Resampled(..)", "compliance": "Table(..) or Logit(..)"}
                raise InputError(
                    name, checks.shown(getattr(self, name)), allowed.get(name, "Table(..), Logit(..) or Linear(..)")
                )
        share = checks.probabilities("share", self.share)
        contexts = len(self.space.contexts)
        checks.shaped("share", share, (contexts, share.shape[-1]) if share.ndim > 1 else share.shape, "context, type")
        share = np.broadcast_to(share, (contexts, share.shape[-1])).copy()
        share.setflags(write=False)
        object.__setattr__(self, "share", share)
        self.population.check(self.space)
        check(self.compliance, self.space, share.shape[-1], "compliance")
        check(self.outcome, self.space, share.shape[-1], "outcome")

    @classmethod
    def fitted(cls, rows: Rows, *, exclusion: bool = True, ridge: float = 1.0) -> "CovariateEnvironment":
        """Units like those of a trial: its own, drawn again and again, with models that were fitted to it.

        Compliance is a multinomial logit in each context and proposal, fitted to those whose action was seen. Levels
        are one for each action, and numbers a linear model with normal noise, fitted to those of whom both were seen.

        Args:
            rows: the trial's decisions.
            exclusion: whether a proposal works through the action alone. If not, outcomes are fitted by proposal and
                action: what happened to those who were told z and did a is then what happens, confounded as it was.
            ridge: what a squared coefficient costs, other than an intercept; it keeps fits to few decisions finite.
        """
        if rows.batch or not rows.size:
            raise InputError("rows", f"{rows.size} rows of shape {rows.batch}", "one trial with at least one decision")
        compliance, outcome = fitting.fitted(rows, exclusion=exclusion, ridge=ridge)
        return cls(rows.space, Resampled.rows(rows), compliance, outcome)

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> "CovariateEnvironment":
        """The environment that `described` gave."""
        space = Space(**description["space"])
        assert space.covariates is not None
        parts = {}
        for name in ("population", "compliance", "outcome"):
            kind, *arguments = description[name]
            first = (space.covariates,) if kind == Independent.__name__ else ()
            parts[name] = PARTS[kind](*first, *arguments)
        return cls(space, **parts, share=description["share"])

    def described(self) -> dict[str, Any]:
        """All of it as plain data: of each part what it is, and its arguments."""
        return {
            "space": self.space.described(),
            **{name: getattr(self, name).described() for name in ("population", "compliance", "outcome")},
            "share": np.asarray(self.share).tolist(),
        }

    @property
    def uniforms(self) -> int:
        """How many uniform numbers a unit is met by; three more are its response."""
        return self.population.uniforms

    def meet(self, uniform: FloatArray) -> tuple[Profile, FloatArray]:
        """The units that these uniform numbers stand for, (.., uniforms), and value[.., z] of proposing z to each."""
        population = self.population
        if not isinstance(population, Resampled):
            unit = population.meet(uniform)
            return unit, self.value(unit)
        if self not in _VALUES:
            _VALUES[self] = self.value(population.atoms()[1])
        place = population.places(uniform)
        return population.at(place), _VALUES[self][place]

    def respond(self, unit: Profile, proposal: Index, uniform: FloatArray) -> tuple[IntArray, IntArray]:
        """The implemented actions and outcomes that these uniform numbers stand for, (.., 3), by inversion.

        The first is the type, and within it h, both the same whatever is proposed; then comes the action, and then the
        outcome.
        """
        own, action, fate = np.moveaxis(np.asarray(uniform), -1, 0)
        share = np.asarray(self.share)[unit.context]
        who = invert(share, own)
        h = _within(share, who, own) if self.latent else None
        a = invert(_picked(self.compliance.probabilities(unit, self.space, "compliance", h), who, proposal), action)
        if isinstance(self.outcome, Linear) and isinstance(self.space.outcome, Number):
            mean = _picked(self.outcome.mean(unit, h), who, proposal, a)
            return a, self.outcome.number(mean, self.space, fate)
        return a, invert(_picked(self.outcome.probabilities(unit, self.space, "outcome", h), who, proposal, a), fate)

    @property
    def latent(self) -> bool:
        """Whether anything depends on h."""
        return any(getattr(each, "latent", None) is not None for each in (self.compliance, self.outcome))

    def value(self, unit: Profile) -> FloatArray:
        """v[.., z] = E[r given x, v, z], the expected reward of proposing z to each of these units.

        Over h it is a Gauss-Hermite sum of NODES terms.
        """
        if not self.latent:
            return self._value(unit, None)
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        terms = zip(nodes, weights / weights.sum(), strict=True)
        return np.asarray(sum(weight * self._value(unit, h) for h, weight in terms))

    def _value(self, unit: Profile, hidden: float | None) -> FloatArray:
        share = np.asarray(self.share)[unit.context]
        compliance = self.compliance.probabilities(unit, self.space, "compliance", hidden)
        reward = self.outcome.probabilities(unit, self.space, "outcome", hidden) @ self.space.reward
        # Axes that do not matter have length 1, and sums over them are over what they stand for.
        joint = compliance * reward * share[..., np.newaxis, np.newaxis]
        full = np.broadcast_to(joint, (*joint.shape[:-3], share.shape[-1], *self.space.shape[1:3]))
        return np.asarray(full.sum(axis=(-3, -1)))

    def optimum(self, unit: Profile) -> IntArray:
        """The best proposal to each of these units."""
        return np.asarray(self.value(unit).argmax(axis=-1))

    def regret(self) -> FloatArray:
        """E[max_z v - v[z]] over the population, (Kz,): what it costs on average to propose z to everybody."""
        probability, unit = self.population.atoms()
        value = self.value(unit)
        return np.asarray(probability @ (value.max(axis=-1, keepdims=True) - value))

    def fingerprint(self) -> str:
        """A hash of all that a simulation can draw from it: equal environments have equal streams."""
        content = hashlib.blake2b(digest_size=16)
        content.update(json.dumps(self.described(), sort_keys=True).encode())
        return content.hexdigest()


_VALUES: MutableMapping[CovariateEnvironment, FloatArray] = WeakKeyDictionary()
"""What proposing each z to each unit of a sample is worth, as long as there is the environment."""


def _within(share: FloatArray, who: IntArray, uniform: FloatArray) -> FloatArray:
    """H of each unit, by where in the range of its type its uniform number is, which is again a uniform number."""
    ends = np.cumsum(share, axis=-1)
    high = np.take_along_axis(ends, who[..., np.newaxis], axis=-1)[..., 0]
    own = np.take_along_axis(share, who[..., np.newaxis], axis=-1)[..., 0]
    rest = 1 - (high - uniform * ends[..., -1]) / own
    return np.asarray(ndtri(np.clip(rest, 2.0**-53, 1 - 2.0**-53)))


def _picked(array: FloatArray, *places: Index) -> FloatArray:
    """Of each unit's (u, z, a, ..) that at these places; an axis of length 1 is the same at every place."""
    batch = np.broadcast_shapes(*(np.shape(each) for each in places))
    units = np.indices(batch, sparse=True)
    axes = array.shape[len(batch) : len(batch) + len(places)]
    inside = (np.broadcast_to(each, batch) if size > 1 else 0 for each, size in zip(places, axes, strict=True))
    full = np.broadcast_to(array, (*batch, *array.shape[len(batch) :]))
    return np.asarray(full[(*units, *inside)])
