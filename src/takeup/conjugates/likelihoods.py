"""Which distribution outcomes are taken to have, and what is known of it before the first: priors in people's units."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.base import Conjugate
from takeup.conjugates.dirichlet import Dirichlet
from takeup.conjugates.normal import NormalGamma
from takeup.conjugates.quadrature import LEAST_SHAPE
from takeup.conjugates.ranges import gamma_shape, student_scale, three
from takeup.conjugates.rate import GammaRate
from takeup.errors import InputError, UnsuitableError
from takeup.outcomes import Count, Number, Outcome, Time
from takeup.outcomes.number import LOG_STEPS

LEAST, MOST = 1e-12, 1e15
FARTHEST = 1e12
"""How far from zero a mean may be."""


class Likelihood(ABC):
    """A family of distributions and a prior of its parameters, each a number or an array over (a) or (x, a).

    Attributes:
        kind: what a spec calls it.
        outcomes: the kinds of outcome that it can be of.
    """

    __slots__ = ()
    kind: ClassVar[str]
    outcomes: ClassVar[tuple[type[Outcome], ...]]

    def __post_init__(self) -> None:
        for each in fields(self):  # type: ignore[arg-type]
            given = getattr(self, each.name)
            if given is not None or each.default is not None:
                self._check(each.name, checks.real(each.name, given))

    def _check(self, name: str, given: FloatArray) -> None:
        least = 1.0 if name == "freedom" else LEAST  # with less a draw of the spread may be no number
        if not given.size or not (given.min() >= least and given.max() <= MOST):
            raise InputError(name, checks.shown(given.tolist()), f"numbers from {least:g} to {MOST:g}")

    @abstractmethod
    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> Conjugate:
        """The block before any data, of shape (X, K)."""

    @abstractmethod
    def informed(self, block: Any) -> Self:
        """The likelihood whose prior this block is."""

    def drawn(self, outcome: Outcome) -> int:
        """How many random numbers a draw of one arm's distribution takes, at most."""
        return 2

    def described(self) -> dict[str, Any]:
        """Its parameters, as JSON would have them; `likelihood_of` makes it again."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]
        plain = {name: None if value is None else np.asarray(value).tolist() for name, value in given.items()}
        return {"kind": self.kind, **plain}

    def fitting(self, outcome: Outcome) -> Any:
        """The outcome, if it can have such a distribution."""
        if not isinstance(outcome, self.outcomes):
            kinds = " or a ".join(kind.kind for kind in self.outcomes)
            raise UnsuitableError(f"likelihood {self.kind} is of an outcome that is a {kinds}, not a {outcome.kind}")
        return outcome


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Normal(Likelihood):
    """Numbers that are normal around a mean, both mean and spread unknown.

    Attributes:
        mean: about what the mean is; the middle of the range where left out.
        sd: about what the standard deviation is; a quarter of the range where left out.
        weight: how many outcomes the guess of the mean is worth.
        freedom: how many outcomes the guess of the standard deviation is worth.
    """

    kind: ClassVar[str] = "normal"
    outcomes: ClassVar[tuple[type[Outcome], ...]] = (Number,)
    mean: ArrayLike | None = None
    sd: ArrayLike | None = None
    weight: ArrayLike = 1.0
    freedom: ArrayLike = 3.0

    @classmethod
    def about(cls, value: float, low: float, high: float, *, weight: float = 1.0, freedom: float = 3.0) -> "Normal":
        """About `value`, rarely (one in twenty) outside `low` to `high`, before anything is known.

        It is said of single outcomes, whose distribution before the first is Student's t.
        """
        guess = cls(weight=weight, freedom=freedom)
        value, low, high = three(value, low, high)
        return cls(mean=value, sd=_deviation(guess, value, low, high), weight=weight, freedom=freedom)

    def _check(self, name: str, given: FloatArray) -> None:
        if name != "mean":
            Likelihood._check(self, name, given)
        elif not given.size or np.abs(given).max() > FARTHEST:
            raise InputError(name, checks.shown(given.tolist()), f"numbers from {-FARTHEST:g} to {FARTHEST:g}")

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> NormalGamma:
        """Normal-inverse-gamma."""
        number: Number = self.fitting(outcome)
        mean = (number.low + number.high) / 2 if self.mean is None else self.mean
        sd = (number.high - number.low) / 4 if self.sd is None else self.sd
        centre, deviation = _inside("mean", _block("mean", mean, shape), number), _block("sd", sd, shape)
        weight, freedom = _block("weight", self.weight, shape), _block("freedom", self.freedom, shape)
        return NormalGamma(centre, weight, freedom, deviation**2, number)

    def informed(self, block: NormalGamma) -> "Normal":
        """Its parameters."""
        return Normal(mean=block.centre, sd=np.sqrt(block.square), weight=block.weight, freedom=block.freedom)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogNormal(Likelihood):
    """Numbers above zero whose logarithms are normal, as money often is; the outcome's scale must be "log".

    Attributes:
        median: about what the median is; the geometric middle of the range where left out.
        spread: about what factor one standard deviation is; the fourth root of high / low where left out.
        weight: how many outcomes the guess of the median is worth.
        freedom: how many outcomes the guess of the spread is worth.
    """

    kind: ClassVar[str] = "lognormal"
    outcomes: ClassVar[tuple[type[Outcome], ...]] = (Number,)
    median: ArrayLike | None = None
    spread: ArrayLike | None = None
    weight: ArrayLike = 1.0
    freedom: ArrayLike = 3.0

    @classmethod
    def about(cls, value: float, low: float, high: float, *, weight: float = 1.0, freedom: float = 3.0) -> "LogNormal":
        """About `value`, rarely (one in twenty) outside `low` to `high`, before anything is known."""
        guess = cls(weight=weight, freedom=freedom)
        value, low, high = three(value, low, high, least=0)
        spread = float(np.exp(_deviation(guess, *np.log([value, low, high]).tolist())))
        return cls(median=value, spread=spread, weight=weight, freedom=freedom)

    def _check(self, name: str, given: FloatArray) -> None:
        Likelihood._check(self, name, given)
        if name == "spread" and not (given.min() >= 1.000_001 and given.max() <= FARTHEST):
            raise InputError("spread", checks.shown(given.tolist()), f"factors from 1.000001 to {FARTHEST:g}")

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> NormalGamma:
        """Normal-inverse-gamma, of logarithms."""
        number: Number = self.fitting(outcome)
        if number.scale != "log":
            raise UnsuitableError('likelihood lognormal needs sums of logarithms; give the Number scale="log"')
        median = np.sqrt(number.low * number.high) if self.median is None else self.median
        spread = (number.high / number.low) ** 0.25 if self.spread is None else self.spread
        middle = _inside("median", _block("median", median, shape), number, rounding=1 + 1 / LOG_STEPS)
        factor = _block("spread", spread, shape)
        weight, freedom = _block("weight", self.weight, shape), _block("freedom", self.freedom, shape)
        return NormalGamma(np.log(middle), weight, freedom, np.log(factor) ** 2, number, logarithmic=True)

    def informed(self, block: NormalGamma) -> "LogNormal":
        """Its parameters."""
        median, spread = np.exp(block.centre), np.exp(np.sqrt(block.square))
        return LogNormal(median=median, spread=spread, weight=block.weight, freedom=block.freedom)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bootstrap(Likelihood):
    """Numbers of any distribution, by the bin that they are in: the Bayesian bootstrap of Rubin (1981), with a prior.

    A number counts as the middle of its bin. Choose more bins where that is too coarse.

    Attributes:
        alpha: the Dirichlet parameter of each bin; one over their number where left out.
    """

    kind: ClassVar[str] = "bootstrap"
    outcomes: ClassVar[tuple[type[Outcome], ...]] = (Number,)
    alpha: ArrayLike | None = None

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> Dirichlet:
        """Dirichlet over the bins."""
        number: Number = self.fitting(outcome)
        bins = number.cells
        alpha = _block("alpha", 1 / bins if self.alpha is None else self.alpha, (*shape, bins))
        return Dirichlet(alpha, number.worth(number.binned.middle))

    def drawn(self, outcome: Outcome) -> int:
        """One for each bin."""
        return outcome.cells

    def informed(self, block: Dirichlet) -> "Bootstrap":
        """Its parameters."""
        return Bootstrap(alpha=block.alpha)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Poisson(Likelihood):
    """Counts that are Poisson, with an unknown rate.

    Attributes:
        rate: about what the rate is, in events by unit of exposure; a tenth of the greatest where left out.
        weight: how much exposure that guess is worth; what gives one event where left out.
    """

    kind: ClassVar[str] = "poisson"
    outcomes: ClassVar[tuple[type[Outcome], ...]] = (Count,)
    rate: ArrayLike | None = None
    weight: ArrayLike | None = None

    @classmethod
    def about(cls, value: float, low: float, high: float) -> "Poisson":
        """A rate of about `value`, rarely (one in twenty) outside `low` to `high`, before anything is known."""
        value, low, high = three(value, low, high, least=0 if low else None)
        return cls(rate=value, weight=gamma_shape(value, low, high) / value)

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> GammaRate:
        """Gamma."""
        count: Count = self.fitting(outcome)
        rate = _block("rate", count.most / count.longest / 10 if self.rate is None else self.rate, shape)
        weight = 1 / rate if self.weight is None else _block("weight", self.weight, shape)
        return GammaRate(_events(rate * weight), weight, count)

    def informed(self, block: GammaRate) -> "Poisson":
        """Its parameters."""
        return Poisson(rate=block.events / block.exposure, weight=block.exposure)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Exponential(Likelihood):
    """Times that are exponential, with an unknown mean; censored or not.

    Attributes:
        mean: about what the mean time is; the longest watch where left out.
        weight: how many events that guess is worth.
    """

    kind: ClassVar[str] = "exponential"
    outcomes: ClassVar[tuple[type[Outcome], ...]] = (Time,)
    mean: ArrayLike | None = None
    weight: ArrayLike = 1.0

    @classmethod
    def about(cls, value: float, low: float, high: float) -> "Exponential":
        """A mean time of about `value`, rarely (one in twenty) outside `low` to `high`, before anything is known."""
        value, low, high = three(value, low, high, least=0)
        return cls(mean=value, weight=gamma_shape(1 / value, 1 / high, 1 / low))

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> GammaRate:
        """Gamma, of the rate."""
        time: Time = self.fitting(outcome)
        mean = _block("mean", time.longest if self.mean is None else self.mean, shape)
        weight = _events(_block("weight", self.weight, shape))
        return GammaRate(weight, weight * mean, time)

    def informed(self, block: GammaRate) -> "Exponential":
        """Its parameters."""
        return Exponential(mean=block.exposure / block.events, weight=block.events)


def _block(name: str, given: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    numbers = checks.real(name, given)
    try:
        return np.broadcast_to(numbers, shape)
    except ValueError:
        axes = "context, arm" if len(shape) == 2 else "context, arm, bin"
        allowed = f"a number or an array of shape {shape}, the axes being {axes}"
        raise InputError(name, f"shape {numbers.shape}", allowed) from None


def _inside(name: str, numbers: FloatArray, number: Number, rounding: float = 1.0) -> FloatArray:
    """What outcomes are about, checked: it is where they can be, up to the factor by which sums of them are rounded."""
    half = number.step / 2
    if numbers.min() < number.low / rounding - half or numbers.max() > number.high * rounding + half:
        allowed = f"numbers from {number.low:g} to {number.high:g} {number.unit}".rstrip() + ", as outcomes are"
        raise InputError(name, checks.shown(numbers.tolist()), allowed, "priors are in the units of the outcome")
    return numbers


def _deviation(guess: Normal | LogNormal, value: float, low: float, high: float) -> float:
    """The standard deviation that makes an outcome rarely outside: its prior predictive is Student's t."""
    weight, freedom = (checks.real(name, getattr(guess, name)) for name in ("weight", "freedom"))
    if weight.ndim or freedom.ndim:
        raise InputError("weight, freedom", f"shapes {weight.shape} and {freedom.shape}", "one number each")
    return student_scale(value, low, high, float(freedom)) / float(np.sqrt(1 + 1 / weight))


def _events(events: FloatArray) -> FloatArray:
    """How many events a prior is worth, checked: with fewer a draw of the rate may be zero."""
    if events.min() < LEAST_SHAPE:
        allowed = f"a prior that is worth {LEAST_SHAPE:g} events or more"
        raise InputError("weight", f"{events.min():g} events", allowed)
    return events
