"""A bandit with the methods of MABWiser's `MAB`, over any policy of takeup, which knows that people do not comply."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from takeup import checks
from takeup.adapters.mabwiser import learning
from takeup.adapters.mabwiser.history import History, grouped, matrix, numbers
from takeup.adapters.mabwiser.lines import Linear, Lines, numeric
from takeup.adapters.mabwiser.neighbours import Same
from takeup.adapters.mabwiser.table import Given, Model, Table, named, space_of
from takeup.adapters.mabwiser.warm_start import nearest
from takeup.checks import IntArray, shown
from takeup.errors import InputError, LabelError, UnsuitableError
from takeup.evidence import Evidence
from takeup.inference.linear import Regression
from takeup.outcomes import UNSEEN, Outcome
from takeup.policies import Uniform
from takeup.policies.base import Policy
from takeup.policies.indices import IndexBandit
from takeup.randomness import stream
from takeup.space import Space

FEW = 256
"""From so many rows on it is worth to put decisions together that are the same."""

Arm = Hashable
Expectations = dict[Any, float]


class MAB:
    """A multi-armed bandit as MABWiser's users know it: `fit`, `partial_fit`, `predict`, `predict_expectations`.

    Decisions are what was *proposed*. `implemented` says what was done, where it is known, so that takeup's own
    policies can learn from it; MABWiser has no such argument. Contexts are rows of values; decisions count for a
    context as the neighbourhood policy says, and by default where the context is the same; those of a linear policy
    count for all.

    Args:
        arms: the labels of what can be proposed; texts or numbers.
        learning_policy: one of `LearningPolicy`, or any policy of takeup whose state is the evidence.
        neighborhood_policy: one of `NeighborhoodPolicy`.
        seed: of all draws; the same calls give the same answers.
        n_jobs: taken and not needed.
        backend: taken and not needed.
        rewards: what rewards there can be, in order: their values, or a `takeup.Number` or `takeup.Count`. Policies
            that believe something of rewards have to know it where they are not 0 and 1.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        learning_policy: Any,
        neighborhood_policy: Any = None,
        seed: int = 123456,
        n_jobs: int = 1,
        backend: str | None = None,
        *,
        rewards: Outcome | Sequence[float] | None = None,
    ) -> None:
        if isinstance(arms, str) or not isinstance(arms, Sequence):
            raise InputError("arms", shown(arms), "a list of labels")
        if not isinstance(learning_policy, learning.Rule | Linear | Policy):
            allowed = "one of LearningPolicy, or a policy of takeup, such as TSObs()"
            raise InputError("learning_policy", shown(learning_policy), allowed)
        if neighborhood_policy is not None and not hasattr(neighborhood_policy, "near"):
            raise InputError("neighborhood_policy", shown(neighborhood_policy), "one of NeighborhoodPolicy, or nothing")
        self.arms: list[Any] = list(arms)
        self.learning_policy = learning_policy
        self.neighborhood_policy = neighborhood_policy
        self.seed = checks.whole("seed", seed, least=0)
        self.n_jobs, self.backend = n_jobs, backend
        self._rewards = rewards
        self._binarizer = getattr(learning_policy, "binarizer", None)
        self._labels: dict[Any, int] = {arm: k for k, arm in enumerate(self.arms)}
        self._warm: set[Any] = set()
        self._past = self._rows([], [], None, None)
        self._settled = 0
        self._asked = 0
        self._lines: Lines | None = None
        self._model(self._past)  # what does not fit together is told now

    @property
    def is_contextual(self) -> bool:
        """Whether there are contexts."""
        return isinstance(self.learning_policy, Linear) or bool(self._past.context.shape[1])

    @property
    def cold_arms(self) -> list[Any]:
        """The arms that nothing is known of: never proposed, and not begun from another one."""
        return [arm for arm in self.arms if arm not in self._trained and arm not in self._warm]

    @property
    def evidence(self) -> Evidence:
        """All that was learnt, whatever the context, as every policy of takeup takes it."""
        return self._past.evidence(*self._space(self._past))

    @property
    def lines(self) -> dict[Any, Regression]:
        """What a linear policy without neighbours has learnt: of each arm the mean and covariance of coefficients."""
        model = self._model(self._past)
        if not isinstance(model, Lines) or not self._everywhere:
            raise UnsuitableError("lines are of LinUCB, LinTS and LinGreedy without a neighbourhood policy")
        numeric(self._past.context)
        found = model.of(self._past, self._past.context.shape[1])
        return {arm: line.regression for arm, line in zip(self.arms, found, strict=True)}

    def fit(
        self,
        decisions: Sequence[Arm],
        rewards: Sequence[float | None],
        contexts: object = None,
        implemented: Sequence[Arm | None] | None = None,
    ) -> None:
        """Learn from past decisions alone, whatever was learnt before.

        Args:
            decisions: what was proposed.
            rewards: what came of it; None or NaN where it is not known yet.
            contexts: a row of values for each decision.
            implemented: what was done, which need not be an arm; None or NaN where nobody says.
        """
        rows = self._rows(decisions, rewards, contexts, implemented)
        self._model(rows).check(rows, implemented)
        self._past, self._warm = rows.collapsed() if self._groups else rows, set()
        self._settled = len(self._past)

    def partial_fit(
        self,
        decisions: Sequence[Arm],
        rewards: Sequence[float | None],
        contexts: object = None,
        implemented: Sequence[Arm | None] | None = None,
    ) -> None:
        """Learn from more decisions; takes what `fit` takes."""
        more = self._rows(decisions, rewards, contexts, implemented)
        rows = self._past.plus(more)
        model = self._model(rows)
        model.check(rows, implemented)
        if isinstance(model, Lines):
            model.learn(self._past, more, rows)
        self._past = rows
        if self._groups and len(rows) > 2 * self._settled + FEW:
            self._past = rows.collapsed()
            self._settled = len(self._past)

    def predict(self, contexts: object = None) -> Any:
        """What to propose: an arm, or a list of arms where there is more than one context.

        Without contexts in the past, `contexts` says how many proposals are wanted.
        """
        found = [self.arms[k] for k in self._each(contexts, "proposals")]
        return found[0] if len(found) == 1 else found

    def predict_expectations(self, contexts: object = None) -> Expectations | list[Expectations]:
        """What each arm promises, as the policy sees it; a list where there is more than one context.

        Of a Thompson policy it is a draw of what each arm is worth, of an index policy the index that decides, in the
        units of the rewards, and of others the probability of each arm. An arm that an index policy has not seen has
        infinity: it comes first.
        """
        found = [dict(zip(self.arms, row, strict=True)) for row in self._each(contexts, "expectations")]
        return found[0] if len(found) == 1 else found

    def add_arm(self, arm: Arm, binarizer: learning.Binarizer | None = None) -> None:
        """One more arm; and what is a success from now on, where that is given."""
        if arm in self.arms:
            raise InputError("arm", shown(arm), "one that is not there yet")
        named([*self.arms, arm])
        self.arms.append(arm)
        self._labels.setdefault(arm, len(self._labels))
        self._binarizer = binarizer or self._binarizer

    def remove_arm(self, arm: Arm) -> None:
        """One arm fewer; its decisions are forgotten."""
        if arm not in self.arms:
            raise LabelError("arm", shown(arm), f"one of {shown(self.arms)}")
        if len(self.arms) == 2:
            raise InputError("arm", shown(arm), "an arm of at least three: two have to stay")
        self.arms.remove(arm)
        self._warm.discard(arm)
        self._past = self._past.without(self._labels[arm])

    def warm_start(self, arm_to_features: Mapping[Any, Sequence[float]], distance_quantile: float) -> None:
        """Let arms that were never proposed begin with the decisions of the most similar arm that was.

        They count as if they had been made of the new arm: a strong belief. `takeup.Prior` holds a weaker one.

        Args:
            arm_to_features: numbers that describe each arm; arms are as similar as the angle between these is small.
            distance_quantile: how similar an arm must be: this quantile of the distances to the nearest arm.
        """
        trained = [arm for arm in self.arms if arm in self._trained]
        for cold, warm in nearest(self.cold_arms, trained, arm_to_features, distance_quantile).items():
            self._past = self._past.begun(self._labels[cold], self._labels[warm])
            self._warm.add(cold)

    @property
    def _groups(self) -> bool:
        """Whether decisions of the same context are alike, so that they need not be kept one by one."""
        return self.neighborhood_policy is None and not isinstance(self.learning_policy, Linear)

    @property
    def _everywhere(self) -> bool:
        """Whether all decisions count for every context."""
        return self.neighborhood_policy is None and isinstance(self.learning_policy, Linear)

    @property
    def _trained(self) -> set[Any]:
        own = set(self._past.proposal[self._past.own].tolist())
        return {arm for arm in self.arms if self._labels[arm] in own}

    def _rows(
        self,
        decisions: Sequence[Any],
        rewards: Sequence[Any],
        contexts: object,
        implemented: Sequence[Any] | None,
    ) -> History:
        """Columns of what was given; labels of what was done, and is no arm, become known."""
        many = len(decisions)
        for name, given in (("rewards", rewards), ("implemented", implemented)):
            if given is not None and len(given) != many:
                raise InputError(name, f"{len(given)} values", f"one for each of {many} decisions")
        arms = set(self.arms)
        unknown = [arm for arm in decisions if arm not in arms]
        if unknown:
            raise LabelError("decisions", shown(unknown[0]), f"one of {shown(self.arms)}", "add_arm adds one")
        if self._binarizer is not None:
            pairs = zip(decisions, rewards, strict=True)
            rewards = [None if r is None or r != r else int(bool(self._binarizer(arm, r))) for arm, r in pairs]
        did = [
            UNSEEN if label is None or label != label else self._labels.setdefault(label, len(self._labels))
            for label in (implemented if implemented is not None else [None] * many)
        ]
        return History(
            np.array([self._labels[arm] for arm in decisions], dtype=np.int64),
            np.array(did, dtype=np.int64),
            numbers(rewards),
            np.zeros((many, 0)) if contexts is None else matrix(contexts, many),
            np.ones(many, dtype=bool),
            np.ones(many, dtype=np.int64),
        )

    def _space(self, rows: History) -> tuple[Space, IntArray]:
        rule = self.learning_policy
        free = IndexBandit | Uniform | Linear  # they believe nothing of rewards
        binary = rule.binary if isinstance(rule, learning.Rule) else not isinstance(rule, free)
        return space_of(rows, self.arms, list(self._labels), self._rewards, binary)

    def _model(self, rows: History) -> Model:
        """What decides, given the past."""
        rule = self.learning_policy
        if isinstance(rule, Linear):
            numbers = [self._labels[arm] for arm in self.arms]
            if self._lines is None or self._lines.numbers != numbers:
                Space(named(self.arms))  # what cannot be arms is told now
                self._lines = Lines(rule, numbers)
            return self._lines
        space, places = self._space(rows)
        policy = rule.policy(float(np.ptp(space.reward))) if isinstance(rule, learning.Rule) else rule
        return Table.of(policy, space, places)

    def _each(self, contexts: object, what: Literal["proposals", "expectations"]) -> list[Any]:
        """What is asked for, for every context; those that are the same are drawn together."""
        past, size = self._past, self._past.context.shape[1]
        asked = np.zeros((1, 0)) if contexts is None else matrix(contexts, width=size)
        if not self.is_contextual:
            asked = np.zeros((len(asked), 0))
        elif asked.shape[1] != size and len(past):
            raise InputError("contexts", f"{asked.shape[1]} values", f"{size} in each row, as in fit")
        model, alone = self._model(past), self._alone()
        rng = stream(self.seed, "MAB", self._asked)
        self._asked += 1
        if self._everywhere or not len(past):
            return list(getattr(alone or model, what)(past, asked, rng).tolist())
        found: list[Any] = [None] * len(asked)
        for row, rows in grouped(asked).items():
            where = range(len(asked))[rows] if isinstance(rows, slice) else rows
            near = (self.neighborhood_policy or Same()).near(past.context, np.array(row, dtype=asked.dtype))
            decides = model if near.any() or alone is None else alone
            answers = getattr(decides, what)(past.only(near), asked[rows], rng).tolist()
            for i, each in zip(where, answers, strict=True):
                found[i] = each
        return found

    def _alone(self) -> Model | None:
        """What decides where a context has no neighbours, if that is told."""
        told = getattr(self.neighborhood_policy, "no_nhood_prob_of_arm", None)
        if told is not None and len(told) != len(self.arms):
            raise InputError("no_nhood_prob_of_arm", f"{len(told)} values", f"one for each of {len(self.arms)} arms")
        return None if told is None else Given(np.array(told, dtype=np.float64))
