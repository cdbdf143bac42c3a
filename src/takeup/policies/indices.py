"""Bandits that play the arm of the highest index: a mean, raised by how little is known of it."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import betaincinv

from takeup import checks
from takeup.checks import FloatArray, IntArray
from takeup.errors import InputError
from takeup.evidence import Event, Evidence, Index
from takeup.policies.allocation import Allocation
from takeup.policies.arms import Credit, Rows, argmax, credited, gain, here
from takeup.randomness import Random
from takeup.space import Space

Decay: TypeAlias = Literal["none", "logarithmic", "harmonic"]
"""How the probability to explore falls: not at all, as ε / log t, or as ε K / t."""

HALVINGS = 32
"""How often the interval that holds an index of KL-UCB is halved."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexBandit(Rows):
    """What the members share: a score for each arm, and the highest one wins, ties at random.

    Rewards are utilities rescaled to [0, 1]. An arm with pulls n and mean reward m has the index i(m, n, t), where
    t = 1 + Σ n. What it proposes is a function of the evidence and, for ties, of the stream.
    """

    live: ClassVar[bool] = True
    credit: ClassVar[Credit] = "chosen"

    @abstractmethod
    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The index of each arm; `time` is t with an axis of length one for the arms."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet."""
        if self.credit != "chosen":
            space.complying(self.name)
        return Evidence.empty(space, batch)

    def propose(self, state: Evidence, context: Index, rng: Random) -> IntArray:
        """The arm of the highest index."""
        return self.choose(credited(state, self.credit), state.space, context, rng)

    def learn(self, state: Evidence, event: Event, rng: Random) -> Evidence:
        """The evidence with one more decision."""
        return state.record(event)

    def report(self, state: Evidence, before: Event, after: Event, rng: Random) -> Evidence:
        """The evidence with a decision moved."""
        return state.move(before, after)

    def allocation(self, evidence: Evidence, context: int, rng: np.random.Generator, draws: int = 0) -> Allocation:
        """The probability of each proposal, exactly: one for the highest index, shared by those that tie."""
        return self.weigh(credited(evidence, self.credit), evidence.space, context, rng, draws)

    def choose(self, table: FloatArray, space: Space, context: Index, rng: Random) -> IntArray:
        """The arm of the highest index."""
        return argmax(self.scores(table, space, context), rng)

    def weigh(self, table: FloatArray, space: Space, context: int, rng: np.random.Generator, draws: int) -> Allocation:
        """One for the highest index, shared by those that tie."""
        score = self.scores(table, space, context)
        best = score == score.max()
        return Allocation(best / best.sum(), np.zeros(best.size), draws=0)

    def scores(self, table: FloatArray, space: Space, context: Index) -> FloatArray:
        """The index of every arm for a unit with this context; shape (.., Kz)."""
        rows = here(table, context, axes=3)
        pulls = rows.sum(axis=-1) + self.imagined
        total = rows @ gain(space) + self.imagined
        mean = np.divide(total, pulls, out=np.zeros_like(pulls), where=pulls > 0)
        return self.score(mean, pulls, 1 + pulls.sum(axis=-1, keepdims=True))

    @property
    def imagined(self) -> float:
        """How many pulls with the best reward every arm has before the first."""
        return 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UCB1(IndexBandit):
    """The upper confidence bound of Auer, Cesa-Bianchi & Fischer (2002): m + sqrt(c log(Σ n) / n).

    Arms that were never played come first. It learns the value of proposing, as TS does, so it is right however
    compliance comes about; it explores more than TS and costs more.

    Attributes:
        exploration: c, for rewards in [0, 1].
        optimism: how many imagined pulls with the best reward every arm begins with.
    """

    exploration: float = 2.0
    optimism: float = 0.0

    def __post_init__(self) -> None:
        checks.positive("exploration", self.exploration)
        _at_least_zero("optimism", self.optimism)

    @property
    def name(self) -> str:
        """UCB1."""
        return "UCB1"

    @property
    def imagined(self) -> float:
        """The optimism."""
        return self.optimism

    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The mean and its bound's width."""
        log = np.log(np.maximum(time - 1, 1))
        width = np.sqrt(self.exploration * np.divide(log, pulls, out=np.zeros_like(pulls), where=pulls > 0))
        return np.where(pulls > 0, mean + width, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KLUCB(IndexBandit):
    """The bound of Garivier & Cappé (2011): the largest q with n kl(m, q) <= log t + c log log t.

    kl is the divergence of Bernoulli distributions, which bounds that of any rewards in [0, 1]. Regret is optimal for
    two outcome levels as time goes on. Arms that were never played come first.

    Attributes:
        constant: c; 3 in the proof, 0 in practice.
    """

    constant: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("constant", self.constant)

    @property
    def name(self) -> str:
        """KL-UCB."""
        return "KL-UCB"

    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The largest q, by halving [m, 1]."""
        log = np.log(time)
        budget = log + self.constant * np.log(np.maximum(log, 1))
        low, high = mean.copy(), np.ones_like(mean)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            inside = pulls * _divergence(mean, middle) <= budget
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return np.where(pulls > 0, low, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BayesUCB(IndexBandit):
    """The index of Kaufmann, Cappé & Garivier (2012): the 1 - 1/t quantile of the posterior of an arm's mean.

    The posterior is Beta(α + n m, α + n (1 - m)), which is exact with two outcome levels; a reward in between counts
    as that much of a success.

    Attributes:
        alpha: the prior, Beta(α, α).
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("alpha", self.alpha)

    @property
    def name(self) -> str:
        """Bayes-UCB."""
        return "Bayes-UCB"

    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The quantile."""
        success, failure = self.alpha + pulls * mean, self.alpha + pulls * (1 - mean)
        return np.asarray(betaincinv(success, failure, 1 - 1 / time))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EpsilonGreedy(IndexBandit):
    """The arm of the highest mean, and with a small probability any: Auer, Cesa-Bianchi & Fischer (2002).

    Arms that were never played count as perfect. Simple and robust; with a fixed ε it explores for ever.

    Attributes:
        epsilon: ε, the probability to explore, or what it is made of.
        decay: how it falls: "none" keeps it at ε, "logarithmic" is min(1, ε / log t), "harmonic" is min(1, ε K / t).
        optimism: how many imagined pulls with the best reward every arm begins with.
    """

    epsilon: float = 0.1
    decay: Decay = "none"
    optimism: float = 0.0

    def __post_init__(self) -> None:
        _at_least_zero("epsilon", self.epsilon)
        _at_least_zero("optimism", self.optimism)
        if self.decay not in get_args(Decay):
            raise InputError("decay", repr(self.decay), f"one of {', '.join(get_args(Decay))}")
        if self.decay == "none" and self.epsilon > 1:
            raise InputError("epsilon", self.epsilon, "a probability between 0 and 1", "or choose a decay")

    @property
    def name(self) -> str:
        """epsilon-greedy."""
        return "epsilon-greedy"

    @property
    def imagined(self) -> float:
        """The optimism."""
        return self.optimism

    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The mean."""
        return np.where(pulls > 0, mean, np.inf)

    def choose(self, table: FloatArray, space: Space, context: Index, rng: Random) -> IntArray:
        """Any arm with probability ε, else the best."""
        rate = self.rate(table, context)
        best = argmax(self.scores(table, space, context), rng)
        explores = rng.random(rate.shape) < rate
        return np.asarray(np.where(explores, rng.integers(len(space.proposals), size=rate.shape), best))

    def weigh(self, table: FloatArray, space: Space, context: int, rng: np.random.Generator, draws: int) -> Allocation:
        """ε / K each, and the rest for the best."""
        rate = self.rate(table, context)
        best = IndexBandit.weigh(self, table, space, context, rng, draws).probability
        return Allocation(rate / best.size + (1 - rate) * best, np.zeros(best.size), draws=0)

    def rate(self, table: FloatArray, context: Index) -> FloatArray:
        """The probability to explore now."""
        rows = here(table, context, axes=3)
        arms = rows.shape[-2]
        time = 1 + rows.sum(axis=(-2, -1)) + arms * self.optimism
        if self.decay == "none":
            return np.full_like(time, self.epsilon)
        if self.decay == "harmonic":
            return np.asarray(np.minimum(1, self.epsilon * arms / time))
        log = np.log(time)
        return np.asarray(np.minimum(1, np.divide(self.epsilon, log, out=np.ones_like(log), where=log > 0)))


def _at_least_zero(argument: str, value: float) -> None:
    if checks.real(argument, value).min() < 0:
        raise InputError(argument, value, "a number of at least 0")


def _divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """P log(p / q) + (1 - p) log((1 - p) / (1 - q)), with 0 log 0 = 0; q is between p and 1, neither end included."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0, p * np.log(p / q), 0.0)
        tails = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(heads + tails)
