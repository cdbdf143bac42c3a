"""How units with covariates respond: which action is implemented, and what comes of it.

Coefficients and probabilities have the axes (u, x, z, a, ..): hidden type, context, proposal, implemented action.
Leading ones may be left out, and one that does not matter may have length 1. Features are from 0 to 1 here. A model may
also depend on h, a standard normal variable of each unit that nobody sees: where both compliance and outcomes do, it
confounds them.
"""

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, softmax

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE, Profile
from takeup.errors import InputError, UnsuitableError
from takeup.outcomes import Levels, Number
from takeup.space import Space

What: TypeAlias = Literal["compliance", "outcome"]
"""What a model is of."""

Hidden: TypeAlias = FloatArray | float | None
"""h of each unit, or of all of them; None where no model depends on it."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Probabilities that do not depend on covariates.

    Attributes:
        probability: p(a given u, x, z), with the axes (u, x, z, a); or p(y given u, x, z, a), (u, x, z, a, y). Leading
            axes may be left out, and any but the last may have length 1.
    """

    probability: ArrayLike

    def __post_init__(self) -> None:
        _set(self, "probability", checks.probabilities("probability", self.probability))

    def described(self) -> list[Any]:
        """What it is, and its argument as plain data."""
        return [type(self).__name__, np.asarray(self.probability).tolist()]

    def shape(self, space: Space, what: What) -> tuple[int, ...]:
        """What the axes stand for, once there is a space."""
        return _axes(space, what)

    def probabilities(self, unit: Profile, space: Space, what: What, hidden: Hidden = None) -> FloatArray:
        """(.., u, z, a), or (.., u, z, a, y); axes that do not matter have length 1."""
        return _at(np.asarray(self.probability), unit, len(_axes(space, what)))


@dataclass(frozen=True, slots=True, eq=False)
class Logit:
    """A multinomial logit: p(a) in proportion to exp(β[a] v + λ[a] h), or p(y) to exp(β[y] v + λ[y] h).

    Attributes:
        coefficients: β, with the axes (u, x, z, a, v) of compliance, (u, x, z, a, y, v) of outcomes. Leading axes may
            be left out, and any but the last two may have length 1.
        latent: λ, with the axes of the coefficients but for the last; h does not matter where it is left out.
    """

    coefficients: ArrayLike
    latent: ArrayLike | None = None

    def __post_init__(self) -> None:
        _set(self, "coefficients", checks.real("coefficients", self.coefficients))
        if self.latent is not None:
            _set(self, "latent", checks.real("latent", self.latent))

    @classmethod
    def of_success(cls, coefficients: ArrayLike, latent: ArrayLike | None = None) -> "Logit":
        """Of two levels: β of the second, with the axes (u, x, z, a, v), and λ, (u, x, z, a); the first has none."""
        given = checks.real("coefficients", coefficients)
        two = np.stack([np.zeros_like(given), given], axis=-2)
        if latent is None:
            return cls(two)
        moved = checks.real("latent", latent)
        return cls(two, np.stack([np.zeros_like(moved), moved], axis=-1))

    def described(self) -> list[Any]:
        """What it is, and its arguments as plain data."""
        return [type(self).__name__, np.asarray(self.coefficients).tolist(), *_written(self.latent)]

    def shape(self, space: Space, what: What) -> tuple[int, ...]:
        """What the axes stand for, once there is a space."""
        return (*_axes(space, what), _features(space))

    def probabilities(self, unit: Profile, space: Space, what: What, hidden: Hidden = None) -> FloatArray:
        """(.., u, z, a), or (.., u, z, a, y); axes that do not matter have length 1."""
        scores = _scores(np.asarray(self.coefficients), unit, len(_axes(space, what)) + 1)
        return np.asarray(softmax(_moved(scores, self.latent, unit, hidden, len(_axes(space, what))), axis=-1))


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Outcomes whose mean is β v + λ h: the chance of the second of two levels, kept within [0, 1]; or a number.

    A number has normal noise around its mean, is rounded to the grid and ends at its ends.

    Attributes:
        coefficients: β, with the axes (u, x, z, a, v); leading ones may be left out, and any but the last may have
            length 1. Of numbers in their own unit.
        sd: of a number's noise.
        latent: λ, (u, x, z, a) likewise, or one number; h does not matter where it is left out.
    """

    coefficients: ArrayLike
    sd: float | None = None
    latent: ArrayLike | None = None

    def __post_init__(self) -> None:
        _set(self, "coefficients", checks.real("coefficients", self.coefficients))
        if self.sd is not None and not float(checks.real("sd", self.sd)) > 0:
            raise InputError("sd", self.sd, "a number above 0")
        if self.latent is not None:
            _set(self, "latent", checks.real("latent", self.latent))

    def described(self) -> list[Any]:
        """What it is, and its arguments as plain data."""
        return [type(self).__name__, np.asarray(self.coefficients).tolist(), self.sd, *_written(self.latent)]

    def shape(self, space: Space, what: What) -> tuple[int, ...]:
        """What the axes stand for, once there is a space; an UnsuitableError where it cannot be such an outcome."""
        outcome = space.outcome
        if what == "compliance" or not (isinstance(outcome, Number) or outcome.size == 2):
            raise UnsuitableError("Linear is a model of numbers and of two levels; take a Logit")
        if isinstance(outcome, Number) != (self.sd is not None):
            raise InputError("sd", self.sd, "the noise of numbers, and None of levels")
        return (*_axes(space, "compliance"), _features(space))

    def probabilities(self, unit: Profile, space: Space, what: What, hidden: Hidden = None) -> FloatArray:
        """(.., u, z, a, y); axes that do not matter have length 1."""
        mean = self.mean(unit, hidden)
        if isinstance(space.outcome, Levels):
            rate = np.clip(mean, 0.0, 1.0)
            return np.stack([1 - rate, rate], axis=-1)
        assert isinstance(space.outcome, Number)
        assert self.sd is not None
        between = space.outcome.grid.at(np.arange(1, space.outcome.size)) - space.outcome.step / 2
        below = ndtr((between - mean[..., np.newaxis]) / self.sd)
        return np.diff(below, axis=-1, prepend=0.0, append=1.0)

    def number(self, mean: FloatArray, space: Space, uniform: FloatArray) -> IntArray:
        """The codes of the numbers that these uniform ones stand for, by inversion, around their means."""
        assert isinstance(space.outcome, Number)
        assert self.sd is not None
        drawn = mean + self.sd * ndtri(uniform)
        steps = np.floor((drawn - space.outcome.low) / space.outcome.step + 0.5)
        return np.asarray(np.clip(steps, 0, space.outcome.size - 1).astype(np.int64))

    def mean(self, unit: Profile, hidden: Hidden = None) -> FloatArray:
        """β v + λ h of each unit, (.., u, z, a); axes that do not matter have length 1."""
        return _moved(_scores(np.asarray(self.coefficients), unit, 5), self.latent, unit, hidden, 4)


Compliance: TypeAlias = Table | Logit
"""Which action is implemented."""

Outcomes: TypeAlias = Table | Logit | Linear
"""What comes of it."""


def check(model: Compliance | Outcomes, space: Space, types: int, what: What) -> None:
    """An InputError where the axes of a model are not those of the space."""
    name = "probability" if isinstance(model, Table) else "coefficients"
    shape = (types, *model.shape(space, what)[1:])
    exact = 2 if isinstance(model, Logit) else 1
    _check_axes(f"{what}.{name}", np.asarray(getattr(model, name)), shape, exact)
    if not isinstance(model, Table) and model.latent is not None:
        _check_axes(f"{what}.latent", np.asarray(model.latent), shape[:-1], exact - 1)


def _check_axes(name: str, array: FloatArray, shape: tuple[int, ...], exact: int) -> None:
    """An InputError unless an array has this shape, but for leading axes and lengths of 1; the last ones are exact."""
    given = (1,) * (len(shape) - array.ndim) + array.shape
    good = len(given) == len(shape) and all(
        one == full or (one == 1 and place < len(shape) - exact)
        for place, (one, full) in enumerate(zip(given, shape, strict=False))
    )
    if not good:
        axes = "type, context, proposal, implemented" + (", outcome" if len(shape) + (exact == 1) > 5 else "")
        allowed = f"shape {shape}, of which leading axes may be left out and those of no matter have length 1"
        raise InputError(name, f"shape {array.shape}", allowed, f"the axes are {axes} and so on")


def _set(model: object, name: str, array: FloatArray) -> None:
    array.setflags(write=False)
    object.__setattr__(model, name, array)


def _written(latent: ArrayLike | None) -> list[Any]:
    """As plain data, where there is one: what was described before there was any stays as it was."""
    return [] if latent is None else [np.asarray(latent).tolist()]


def _moved(scores: FloatArray, latent: ArrayLike | None, unit: Profile, hidden: Hidden, axes: int) -> FloatArray:
    """The scores of each unit, and λ h; λ has so many axes from the type on."""
    if latent is None or hidden is None:
        return scores
    by = _at(np.asarray(latent), unit, axes)
    return np.asarray(scores + by * np.asarray(hidden)[(..., *(np.newaxis,) * (axes - 1))])


def _axes(space: Space, what: What) -> tuple[int, ...]:
    """(u, x, z, a), and y of outcomes; the number of types is not known here."""
    contexts, proposals, actions, outcomes = space.shape
    return (1, contexts, proposals, actions, *((outcomes,) if what == "outcome" else ()))


def _features(space: Space) -> int:
    assert space.covariates is not None
    return space.covariates.size


def _at(array: FloatArray, unit: Profile, axes: int) -> FloatArray:
    """The array with all its axes, at the context of each unit: (.., u, z, a, ..)."""
    full = np.moveaxis(array.reshape((1,) * (axes - array.ndim) + array.shape), 1, 0)
    return np.asarray(full[np.asarray(unit.context) if len(full) > 1 else np.zeros_like(unit.context)])


def _scores(coefficients: FloatArray, unit: Profile, axes: int) -> FloatArray:
    """β v of each unit, (.., u, z, a, ..), without the axis of features."""
    v = np.asarray(unit.features) / ONE
    full = coefficients.reshape((1,) * (axes - coefficients.ndim) + coefficients.shape)
    if full.shape[1] == 1:  # one product for all contexts
        return np.asarray(np.tensordot(v, full[:, 0], axes=(-1, -1)))
    return np.asarray(
        np.einsum("...d,...uzad->...uza" if axes == 5 else "...d,...uzayd->...uzay", v, _at(full, unit, axes))
    )
