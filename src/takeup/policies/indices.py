"""Bandits that play the arm of the highest index: a mean, raised by how little is known of it."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias, get_args

import numpy as np
from scipy.special import betaincinv

from takeup.checks import FloatArray
from takeup.errors import InputError
from takeup.evidence import Evidence, Index
from takeup.policies.arms import INDICES, Credit, Rows, credited, here
from takeup.policies.base import FromEvidence
from takeup.policies.beliefs import Beliefs, Exact
from takeup.policies.card import Card, OneOf, Real, Variant
from takeup.randomness import Random
from takeup.space import Space

Decay: TypeAlias = Literal["none", "logarithmic", "harmonic"]
"""How the probability to explore falls: not at all, as ε / log t, or as ε K / t."""

AUER = "Auer, Cesa-Bianchi & Fischer (2002)"

HALVINGS = 32
"""How often the interval that holds an index of KL-UCB is halved."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexBandit(FromEvidence, Rows):
    """What the members share: a score for each arm, and the highest one wins, ties at random.

    Rewards are utilities rescaled to [0, 1]. An arm with pulls n and mean reward m has the index i(m, n, t), where
    t = 1 + Σ n. What it proposes is a function of the evidence and, for ties, of the stream.
    """

    credit: ClassVar[Credit] = "chosen"

    @abstractmethod
    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The index of each arm; `time` is t with an axis of length one for the arms."""

    def start(self, space: Space, batch: tuple[int, ...] = ()) -> Evidence:
        """No evidence yet."""
        self.suits(space)
        if self.credit != "chosen":
            space.complying(self.name)
        return Evidence.empty(space, batch)

    def beliefs(self, evidence: Evidence, context: Index, rng: Random) -> Beliefs:
        """What it makes of the outcomes that are credited to each arm."""
        return self.believe(credited(evidence, self.credit), evidence.space, context)

    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """One for the highest index, shared by those that tie."""
        return self.highest(table, space, context)

    def highest(self, table: FloatArray, space: Space, context: Index) -> Exact:
        """One for the highest index, shared by those that tie."""
        score = self.scores(table, space, context)
        return Exact.tied(score == score.max(axis=-1, keepdims=True))

    def scores(self, table: FloatArray, space: Space, context: Index) -> FloatArray:
        """The index of every arm for a unit with this context; shape (.., Kz)."""
        rows = here(table, context, axes=3)
        pulls = np.asarray(space.outcome.seen(rows) + self.imagined, dtype=np.float64)
        total = space.outcome.gained(rows) + self.imagined
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

    card: ClassVar[Card] = Card(
        name="UCB1",
        family="bandits",
        source=AUER,
        compliance="not used",
        variants=(Variant("The most promising within its uncertainty; never by chance."),),
        outcomes="valued",
        parameters={"exploration": Real(above=0), "optimism": Real(least=0)},
        kernels=INDICES,
    )
    exploration: float = 2.0
    optimism: float = 0.0

    @property
    def imagined(self) -> float:
        """The optimism."""
        return self.optimism

    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The mean and its bound's width."""
        log = np.log(np.maximum(time - 1, 1))
        with np.errstate(over="ignore"):  # of pulls that are imagined and next to none
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

    card: ClassVar[Card] = Card(
        name="KL-UCB",
        family="bandits",
        source="Garivier & Cappé (2011)",
        compliance="not used",
        variants=(Variant("As UCB1, with a sharper bound."),),
        outcomes="valued",
        parameters={"constant": Real(least=0)},
        kernels=INDICES,
    )
    constant: float = 0.0

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

    card: ClassVar[Card] = Card(
        name="Bayes-UCB",
        family="bandits",
        source="Kaufmann, Cappé & Garivier (2012)",
        compliance="not used",
        variants=(Variant("As UCB1, with a quantile of what is believed."),),
        outcomes="valued",
        parameters={"alpha": Real(above=0)},
        kernels=INDICES,
    )
    alpha: float = 1.0

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

    card: ClassVar[Card] = Card(
        name="epsilon-greedy",
        family="bandits",
        source=AUER,
        compliance="not used",
        variants=(Variant("The best so far, and now and then any other."),),
        outcomes="valued",
        parameters={"epsilon": Real(least=0), "decay": OneOf(get_args(Decay)), "optimism": Real(least=0)},
        kernels=INDICES,
    )
    epsilon: float = 0.1
    decay: Decay = "none"
    optimism: float = 0.0

    def __post_init__(self) -> None:
        IndexBandit.__post_init__(self)
        if self.decay == "none" and self.epsilon > 1:
            raise InputError("epsilon", self.epsilon, "a probability between 0 and 1", "or choose a decay")

    @property
    def imagined(self) -> float:
        """The optimism."""
        return self.optimism

    def score(self, mean: FloatArray, pulls: FloatArray, time: FloatArray) -> FloatArray:
        """The mean."""
        return np.where(pulls > 0, mean, np.inf)

    def believe(self, table: FloatArray, space: Space, context: Index) -> Beliefs:
        """ε / K each, and the rest for the best."""
        rate = self.rate(table, space, context)[..., np.newaxis]
        best = self.highest(table, space, context).probability
        return Exact(rate / best.shape[-1] + (1 - rate) * best)

    def rate(self, table: FloatArray, space: Space, context: Index) -> FloatArray:
        """The probability to explore now."""
        rows = here(table, context, axes=3)
        arms = rows.shape[-2]
        time = 1 + space.outcome.seen(rows).sum(axis=-1) + arms * self.optimism
        if self.decay == "none":
            return np.full_like(time, self.epsilon)
        if self.decay == "harmonic":
            return np.asarray(np.minimum(1, self.epsilon * arms / time))
        log = np.log(time)
        return np.asarray(np.minimum(1, np.divide(self.epsilon, log, out=np.ones_like(log), where=log > 0)))


def _divergence(p: FloatArray, q: FloatArray) -> FloatArray:
    """P log(p / q) + (1 - p) log((1 - p) / (1 - q)), with 0 log 0 = 0; q is between p and 1, neither end included."""
    with np.errstate(divide="ignore", invalid="ignore"):
        heads = np.where(p > 0, p * np.log(p / q), 0.0)
        tails = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0.0)
    return np.asarray(heads + tails)
