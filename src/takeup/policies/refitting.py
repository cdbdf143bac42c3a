"""Models that are fitted to rows: at stated moments, from all rows that there are then."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE, Profile
from takeup.evidence import Event, Evidence, at_context
from takeup.inference.logit import Logit, Table, fitted, prior_precision, probabilities
from takeup.policies.base import Carded
from takeup.policies.beliefs import Beliefs
from takeup.policies.linear import features_of
from takeup.randomness import Random
from takeup.rows import Rows
from takeup.space import UNSEEN, Space

GROWTH = 1.2
"""By how much a fit's rows are more than those of the fit before, and by one at least."""

Codes = NDArray[np.int32]
Model = TypeVar("Model")
"""What is fitted."""


def next_moment(size: int) -> int:
    """How many rows there are when models are fitted next, after a fit to so many.

    With one row more while there are few, and then by a fifth: all fits together cost less than seven times the
    last one, so that what a decision costs does not grow with history.
    """
    return max(size + 1, int(np.ceil(GROWTH * size)))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted(Generic[Model]):
    """What a policy knows whose models are fitted at moments.

    The fits are a function of the multiset of rows as it was known at the last moment: not of their order, and not of
    what was fitted before. What is reported between two moments is in the next fit.

    Attributes:
        rows: the decisions.
        evidence: what they add up to, at every moment.
        models: what was fitted last.
        due: how many rows there are at the next moment.
    """

    rows: Rows
    evidence: Evidence
    models: tuple[Model, ...]
    due: int


class Refitting(Carded, ABC, Generic[Model]):
    """A policy whose models are fitted to rows at moments; it says what they are and what it believes by them."""

    __slots__ = ()

    @abstractmethod
    def fit(self, rows: Rows) -> tuple[Model, ...]:
        """Its models, from these rows."""

    @abstractmethod
    def beliefs(self, state: Fitted[Model], unit: Profile, rng: Random) -> Beliefs:
        """What it believes of a unit, which may be another one in each replication."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Fitted[Model]:
        """No rows yet: the models are their priors."""
        self.suits(space)
        rows = Rows.empty(space, batch)
        return Fitted(rows, Evidence.empty(space, batch), self.fit(rows), due=1)

    def propose(self, state: Fitted[Model], context: Profile, rng: Random) -> IntArray:
        """What follows from what it believes."""
        return self.beliefs(state, context, rng).propose(rng)

    def learn(self, state: Fitted[Model], event: Event, rng: Random) -> Fitted[Model]:
        """With one more decision; fitted again where a moment has come."""
        state = replace(state, rows=state.rows.record(event), evidence=state.evidence.record(event))
        if state.rows.size < state.due:
            return state
        return replace(state, models=self.fit(state.rows), due=next_moment(state.rows.size))

    def report(self, state: Fitted[Model], before: Event, after: Event, rng: Random) -> Fitted[Model]:
        """With a decision of which more is known, for the next fit."""
        return replace(state, rows=state.rows.move(before, after), evidence=state.evidence.move(before, after))


def logit_by(rows: Rows, arm: Codes, arms: int, choice: Codes, classes: int, spread: float) -> Logit:
    """A logit of `choice` by the features for each (x, arm), (.., X, arms); rows with either UNSEEN do not count."""
    made = _side_by_side if rows.batch else _alone
    precision = prior_precision(np.full(rows.features.shape[-1], spread), classes)
    group, groups = group_of(rows, arm, arms, choice)
    found = [fitted(table, precision)[0] for table in made(rows.features, group, groups, choice, classes)]

    def together(name: str) -> FloatArray:
        return by_arm(rows, arms, [getattr(each, name) for each in found])

    return Logit(together("mode"), together("factor"), together("log_posterior"))


def group_of(rows: Rows, arm: Codes, arms: int, choice: Codes) -> tuple[Codes, int]:
    """The (x, arm) of each row as one number, UNSEEN where arm or choice is; and how many there are."""
    group = np.where((choice == UNSEEN) | (arm == UNSEEN), UNSEEN, rows.context * arms + arm)
    return group, len(rows.space.contexts) * arms


def by_arm(rows: Rows, arms: int, parts: list[FloatArray]) -> FloatArray:
    """A part of each group's model, with the axes (.., X, arms, ..)."""
    array = np.stack(parts, axis=len(rows.batch))
    return array.reshape(*rows.batch, len(rows.space.contexts), arms, *array.shape[len(rows.batch) + 1 :])


def _alone(features: NDArray[np.int16], group: Codes, groups: int, choice: Codes, classes: int) -> Iterator[Table]:
    """The rows of each group of a single experiment, equal features together."""
    for each in range(groups):
        table = Table.of(features[group == each], choice[group == each], classes)
        yield replace(table, features=table.features / ONE)


def _side_by_side(
    features: NDArray[np.int16], group: Codes, groups: int, choice: Codes, classes: int
) -> Iterator[Table]:
    """The rows of each group in every replication."""
    for v, code, own in in_order(features, group, groups, choice):
        chosen = (code[..., np.newaxis] == np.arange(classes)) & own[..., np.newaxis]
        yield Table(v, chosen.astype(np.float64))


def in_order(
    features: NDArray[np.int16], group: Codes, groups: int, choice: Codes
) -> Iterator[tuple[FloatArray, Codes, NDArray[np.bool_]]]:
    """The rows of each group in every replication, in their canonical order, filled up to the most that there are.

    Features (.., n, p), of which those filled up are zeros, choices (.., n), and which are rows (.., n).
    """
    order = np.lexsort((choice, *np.moveaxis(features, -1, 0), group), axis=-1)
    sizes = [(group == each).sum(axis=-1, keepdims=True) for each in (UNSEEN, *range(groups))]
    for first, size in zip(np.cumsum(sizes[:-1], axis=0), sizes[1:], strict=True):
        place = np.arange(size.max(initial=0))
        own = place < size
        at = np.take_along_axis(order, np.where(own, first + place, 0), axis=-1) if place.size else own.astype(np.int64)
        v = np.take_along_axis(features, at[..., np.newaxis], axis=-2) / ONE
        yield v * own[..., np.newaxis], np.take_along_axis(choice, at, axis=-1), own


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """Probabilities of classes for each arm, at one unit.

    Attributes:
        model: of the unit's context; leading axes (.., arms).
        features: v; shape (.., 1, d).
    """

    model: Logit
    features: FloatArray

    @classmethod
    def at(cls, model: Logit, unit: Profile) -> "Shares":
        """Of a unit."""
        mode, factor = (
            at_context(each, unit.context, trailing=4)[..., 0, :, :, :] for each in (model.mode, model.factor)
        )
        level = at_context(model.log_posterior, unit.context, trailing=2)[..., 0, :]
        return cls(Logit(mode, factor, level), features_of(unit)[..., np.newaxis, :])

    def draw(self, rng: Random, draws: int | None = None) -> FloatArray:
        """p(class given v, arm) in draws of the coefficients; (.., arms, classes), after an axis for the draws."""
        return probabilities(self.model.coefficients(rng, draws), self.features)
