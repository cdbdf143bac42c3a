"""MABWiser's names of neighbourhood policies: which past decisions count for a context."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from takeup import checks
from takeup.checks import FloatArray
from takeup.errors import InputError, UnsuitableError

ABSENT = ("Clusters", "LSHNearest", "TreeBandit")
"""The neighbourhood policies of MABWiser that takeup has none for."""


class _Names(type):
    def __getattr__(cls, name: str) -> Any:
        if name in ABSENT:
            raise UnsuitableError(
                f"{name}: takeup has no such neighbourhood; there are KNearest, Radius and, by default, equal contexts"
            )
        raise AttributeError(f"NeighborhoodPolicy has no {name!r}")


class NeighborhoodPolicy(metaclass=_Names):
    """Which past decisions count for a context. Left out: those of the same context, as in takeup."""

    @dataclass(frozen=True)
    class KNearest:
        """The `k` decisions with the nearest contexts, by a metric of `scipy.spatial.distance.cdist`."""

        k: int = 1
        metric: str = "euclidean"

        def __post_init__(self) -> None:
            checks.whole("k", self.k, least=1)

        def near(self, past: NDArray[Any], context: NDArray[Any]) -> NDArray[np.bool_]:
            """Which of the past contexts count; ties go to the earlier."""
            near = np.zeros(len(past), dtype=bool)
            near[np.argsort(_distances(past, context, self.metric), kind="stable")[: self.k]] = True
            return near

    @dataclass(frozen=True)
    class Radius:
        """The decisions whose contexts are within `radius`.

        Where there are none, arms are proposed with the probabilities `no_nhood_prob_of_arm`, in the order of the arms,
        or by what is believed without data.
        """

        radius: float = 0.05
        metric: str = "euclidean"
        no_nhood_prob_of_arm: Sequence[float] | None = None

        def __post_init__(self) -> None:
            if checks.real("radius", self.radius) <= 0:
                raise InputError("radius", self.radius, "a number above 0")
            if self.no_nhood_prob_of_arm is not None:
                checks.probabilities(
                    "no_nhood_prob_of_arm", checks.real("no_nhood_prob_of_arm", self.no_nhood_prob_of_arm)
                )

        def near(self, past: NDArray[Any], context: NDArray[Any]) -> NDArray[np.bool_]:
            """Which of the past contexts count."""
            return np.asarray(_distances(past, context, self.metric) <= self.radius)


@dataclass(frozen=True)
class Same:
    """The decisions whose context is the same."""

    def near(self, past: NDArray[Any], context: NDArray[Any]) -> NDArray[np.bool_]:
        """Which of the past contexts count."""
        return np.asarray((past == context).all(axis=1))


def _distances(past: NDArray[Any], context: NDArray[Any], metric: str) -> FloatArray:
    from scipy.spatial.distance import cdist

    if past.dtype.kind != "f":
        raise InputError("contexts", "texts", "numbers, which have distances", "leave out the neighbourhood policy")
    try:
        return np.asarray(cdist(past, context[np.newaxis], metric=metric)[:, 0])  # type: ignore[call-overload]
    except ValueError as error:
        raise InputError("metric", f"{metric!r} ({error})", "a metric of scipy.spatial.distance.cdist") from None
