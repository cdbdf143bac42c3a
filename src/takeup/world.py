"""A World is one complete hypothesis about how proposals turn into rewards."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError
from takeup.families import Categories, Family
from takeup.outcomes import Outcome


@dataclass(frozen=True, slots=True, eq=False, init=False)
class World:
    """Compliance and outcome distributions: the parameters of the model of Stirn & Jebara (2019), section 2.1.

    The truth of a simulation, a Thompson draw and a posterior mean are all Worlds. Leading axes, where there are
    any, are worlds side by side.

    Args:
        compliance: π[x, z, a], the probability that proposing z makes a happen; shape (.., X, Kz, Ka). A matrix
            over (z, a) is taken as that of a single context.
        outcome: μ[x, a, y], the distribution of the outcome where a happens; shape (.., X, Ka, Y). A matrix over
            (a, y) is taken as that of a single context. Or a family of distributions, such as `Normals`.
        utility: the reward r = utility[y] of each outcome level; (0, 1) where left out and there are two levels. With
            a family it is the outcome, such as a `Number`, which says what it is worth.
    """

    compliance: FloatArray
    family: Family

    def __init__(
        self, compliance: ArrayLike, outcome: ArrayLike | Family, utility: ArrayLike | Outcome | None = None
    ) -> None:
        follows = _with_context("compliance", checks.probabilities("compliance", compliance))
        follows.setflags(write=False)
        shape = follows.shape[-3], follows.shape[-1]
        family = outcome.worth(utility) if isinstance(outcome, Family) else _categories(outcome, utility, shape)
        if family.shape[-2:] != shape:
            raise InputError("outcome", f"shape {family.shape}", f"shape {shape}, the axes being context, implemented")
        object.__setattr__(self, "compliance", follows)
        object.__setattr__(self, "family", family)

    @property
    def outcome(self) -> FloatArray:
        """μ[x, a, y], where the outcome has levels."""
        return self._categories.probability

    @property
    def utility(self) -> FloatArray:
        """The reward of each level, where the outcome has levels."""
        return self._categories.utility

    @property
    def _categories(self) -> Categories:
        if not isinstance(self.family, Categories):
            raise UnsuitableError("the outcomes of this world have no levels")
        return self.family

    @classmethod
    def bernoulli(cls, compliance: ArrayLike, success: ArrayLike) -> "World":
        """A world with two outcome levels: failure, worth 0, and success, worth 1.

        Args:
            compliance: π[x, z, a], or π[z, a] in a single context.
            success: μ[x, a], the probability of success where a happens, or μ[a] in a single context.
        """
        rate = checks.rates("success", success)
        return cls(np.asarray(compliance), np.stack([1 - rate, rate], axis=-1))

    def value(self) -> FloatArray:
        """v[x, z] = E[r given x, z] = sum_a π[x, z, a] sum_y μ[x, a, y] utility[y]: Stirn & Jebara (2019), eq. 3."""
        value: FloatArray = np.einsum("...xza,...xa->...xz", self.compliance, self.family.mean_worth())
        return value


def _categories(outcome: ArrayLike, utility: object, shape: tuple[int, int]) -> Categories:
    """Distributions over levels, with what each is worth."""
    if isinstance(utility, Outcome):
        raise InputError("utility", utility.kind, "the reward of each level, as the outcome has levels")
    levels = _with_context("outcome", checks.probabilities("outcome", outcome))
    if utility is None and levels.shape[-1] != 2:
        raise InputError("utility", "none", f"the reward of each of the {levels.shape[-1]} outcome levels")
    reward = checks.real("utility", (0.0, 1.0) if utility is None else utility)  # type: ignore[arg-type]  # it checks
    checks.shaped("outcome", levels, (*shape, reward.size), "context, implemented, outcome")
    return Categories(levels, reward)


def _with_context(argument: str, array: FloatArray) -> FloatArray:
    if array.ndim < 2:
        raise InputError(argument, f"shape {array.shape}", "at least a matrix")
    return array[np.newaxis] if array.ndim == 2 else array
