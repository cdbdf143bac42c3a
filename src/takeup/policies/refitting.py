"""Models that are fitted to rows: at stated moments, from all rows that there are then."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeAlias

import numpy as np
from numpy.typing import NDArray

from takeup.checks import FloatArray, IntArray
from takeup.covariates import ONE, Profile
from takeup.evidence import Event, Evidence, at_context
from takeup.inference.logit import Logit, Table, fitted, prior_precision, probabilities
from takeup.policies.allocation import Allocation
from takeup.policies.base import Carded
from takeup.policies.beliefs import Beliefs
from takeup.policies.fitted import Fitted, Model, due_after, is_due
from takeup.policies.linear import features_of
from takeup.randomness import Random
from takeup.rows import Rows
from takeup.space import UNSEEN, Space

Codes = NDArray[np.int32]
Part: TypeAlias = Any


class Refitting(Carded, ABC, Generic[Model]):
    """A policy whose models are fitted to rows at moments; it says what they are and what it believes by them."""

    __slots__ = ()

    @property
    def live(self) -> bool:
        """A live trial fits it to its decisions, at the same moments."""
        return True

    @abstractmethod
    def fit(self, rows: Rows) -> tuple[Model, ...]:
        """Its models, from these rows."""

    @abstractmethod
    def beliefs(self, state: Fitted[Model], unit: Profile, rng: Random) -> Beliefs:
        """What it believes of a unit, which may be another one in each replication."""

    def seen(self, evidence: Evidence) -> IntArray:
        """How many outcomes are seen, and how many actions, if it learns from them."""
        outcomes = evidence.seen_outcomes.sum(axis=-1)
        used = self.compliance != "not used"
        return np.asarray(outcomes + evidence.compliance.sum(axis=(-3, -2, -1)) if used else outcomes)

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Fitted[Model]:
        """No rows yet: the models are their priors."""
        self.suits(space)
        rows = Rows.empty(space, batch)
        first = np.ones(batch, dtype=np.int64)
        return Fitted(rows, Evidence.empty(space, batch), self.fit(rows), due=(first, first))

    def propose(self, state: Fitted[Model], context: Profile, rng: Random) -> IntArray:
        """What follows from what it believes."""
        return self.beliefs(state, context, rng).propose(rng)

    def allocation(
        self, state: Fitted[Model], context: Profile, rng: np.random.Generator, draws: int = 10_000
    ) -> Allocation:
        """The probability of each proposal for a unit."""
        return self.beliefs(state, context, rng).allocation(rng, draws)

    def learn(self, state: Fitted[Model], event: Event, rng: Random) -> Fitted[Model]:
        """With one more decision; fitted again where a moment has come."""
        return self._kept_up(replace(state, rows=state.rows.record(event), evidence=state.evidence.record(event)))

    def report(self, state: Fitted[Model], before: Event, after: Event, rng: Random) -> Fitted[Model]:
        """With a decision of which more is known; likewise."""
        moved = replace(state, rows=state.rows.move(before, after), evidence=state.evidence.move(before, after))
        return self._kept_up(moved)

    def _kept_up(self, state: Fitted[Model]) -> Fitted[Model]:
        """Fitted again in those replications where a moment has come."""
        now = state.rows.size, self.seen(state.evidence)
        due = is_due(now, state.due)
        if not due.any():
            return state
        then = due_after(now, state.due)
        if due.all():
            return replace(state, models=self.fit(state.rows), due=then)
        some = self.fit(state.rows.among(due))
        models = tuple(_replaced(old, new, due) for old, new in zip(state.models, some, strict=True))
        return replace(state, models=models, due=then)


def _replaced(old: Part, new: Part, due: NDArray[np.bool_]) -> Part:
    """A model of which some replications have another; it is arrays with an axis for them, and parts made of such."""
    if isinstance(old, np.ndarray):
        whole = np.array(old)
        whole[due] = new
        return whole
    return replace(old, **{f.name: _replaced(getattr(old, f.name), getattr(new, f.name), due) for f in fields(old)})


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
        if draws is None:
            return probabilities(self.model.coefficients(rng), self.features)
        return self.model.shares(self.features, rng, draws)
