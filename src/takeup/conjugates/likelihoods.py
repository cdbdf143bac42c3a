"""Which distribution outcomes are taken to have, and what is known of it before the first: priors in people's units."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainc, stdtrit

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.base import Conjugate
from takeup.conjugates.dirichlet import Dirichlet
from takeup.conjugates.normal import NormalGamma
from takeup.conjugates.rate import GammaRate
from takeup.errors import NOTHING, InputError, UnsuitableError
from takeup.outcomes import Count, Number, Outcome, Time

RARELY = 0.05
"""How often "rarely" is."""
LEAST, MOST = 1e-9, 1e12


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
            if given is not None:
                self._check(each.name, checks.real(each.name, given))

    def _check(self, name: str, given: FloatArray) -> None:
        if given.size and not (given.min() >= LEAST and given.max() <= MOST):
            raise InputError(name, given.tolist(), f"numbers from {LEAST:g} to {MOST:g}")

    @abstractmethod
    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> Conjugate:
        """The block before any data, of shape (X, K)."""

    @abstractmethod
    def informed(self, block: Any) -> Self:
        """The likelihood whose prior this block is."""

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

        It is said of single outcomes. The spread is such that the farther end of the two is passed so rarely.
        """
        half = _half_width(value, value - low, high - value)
        return cls(mean=value, sd=half / _reach(weight, freedom), weight=weight, freedom=freedom)

    def _check(self, name: str, given: FloatArray) -> None:
        if name != "mean":
            Likelihood._check(self, name, given)

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> NormalGamma:
        """Normal-inverse-gamma."""
        number: Number = self.fitting(outcome)
        mean = (number.low + number.high) / 2 if self.mean is None else self.mean
        sd = (number.high - number.low) / 4 if self.sd is None else self.sd
        centre, deviation = _block("mean", mean, shape), _block("sd", sd, shape)
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
        half = _half_width(value, *np.log([value / low, high / value])) if min(value, low, high) > 0 else 0.0
        if not half:
            raise InputError("low", f"{low:g}", "numbers above 0, as logarithms are normal")
        spread = float(np.exp(half / _reach(weight, freedom)))
        return cls(median=value, spread=spread, weight=weight, freedom=freedom)

    def _check(self, name: str, given: FloatArray) -> None:
        Likelihood._check(self, name, given)
        if name == "spread" and not (given.min() > 1 and given.max() <= 1_000):
            raise InputError("spread", given.tolist(), "factors above 1 and at most 1,000")

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> NormalGamma:
        """Normal-inverse-gamma, of logarithms."""
        number: Number = self.fitting(outcome)
        if number.scale != "log":
            raise UnsuitableError('likelihood lognormal needs an outcome whose sums are kept so: scale="log"')
        median = np.sqrt(number.low * number.high) if self.median is None else self.median
        spread = (number.high / number.low) ** 0.25 if self.spread is None else self.spread
        centre, deviation = (np.log(_block("prior", given, shape)) for given in (median, spread))
        weight, freedom = _block("weight", self.weight, shape), _block("freedom", self.freedom, shape)
        return NormalGamma(centre, weight, freedom, deviation**2, number, logarithmic=True)

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
        return cls(rate=value, weight=_events(value, low, high) / value)

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> GammaRate:
        """Gamma."""
        count: Count = self.fitting(outcome)
        rate = _block("rate", count.most / count.longest / 10 if self.rate is None else self.rate, shape)
        weight = 1 / rate if self.weight is None else _block("weight", self.weight, shape)
        return GammaRate(rate * weight, weight, count)

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
        return cls(mean=value, weight=_events(1 / value, 1 / high, 1 / low))

    def prior(self, outcome: Outcome, shape: tuple[int, int]) -> GammaRate:
        """Gamma, of the rate."""
        time: Time = self.fitting(outcome)
        mean = _block("mean", time.longest if self.mean is None else self.mean, shape)
        weight = _block("weight", self.weight, shape)
        return GammaRate(weight, weight * mean, time)

    def informed(self, block: GammaRate) -> "Exponential":
        """Its parameters."""
        return Exponential(mean=block.exposure / block.events, weight=block.events)


LIKELIHOODS: Mapping[str, type[Any]] = {
    each.kind: each for each in (Normal, LogNormal, Bootstrap, Poisson, Exponential)
}
"""By the name that a spec gives them."""

_DEFAULTS: Mapping[str, Likelihood] = {"number": Normal(), "count": Poisson(), "time": Exponential()}


def likelihood_for(outcome: Outcome) -> Likelihood:
    """What an outcome is taken to be where nobody says otherwise."""
    return _DEFAULTS[outcome.kind]


def likelihood_of(description: Mapping[str, Any]) -> Likelihood:
    """The likelihood of a table such as `{"kind": "normal", "about": 120, "rarely_outside": [90, 160]}`."""
    given = dict(description)
    kind = given.pop("kind", None)
    if not isinstance(kind, str) or kind not in LIKELIHOODS:
        allowed = f"one of {', '.join(LIKELIHOODS)}"
        raise InputError("likelihood.kind", NOTHING if kind is None else repr(kind), allowed)
    family = LIKELIHOODS[kind]
    if "about" in given or "rarely_outside" in given:
        return _about(family, given)
    known = inspect.signature(family).parameters
    for name, value in given.items():
        if name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else ""
            raise InputError(f"likelihood.{name}", repr(value), f"one of the keys {', '.join(known)}", hint)
    found: Likelihood = family(**given)
    return found


def _about(family: type[Any], given: dict[str, Any]) -> Likelihood:
    value, outside = given.pop("about", None), given.pop("rarely_outside", None)
    if not hasattr(family, "about"):
        raise InputError("likelihood.about", repr(value), f"alpha, as {family.kind} has no such prior")
    numbers = checks.real("likelihood.about", [value, *outside] if isinstance(outside, list | tuple) else [])
    if numbers.shape != (3,):
        words = "a number, with rarely_outside = [low, high] beside it"
        raise InputError("likelihood.about", repr(value), words)
    allowed = inspect.signature(family.about).parameters
    for name, other in given.items():
        if name not in allowed:
            raise InputError(f"likelihood.{name}", repr(other), "one of about, rarely_outside, weight, freedom")
    found: Likelihood = family.about(*numbers.tolist(), **given)
    return found


def _block(name: str, given: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    numbers = checks.real(name, given)
    try:
        return np.broadcast_to(numbers, shape)
    except ValueError:
        axes = "context, arm" if len(shape) == 2 else "context, arm, bin"
        allowed = f"a number or an array of shape {shape}, the axes being {axes}"
        raise InputError(name, f"shape {numbers.shape}", allowed) from None


def _half_width(value: float, below: float, above: float) -> float:
    """The farther of two ends."""
    if not (below > 0 and above > 0):
        raise InputError("about", f"{value:g}", "a number between the two that it is rarely outside of")
    return float(max(below, above))


def _reach(weight: float, freedom: float) -> float:
    """How many standard deviations (as guessed) an outcome is rarely beyond: its prior predictive is Student's t."""
    weight, freedom = float(checks.positive("weight", weight)), float(checks.positive("freedom", freedom))
    return float(stdtrit(freedom, 1 - RARELY / 2) * np.sqrt(1 + 1 / weight))


def _events(value: float, low: float, high: float) -> float:
    """The shape of the gamma distribution with this mean that is rarely outside, by halving."""
    if not 0 <= low < value < high:
        raise InputError("about", f"{value:g}", "a number between the two that it is rarely outside of, above 0")
    least, most = 1e-3, 1e9
    for _ in range(200):
        middle = np.sqrt(least * most)
        inside = gammainc(middle, middle * high / value) - gammainc(middle, middle * low / value)
        least, most = (middle, most) if inside < 1 - RARELY else (least, middle)
    return float(most)
