"""What was to be expected of each proposal by what was known of a person: linear models of earlier decisions alone.

Of each proposal there is one, fitted by least squares to the values of those who were offered it, and shrunk a little
towards the model of all, which is shrunk towards the plain mean. It is fitted again after each of the first decisions,
and then whenever there are a tenth more: sums of v v' and v y are all that it needs, so that the cost grows with the
number of decisions alone. Between fits nothing is learnt: whatever is said of a decision is from earlier ones.

Values are on a scale from 0, the least that the target may be, to 1, the most. Leading axes are trials side by side.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE
from takeup.log import Log

GROWTH = 1.1
"""By how much a log grows before models are fitted again."""

SHRUNK = 4.0
"""As how many people a prior counts that says that a covariate does nothing, or nothing else with one proposal."""

LEAST_SPREAD = 0.01
"""The variance that a feature is taken to have at least, so that those that hardly differ say nothing."""

ROWS = 50_000
"""How many rows of features are laid out as real numbers at once, which bounds the memory that it takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """What models say of every decision and proposal.

    Attributes:
        before: fitted to earlier decisions alone, (.., n, Kz).
        after: fitted to all, (.., n, Kz): for errors, not for estimates.
        variance: of values around the latter, (.., Kz).
    """

    before: FloatArray
    after: FloatArray
    variance: FloatArray


def expected(log: Log, value: FloatArray, start: FloatArray) -> Expected:
    """What models say of each decision.

    Args:
        log: a log with covariates.
        value: of each decision, from 0 to 1; NaN where it is not known, (.., n).
        start: what is expected before anything is known, (..).
    """
    n, proposals, trials = len(log), len(log.space.proposals), int(np.prod(log.batch))
    assert log.features is not None
    rows = _Rows(log.features.reshape(trials, n, -1), log.context.reshape(trials, n), len(log.space.contexts))
    y, z = value.reshape(trials, n), log.proposal.reshape(trials, n)
    known, first = ~np.isnan(y), start.reshape(trials)
    y = np.where(known, y, 0.0)
    sums = _Sums.none(trials, proposals, rows.width)
    before, after = np.empty((trials, n, proposals)), np.empty((trials, n, proposals))
    points = _points(n)
    for begin, end in pairwise(points):
        model = sums.fitted(first)
        for part in _parts(begin, end, trials):
            w = rows.at(part)
            before[:, part] = w @ model
            sums.add(w, y[:, part], known[:, part], z[:, part])
    model = sums.fitted(first)
    for part in _parts(0, n, trials):
        after[:, part] = rows.at(part) @ model
    for each in (before, after):
        np.clip(each, 0.0, 1.0, out=each)
    own = np.take_along_axis(after, z[..., np.newaxis], axis=-1)[..., 0]
    square = np.where(known, (y - own) ** 2, 0.0)
    offered = [known & (z == k) for k in range(proposals)]
    apart = np.stack([np.where(each, square, 0.0).sum(axis=-1) for each in offered], axis=-1)
    many = np.stack([each.sum(axis=-1) for each in offered], axis=-1)
    variance = apart / np.maximum(many - sums.freedom(), 1.0)
    shape = log.proposal.shape
    return Expected(
        before.reshape(*shape, proposals), after.reshape(*shape, proposals), variance.reshape(*log.batch, -1)
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The features of decisions, and which context each is of, as real numbers a part at a time."""

    features: NDArray[np.int16]
    context: IntArray
    contexts: int

    @property
    def width(self) -> int:
        return int(self.features.shape[-1]) + self.contexts - 1

    def at(self, part: slice) -> FloatArray:
        """The intercept, the other features and a column for each context but the first, (trials, rows, D)."""
        w = np.asarray(self.features[:, part] / ONE)
        if self.contexts == 1:
            return w
        here = self.context[:, part, np.newaxis] == np.arange(1, self.contexts)
        return np.concatenate([w, here], axis=-1)


@dataclass(slots=True, eq=False)
class _Sums:
    """Sums over decisions whose value is known: w w', (trials, Kz, D, D), and w y, (trials, Kz, D)."""

    gram: FloatArray
    product: FloatArray

    @classmethod
    def none(cls, trials: int, proposals: int, width: int) -> "_Sums":
        return cls(np.zeros((trials, proposals, width, width)), np.zeros((trials, proposals, width)))

    def add(self, w: FloatArray, y: FloatArray, known: NDArray[np.bool_], z: IntArray) -> None:
        for k in range(self.gram.shape[1]):
            own = np.swapaxes(np.where((known & (z == k))[..., np.newaxis], w, 0.0), -1, -2)
            self.gram[:, k] += own @ w
            self.product[:, k] += (own @ y[..., np.newaxis])[..., 0]

    def fitted(self, start: FloatArray) -> FloatArray:
        """The coefficients of each proposal, (trials, D, Kz)."""
        gram, product = self.gram.sum(axis=1), self.product.sum(axis=1)
        prior, middle = self._prior()
        pooled = np.linalg.solve(gram + prior, (product + middle * start[:, np.newaxis])[..., np.newaxis])
        own = np.linalg.solve(
            self.gram + prior[:, np.newaxis], self.product[..., np.newaxis] + (prior @ pooled)[:, np.newaxis]
        )
        return np.swapaxes(own[..., 0], -1, -2)

    def freedom(self) -> FloatArray:
        """How many free numbers each proposal's model has, effectively, (trials, Kz)."""
        prior, _ = self._prior()
        hat = np.linalg.solve(self.gram + prior[:, np.newaxis], self.gram)
        return np.asarray(np.trace(hat, axis1=-2, axis2=-1))

    def _prior(self) -> tuple[FloatArray, FloatArray]:
        """One person with the usual features, and some who say that features do nothing; and that person's features."""
        gram = self.gram.sum(axis=1)
        many = np.maximum(gram[:, 0, 0], 1.0)
        middle = gram[:, 0] / many[:, np.newaxis]
        middle[:, 0] = 1.0
        spread = np.maximum(np.diagonal(gram, axis1=-2, axis2=-1) / many[:, np.newaxis] - middle**2, LEAST_SPREAD)
        spread[:, 0] = 0.0
        prior = middle[:, :, np.newaxis] * middle[:, np.newaxis, :]
        prior += SHRUNK * spread[:, np.newaxis, :] * np.eye(gram.shape[-1])
        return prior, middle


def _points(n: int) -> list[int]:
    """After how many decisions models are fitted."""
    found = [0]
    while found[-1] < n:
        found.append(min(max(found[-1] + 1, int(found[-1] * GROWTH)), n))
    return found


def _parts(begin: int, end: int, trials: int) -> list[slice]:
    step = max(1, ROWS // max(trials, 1))
    return [slice(first, min(first + step, end)) for first in range(begin, end, step)]
