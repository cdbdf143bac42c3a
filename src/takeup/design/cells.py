"""What is expected of the cells of a trial: who does what when he is offered something, and what becomes of him."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.design.sizes import between, positive
from takeup.environment import Environment
from takeup.errors import InputError
from takeup.policies.bounded_reading import apart


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """Proposals in which people do not all do what they are told; the first of them is the control.

    Attributes:
        share: c[z, a], how many take each action under each proposal.
        mean: m[z, a], the mean outcome of those who do.
        sd: s[z, a], its standard deviation.
    """

    share: FloatArray
    mean: FloatArray
    sd: FloatArray

    @classmethod
    def of(cls, share: ArrayLike, mean: ArrayLike, sd: ArrayLike) -> "Cells":
        """The same, checked; a mean or a standard deviation that is left out of a row or of all holds for each."""
        c = checks.probabilities("share", share)
        if c.ndim != 2 or len(c) < 2:
            raise InputError("share", f"of shape {c.shape}", "a row for each of two proposals or more")
        try:
            m, s = (np.broadcast_to(checks.real(name, each), c.shape) for name, each in (("mean", mean), ("sd", sd)))
        except ValueError as error:
            raise InputError("mean", f"or sd of another shape: {error}", f"numbers of shape {c.shape}") from None
        if (s < 0).any():
            raise InputError("sd", s.tolist(), "numbers of at least 0")
        return cls(c, m, s)

    @classmethod
    def of_environment(cls, environment: Environment, proposals: Sequence[int]) -> "Cells":
        """Of some proposals of a truth, the control first, over all contexts, in what outcomes are worth."""
        response = np.einsum("x,xzay->zay", environment.context, environment.response)[list(proposals)]
        share, reward = response.sum(axis=-1), environment.space.reward
        all_there = np.where(share > 0, share, 1.0)
        mean = response @ reward / all_there
        return cls.of(share, mean, np.sqrt(np.maximum(response @ reward**2 / all_there - mean**2, 0.0)))

    @classmethod
    def rates(
        cls, control: float, treated: float | Sequence[float], take_up: ArrayLike, *, two_sided: float = 0.0
    ) -> "Cells":
        """Rates without and with each of the treatments.

        Args:
            control: without, of takers and refusers alike.
            treated: with the treatment, or with each of several.
            take_up: the share of those offered a treatment who take it, one number or one for each; others do without.
            two_sided: the share of those offered the control who take the first treatment all the same.
        """
        mean = _actions("treated", between("control", control), treated)
        for rate in mean[1:]:
            between("treated", rate)
        return cls._taken(mean, np.sqrt(mean * (1 - mean)), take_up, two_sided)

    @classmethod
    def means(
        cls,
        control: float,
        treated: float | Sequence[float],
        sd: ArrayLike,
        take_up: ArrayLike,
        *,
        two_sided: float = 0.0,
    ) -> "Cells":
        """Means, with one standard deviation for all or one for each action."""
        mean = _actions("treated", float(checks.real("control", control)), treated)
        return cls._taken(mean, np.broadcast_to(checks.real("sd", sd), mean.shape), take_up, two_sided)

    @classmethod
    def counts(
        cls,
        control: float,
        treated: float | Sequence[float],
        take_up: ArrayLike,
        *,
        exposure: float = 1.0,
        two_sided: float = 0.0,
    ) -> "Cells":
        """Rates of events that are Poisson distributed over an exposure: their variance is rate / exposure."""
        mean = checks.positive("treated", _actions("treated", positive("control", control), treated))
        return cls._taken(mean, np.sqrt(mean / positive("exposure", exposure)), take_up, two_sided)

    @classmethod
    def times(
        cls,
        control: float,
        treated: float | Sequence[float],
        take_up: ArrayLike,
        *,
        longest: float,
        two_sided: float = 0.0,
    ) -> "Cells":
        """Times to an event whose hazards are constant: `control` and `treated`, watched for `longest`.

        What is compared is the mean of the time that passes within the watch, E min(T, L) = (1 - exp(-hL)) / h, and
        E min(T, L)^2 = 2 (1 - (1 + hL) exp(-hL)) / h^2.
        """
        hazard = checks.positive("treated", _actions("treated", positive("control", control), treated))
        watch = hazard * positive("longest", longest)
        mean = -np.expm1(-watch) / hazard
        square = 2 * (1 - (1 + watch) * np.exp(-watch)) / hazard**2
        return cls._taken(mean, np.sqrt(square - mean**2), take_up, two_sided)

    @classmethod
    def _taken(cls, mean: FloatArray, sd: FloatArray, take_up: ArrayLike, two_sided: float) -> "Cells":
        """Everybody fares alike with an action; who does not take what he is offered does as under the control."""
        taken = np.broadcast_to(checks.rates("take_up", take_up), mean.size - 1)
        others = float(checks.rates("two_sided", two_sided))
        if (taken <= 0).any():
            raise InputError("take_up", taken.tolist(), "shares above 0 and up to 1")
        if others > taken[0]:
            raise InputError("two_sided", others, f"at most the take-up, {taken[0]:g}")
        share = np.diag([1 - others, *taken])
        share[0, 1] = others
        share[1:, 0] = 1 - taken
        return cls.of(share, mean, sd)

    def effect(self, one: int = 1) -> float:
        """v_one - v_0."""
        value = (self.share * self.mean).sum(axis=1)
        return float(value[one] - value[0])

    @property
    def apart(self) -> FloatArray:
        """d[z, a]: how far the groups that take a under z and under the control can be apart, of what any two can."""
        return apart(self.share, 0)

    def against_control(self, one: int = 1) -> FloatArray:
        """The weights of intention to treat."""
        found = np.zeros(self.share.shape)
        found[one], found[0] = self.share[one], -self.share[0]
        return found

    def variance(self, weight: FloatArray, allocation: FloatArray) -> float:
        """Of the sum of the means with these weights, times the number of units; shares are taken as known."""
        units = self.share * allocation[:, np.newaxis]
        spread = np.where(units > 0, weight**2 * self.sd**2 / np.where(units > 0, units, 1.0), 0.0)
        return float(spread.sum())


def _actions(name: str, control: float, treated: float | Sequence[float]) -> FloatArray:
    others = np.atleast_1d(checks.real(name, treated))
    if others.ndim != 1 or not others.size:
        raise InputError(name, others.tolist(), "a number, or one for each of several treatments")
    return np.array([control, *others])
