"""Scores: for each decision and each proposal an unbiased guess at what would have come of offering it.

The score of decision t and proposal z is

    Γ_t(z) = m_t(z) + 1{z_t = z} (v_t - m_t(z)) / p_t(z)

with v_t the target's value, p_t the probabilities that were logged and m_t(z) any guess made from earlier decisions
alone. Whatever the policy did before, and whether or not m_t is any good, E[Γ_t(z) given the past] is the mean of the
target under proposal z for decision t: augmented inverse probability weighting (AIPW), after adaptive allocation as
after any other.

Where probabilities never changed within a context nothing was decided by what came before, and the order of decisions
means nothing. The guess is then the mean of all of the same context and proposal, and their share of the context takes
the place of p: the mean of the scores is the mean of each context's plain means, by how many came in each.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup.analysis.outcome_model import expected
from takeup.analysis.targets import Target
from takeup.checks import FloatArray, IntArray
from takeup.errors import UnsuitableError
from takeup.log import Log

BoolArray: TypeAlias = NDArray[np.bool_]
Made = TypeVar("Made")

MOST_KEPT = 3
"""How many scores of a log of a million decisions are kept: they are large."""

NO_PROBABILITIES = "nobody wrote down the probabilities that proposals were drawn with, and adjusting weighs by them"
"""Why nothing is adjusted for covariates."""

HowMissing: TypeAlias = Literal["complete", "weighted"]
"""What becomes of decisions whose target is not known. complete: they are left out. weighted: those of the same context
and proposal of which it is known stand for them."""


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of every decision, for every proposal; leading axes are trials side by side.

    Attributes:
        log: what they are from.
        target: what they are of.
        value: v, (.., n); NaN where it is not known.
        guess: m, what was expected of each proposal, (.., n, Kz).
        chance: the probability that each proposal is made and the value known, or the share that stands for it.
        score: Γ, (.., n, Kz); NaN where a decision has none. With fixed probabilities that is so, too, of a proposal of
            which no value is known in the decision's context.
        plain: whether guesses are plain means, as probabilities never changed.
        missing: what became of decisions whose value is not known.
        fitted: what a model in the covariates says of each proposal after all decisions, (.., n, Kz), in units of the
            target; None where guesses are without covariates.
        variance: of values around that, as a part of the target's squared range, (.., Kz).
        sums: what was made of them, to be found again; see `takeup.analysis.moments`.
    """

    log: Log
    target: Target
    value: FloatArray
    guess: FloatArray
    chance: FloatArray
    score: FloatArray
    plain: bool
    missing: HowMissing = "complete"
    fitted: FloatArray | None = None
    variance: FloatArray | None = None
    sums: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def known(self) -> BoolArray:
        """Which decisions have a value."""
        return ~np.isnan(self.value)

    def only(self, rows: BoolArray) -> "Scores":
        """Those of some decisions of a single trial."""
        names = ("value", "guess", "chance", "score", *(() if self.fitted is None else ("fitted",)))
        each = {name: getattr(self, name)[rows] for name in names}
        return replace(self, log=self.log.only(rows), sums={}, **each)

    def counted(self, proposals: tuple[int, ...], context: int | None = None) -> BoolArray:
        """Which decisions, of all contexts or of one, have a score of all these proposals."""
        found = ~np.isnan(self.score[..., proposals[0]])
        for z in proposals[1:]:
            found &= ~np.isnan(self.score[..., z])
        return found if context is None else found & (self.log.context == context)


_KEPT: ContextVar[list[Scores] | None] = ContextVar("kept scores", default=None)
_FOUND: ContextVar[dict[str, tuple[Log, Any]] | None] = ContextVar("found of a log", default=None)


def scores(log: Log, of: Target, missing: HowMissing = "complete", *, adjusted: bool = False) -> Scores:
    """The scores of a log, of one target: from the past alone where probabilities changed, else whatever the order.

    Args:
        log: the decisions.
        of: what is asked about each.
        missing: what becomes of decisions of which that is not known.
        adjusted: whether guesses are by covariates: from the past alone, whether or not probabilities changed.
    """
    make = adjusted_scores if adjusted else _plain_scores if log.fixed else predictable_scores
    kept = _KEPT.get()
    if kept is None:
        return make(log, of, missing)
    value = of.values(log)
    same = [
        each
        for each in kept
        if each.log is log and each.missing == missing and (each.fitted is not None) == adjusted
        if _alike(each, of, value)
    ]
    found = replace(same[0], target=of) if same else make(log, of, missing)
    kept[:] = [*(each for each in kept if each not in same), found][-MOST_KEPT:]
    return found


@contextmanager
def keeping_scores() -> Iterator[None]:
    """Scores that are asked for again, here or under another name, are not made again; the latest few of them.

    Nor is what `once` has found of a log.
    """
    tokens = _KEPT.set([]), _FOUND.set({})
    try:
        yield
    finally:
        _KEPT.reset(tokens[0])
        _FOUND.reset(tokens[1])


def once(make: Callable[[Log], Made]) -> Callable[[Log], Made]:
    """What a function makes of a log, found again while scores are kept and the log is the same."""

    @wraps(make)
    def found(log: Log) -> Made:
        kept = _FOUND.get()
        if kept is None:
            return make(log)
        if make.__qualname__ not in kept or kept[make.__qualname__][0] is not log:
            kept[make.__qualname__] = log, make(log)
        made: Made = kept[make.__qualname__][1]
        return made

    return found


def _alike(each: Scores, of: Target, value: FloatArray) -> bool:
    """Whether a target has the same values and the same range as that of these scores."""
    ranges = [(target.low, target.high, target.two_valued) for target in (each.target, of)]
    return ranges[0] == ranges[1] and np.array_equal(each.value, value, equal_nan=True)


def adjusted_scores(log: Log, of: Target, missing: HowMissing = "complete") -> Scores:
    """Scores whose guesses are by covariates, from the past alone; see `takeup.analysis.outcome_model`.

    The score's mean does not depend on its guess, so that the model need not be right: the better it is, the less
    scores vary.
    """
    if log.features is None:
        raise UnsuitableError("the log has no covariates to adjust for")
    if log.estimated:
        raise UnsuitableError(NO_PROBABILITIES)
    value, range_ = of.values(log), of.high - of.low
    known, nothing = ~np.isnan(value), np.zeros(value.shape, dtype=np.bool_)
    start = np.full(log.batch, of.middle)
    if of.start is None:
        nothing = before(known) == 0
        start = np.where(known & nothing, value, 0.0).sum(axis=-1)
    found = expected(log, (value - of.low) / range_, (start - of.low) / range_)
    guess = of.low + range_ * found.before
    chance = _known_chance(log, known) if missing == "weighted" else log.probability
    made = _scored(log, of, value, guess, chance, nothing, missing, plain=False)
    return replace(made, fitted=of.low + range_ * found.after, variance=found.variance)


def predictable_scores(log: Log, of: Target, missing: HowMissing = "complete") -> Scores:
    """Scores whose guesses are from the past alone, as what holds at any time needs them, whatever was allocated.

    A target without a `start` begins with its first known value: up to that decision there is nothing to guess from but
    the middle of its range, which may be far off, and no score.
    """
    value = of.values(log)
    known = ~np.isnan(value)
    nothing, start = np.zeros_like(known), of.start
    if start is None:
        nothing = before(known) == 0
        start = np.where(known & nothing, value, 0.0).sum(axis=-1, keepdims=True)
    guess = guesses(log.context, log.proposal, value, len(log.space.contexts), len(log.space.proposals), start)
    guess[nothing] = of.middle
    chance = _known_chance(log, known) if missing == "weighted" else log.probability
    return _scored(log, of, value, guess, chance, nothing, missing, plain=False)


def _known_chance(log: Log, known: BoolArray) -> FloatArray:
    """The probability of each proposal, and that its value is then known: as often as in the decision's context."""
    followed, offered = (_cells(log, which) for which in (known, np.ones_like(known)))
    share = np.where(offered > 0, followed / np.maximum(offered, 1.0), 1.0)
    return np.asarray(log.probability * share[_place(log)])


def _plain_scores(log: Log, of: Target, missing: HowMissing) -> Scores:
    """Scores whose guesses are the plain means of each context and proposal."""
    value = of.values(log)
    known = ~np.isnan(value)
    many = _cells(log, known)
    total = _cells(log, np.where(known, value, 0.0))
    base = many if missing == "complete" else _cells(log, np.ones_like(known))
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, share = total / many, many / base.sum(axis=-1, keepdims=True)
    place = _place(log)
    return _scored(log, of, value, mean[place], share[place], np.zeros_like(known), missing, plain=True)


def _scored(
    log: Log,
    of: Target,
    value: FloatArray,
    guess: FloatArray,
    chance: FloatArray,
    nothing: BoolArray,
    missing: HowMissing,
    *,
    plain: bool,
) -> Scores:
    """Scores by their definition; none where there is nothing to guess from."""
    own = log.proposal[..., np.newaxis]
    lost = np.isnan(value)
    expected, drawn = (np.take_along_axis(each, own, axis=-1)[..., 0] for each in (guess, chance))
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.where(lost, 0.0, (value - expected) / drawn)
    score = guess.copy()
    np.put_along_axis(score, own, (expected + moved)[..., np.newaxis], axis=-1)
    score[nothing | lost if missing == "complete" else nothing] = np.nan
    if missing == "weighted":
        score[(chance == 0) & (log.probability > 0)] = np.nan
    return Scores(log, of, value, guess, chance, score, plain, missing)


def guesses(
    context: IntArray,
    proposal: IntArray,
    value: FloatArray,
    contexts: int,
    proposals: int,
    start: float | FloatArray,
) -> FloatArray:
    """What was expected of each proposal in the decision's own context before it was made, (.., n, Kz).

    The mean of earlier values of the same context and proposal, as if one more of them had been the mean of all earlier
    values, which begins as if one had been `start`.
    """
    seen = ~np.isnan(value)
    filled = np.where(seen, value, 0.0)
    overall = (before(filled) + start) / (before(seen) + 1.0)
    order, begins = _by_context(context) if contexts > 1 else (None, None)

    def earlier(each: FloatArray | BoolArray) -> FloatArray:
        """The sum of all before in the same context, of decisions in the order of contexts."""
        total = before(each)
        return total if begins is None else total - np.take_along_axis(total, begins, axis=-1)

    if order is not None:
        proposal, seen, filled, overall = (
            np.take_along_axis(each, order, axis=-1) for each in (proposal, seen, filled, overall)
        )
    expected = np.empty((*value.shape, proposals))
    for z in range(proposals):
        own = proposal == z
        mean = (earlier(filled * own) + overall) / (earlier(seen & own) + 1.0)
        if order is None:
            expected[..., z] = mean
        else:
            np.put_along_axis(expected[..., z], order, mean, axis=-1)
    return expected


def _by_context(context: IntArray) -> tuple[IntArray, IntArray]:
    """The order in which decisions of a context stand together, as they came; and there, where each one's begin."""
    order = np.argsort(context.astype(np.int16), axis=-1, kind="stable")
    sorted_by = np.take_along_axis(context, order, axis=-1)
    begins = np.where(np.diff(sorted_by, axis=-1, prepend=-1) != 0, np.arange(context.shape[-1]), 0)
    return order, np.maximum.accumulate(begins, axis=-1)


def before(each: NDArray[np.float64] | NDArray[np.bool_]) -> FloatArray:
    """The sum of all before, along the last axis."""
    total = np.zeros(each.shape)
    np.cumsum(each[..., :-1], axis=-1, dtype=np.float64, out=total[..., 1:])
    return total


def _cells(log: Log, each: FloatArray | BoolArray) -> FloatArray:
    """Sums over the decisions of each context and proposal, (.., X, Kz)."""
    shape = (*log.batch, len(log.space.contexts), len(log.space.proposals))
    cell = np.ravel_multi_index((*_place(log), log.proposal), shape)
    sums = np.bincount(cell.reshape(-1), np.asarray(each, dtype=np.float64).reshape(-1), int(np.prod(shape)))
    return np.asarray(sums.reshape(shape), dtype=np.float64)


def _place(log: Log) -> tuple[IntArray, ...]:
    """Where each decision's trial and context are in such sums."""
    trials = tuple(index[..., np.newaxis] for index in np.indices(log.batch, sparse=True))
    return (*trials, log.context)
