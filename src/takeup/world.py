"""A World is one complete hypothesis about how proposals turn into rewards."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import NOTHING, InputError
from takeup.families import Family
from takeup.outcomes import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Compliance and outcome distributions: the parameters of the model of Stirn & Jebara (2019), section 2.1.

    The truth of a simulation, a Thompson draw and a posterior mean are all Worlds. Leading axes, where there are
    any, are worlds side by side.

    Attributes:
        compliance: π[x, z, a], the probability that proposing z makes a happen; shape (.., X, Kz, Ka). A matrix
            over (z, a) is taken as that of a single context.
        outcome: μ[x, a, y], the distribution of the outcome where a happens; shape (.., X, Ka, Y). A matrix over
            (a, y) is taken as that of a single context. Or a family of distributions, such as `Normals`.
        utility: the reward r = utility[y] of each outcome level; (0, 1) where left out and there are two levels. With
            a family it is the outcome, such as a `Number`, which says what it is worth.
    """

    compliance: FloatArray
    outcome: FloatArray | Family
    utility: FloatArray | Outcome = None  # type: ignore[assignment]  # replaced below, never None outside

    def __post_init__(self) -> None:
        compliance = _with_context("compliance", checks.probabilities("compliance", self.compliance))
        if isinstance(self.outcome, Family):
            self._check_family(compliance, self.outcome)
            return
        if isinstance(self.utility, Outcome):
            raise InputError("utility", self.utility.kind, "the reward of each level, as the outcome has levels")
        outcome = _with_context("outcome", checks.probabilities("outcome", self.outcome))
        if self.utility is None and outcome.shape[-1] != 2:
            raise InputError("utility", "none", f"the reward of each of the {outcome.shape[-1]} outcome levels")
        utility = checks.real("utility", (0.0, 1.0) if self.utility is None else self.utility)
        checks.shaped(
            "outcome",
            outcome,
            (compliance.shape[-3], compliance.shape[-1], utility.size),
            "context, implemented, outcome",
        )
        for name, array in (("compliance", compliance), ("outcome", outcome), ("utility", utility)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

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
        value: FloatArray = np.einsum("...xza,...xa->...xz", self.compliance, self.reward())
        return value

    def reward(self) -> FloatArray:
        """E[r given x, a], what an outcome is worth on average where a happens; shape (.., X, Ka)."""
        if isinstance(self.outcome, Family):
            assert isinstance(self.utility, Outcome)  # checked when it was made
            return self.outcome.mean_worth(self.utility)
        return np.asarray(self.outcome @ self.utility)

    def _check_family(self, compliance: FloatArray, family: Family) -> None:
        if not isinstance(self.utility, Outcome):
            allowed = "the outcome that these distributions are of, such as Number(60, 220)"
            raise InputError("utility", NOTHING if self.utility is None else repr(self.utility), allowed)
        if family.shape[-2:] != (compliance.shape[-3], compliance.shape[-1]):
            shape = (compliance.shape[-3], compliance.shape[-1])
            raise InputError("outcome", f"shape {family.shape}", f"shape {shape}, the axes being context, implemented")
        compliance.setflags(write=False)
        object.__setattr__(self, "compliance", compliance)


def _with_context(argument: str, array: FloatArray) -> FloatArray:
    if array.ndim < 2:
        raise InputError(argument, f"shape {array.shape}", "at least a matrix")
    return array[np.newaxis] if array.ndim == 2 else array
