"""What a policy of takeup makes of past decisions, whose table is all that it needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from takeup.adapters.mabwiser.history import History, outcome_for
from takeup.checks import FloatArray, IntArray, shown
from takeup.errors import InputError, UnsuitableError
from takeup.evidence import Evidence
from takeup.outcomes import UNSEEN, Outcome
from takeup.policies.arms import credited
from takeup.policies.base import LivePolicy, Policy, is_live
from takeup.policies.beliefs import Exact, drawn, highest
from takeup.policies.indices import IndexBandit
from takeup.space import Space


class Model(Protocol):
    """What decides, given the past decisions that count and the contexts that are asked about, (n, d)."""

    def check(self, rows: History, implemented: object) -> None:
        """Refuses decisions that cannot be learnt from, in the words of whoever gave them."""

    def proposals(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> IntArray:
        """Which arm each context gets, (n,)."""

    def expectations(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> FloatArray:
        """What each arm promises, (n, arms)."""


@dataclass(frozen=True, slots=True)
class Table:
    """A policy, what it decides in, and the number of each label among actions, of which arms are the first."""

    policy: LivePolicy
    space: Space
    places: IntArray

    @classmethod
    def of(cls, policy: Policy[Any], space: Space, places: IntArray) -> "Table":
        """Refuses policies that need more than a table."""
        card = getattr(policy, "card", None)
        if card is not None and card.covariates:
            raise UnsuitableError(
                f"{policy.name} needs covariates with bounds, which a Space has; LinTS, LinUCB and LinGreedy of "
                "LearningPolicy learn from rows of numbers"
            )
        if not (is_live(policy, space) and isinstance(policy.start(space), Evidence)):
            raise UnsuitableError(f"{policy.name} learns from the order of decisions; MAB takes those that add up")
        return cls(policy, space, places)

    def check(self, rows: History, implemented: object) -> None:
        """A reward that cannot be is told, and whether what was done is needed."""
        rows.evidence(self.space, self.places)
        if self.policy.compliance == "needed" and implemented is None:
            raise InputError("implemented", "nothing", f"what was done, which {self.policy.name} learns from")

    def proposals(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> IntArray:
        """The arm that is best in a draw, or one by its probability."""
        beliefs = self.policy.beliefs(past.evidence(self.space, self.places), 0, rng)
        if isinstance(beliefs, Exact):
            return drawn(np.broadcast_to(beliefs.probability, (len(contexts), len(self.space.proposals))), rng)
        return highest(beliefs.scores(rng, len(contexts)))

    def expectations(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> FloatArray:
        """The index, a draw of what each arm is worth, or the probabilities."""
        shape = (len(contexts), len(self.space.proposals))
        evidence = past.evidence(self.space, self.places)
        if isinstance(self.policy, IndexBandit):
            worth = self.space.reward
            index = self.policy.scores(credited(evidence, self.policy.credit), self.space, 0)
            return np.broadcast_to(worth.min() + np.ptp(worth) * index, shape)
        beliefs = self.policy.beliefs(evidence, 0, rng)
        if isinstance(beliefs, Exact):
            return np.broadcast_to(beliefs.probability, shape)
        return beliefs.values(rng, len(contexts))


@dataclass(frozen=True, slots=True)
class Given:
    """Arms with probabilities that are told, whatever is known."""

    probability: FloatArray

    def check(self, rows: History, implemented: object) -> None:
        """Nothing is refused."""

    def proposals(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> IntArray:
        """Draws from the probabilities."""
        return drawn(self.expectations(past, contexts, rng), rng)

    def expectations(self, past: History, contexts: NDArray[Any], rng: np.random.Generator) -> FloatArray:
        """The probabilities themselves."""
        return np.broadcast_to(self.probability, (len(contexts), len(self.probability)))


def space_of(
    rows: History, arms: Sequence[Any], labels: Sequence[Any], told: "Outcome | Sequence[float] | None", binary: bool
) -> tuple[Space, IntArray]:
    """What the decisions were made in, and the number of each label among actions."""
    others = [labels[k] for k in np.unique(rows.implemented) if k != UNSEEN and labels[k] not in arms]
    names = named(arms)
    outcome = outcome_for(rows.reward, told, binary)
    places = {arm: z for z, arm in enumerate([*arms, *others])}
    space = Space(names, [*names, *map(str, others)], outcomes=outcome)
    return space, np.array([places.get(label, UNSEEN) for label in labels])


def named(arms: Sequence[Any]) -> list[str]:
    """Arms as a space has them; complying with one is doing it."""
    names = [str(arm) for arm in arms]
    missing = [arm for arm in arms if arm is None or arm != arm]
    if missing or len(set(names)) < len(names):
        raise InputError("arms", shown(list(arms)), "labels that all read differently, and none of them nothing")
    return names
