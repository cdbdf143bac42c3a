"""Numbers, counts and times that proposals may share wholly, in part or not at all.

This is for the conjugate blocks what `takeup.inference.pooling` is for levels. Take one context and one implemented
action. Where all is shared, there is one block for all proposals, and where nothing is, one for each; both have their
evidence in closed form. In a model of strength κ something unseen is behind all proposals, given which each has
parameters of its own; it is such that each alone has the prior, whatever κ.

Numbers: all proposals have one variance σ^2, and behind their means is an unseen sample of κ people. With w the weight
of the prior's mean m,

    θ given σ^2 ~ N(m, σ^2 κ / (w (w + κ))),    μ[z] given θ, σ^2 ~ N(θ, σ^2 / (w + κ))    for each z on its own,

so that two means have the correlation κ / (κ + w); θ is what the sample makes of m. All of it can be integrated out.

Counts and times: behind the rates is an unseen sample with κ events, which took a time T. With the prior Gamma(e, t),

    λ ~ Gamma(e, t),    T given λ ~ Gamma(κ, λ),    λ[z] given T ~ Gamma(e + κ, t + T)    for each z on its own,

so that two rates have the correlation κ / (κ + e + 1). Only T is left to integrate over, which is done by the
trapezoidal rule in log T: for functions as smooth as these it is exact to about 1e-12.

Sums do not tell a mixture, so outcomes whose action was not seen are no help in telling the actions apart. They are a
group of their own (`Aside`), which no other proposal shares: a proposal is worth what it is to those whose action was
seen and to the others, each by their share. That holds whatever decides whether an action is seen.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammaln, logsumexp

from takeup.checks import FloatArray
from takeup.conjugates import Conjugate, GammaRate, NormalGamma
from takeup.conjugates.normal import moments
from takeup.errors import UnsuitableError
from takeup.inference.pooling import SHARED, contradiction, discount, picked, weighed
from takeup.outcomes.base import Statistic
from takeup.posterior import Posterior, dirichlet
from takeup.randomness import Random

NODES, MOST_NODES = 256, 4_096
"""Of the trapezoidal rule, at least and at most."""
WIDEST = 0.5
"""How far apart in log T they may be: the error is below exp(-2 π^2 / 0.5). Only a prior worth less than a fiftieth of
an event, before the first event is seen, has so long a tail that they are farther apart."""
SEARCH = 64
"""Points of a search for where the integrand is; there are four, each within what the one before has found."""
NEGLIGIBLE = 40.0
"""Where the logarithm of the integrand is so far below its greatest value, nothing is left."""


class Link(ABC):
    """One model of how far proposals share their outcomes, in every context and for every action.

    Attributes:
        log_evidence: log p(outcomes given model), as the conjugate block has it; shape (.., X, Ka).
    """

    log_evidence: FloatArray

    @abstractmethod
    def rewards(self, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws of what an outcome is worth on average; shape (.., X, Kz, Ka), or 1 for Kz where all is shared."""


class Whole(Link):
    """One block for all proposals."""

    def __init__(self, block: Conjugate, statistic: Statistic) -> None:
        together = statistic.sum(axis=-3)
        self.log_evidence = block.log_evidence(together)
        self.block = block.plus(together)

    def rewards(self, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws from the block."""
        return self.block.sample_rewards(rng, repeat)[..., np.newaxis, :]


class Apart(Link):
    """A block for each proposal."""

    def __init__(self, block: Conjugate, statistic: Statistic) -> None:
        blocks = block.apart(statistic.shape[-3])
        self.log_evidence = blocks.log_evidence(statistic).sum(axis=-2)
        self.blocks = blocks.plus(statistic)

    def rewards(self, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws from the blocks."""
        return self.blocks.sample_rewards(rng, repeat)


class LinkedMeans(Link):
    """Normal outcomes with one variance, whose means are shared in part.

    Given θ the mean ȳ[z] of n[z] outcomes has the weight c[z] = n (w + κ) / (n + w + κ), in units of 1 / σ^2; with
    those θ has a normal-inverse-gamma distribution as a mean alone would have.
    """

    def __init__(self, block: NormalGamma, statistic: Statistic, strength: int) -> None:
        n, mean, squares = moments(block.outcome, statistic, logarithmic=block.logarithmic)
        own = (block.weight + strength)[..., np.newaxis, :]  # w + κ
        heard = n * own / (n + own)  # c[z]
        behind = block.weight * (block.weight + strength) / strength  # of θ: one over its variance
        from_prior = mean - block.centre[..., np.newaxis, :]
        weight = behind + heard.sum(axis=-2)
        moved = (heard * from_prior).sum(axis=-2) / weight
        around = (heard * (from_prior - moved[..., np.newaxis, :]) ** 2).sum(axis=-2) + behind * moved**2
        scale = block.freedom * block.square
        freedom, spread = block.freedom + n.sum(axis=-2), scale + squares.sum(axis=-2) + around
        self.block, self.own, self.n, self.mean = block, own, n, mean
        self.centre, self.weight, self.freedom, self.spread = block.centre + moved, weight, freedom, spread
        constant = gammaln(freedom / 2) - gammaln(block.freedom / 2) - n.sum(axis=-2) / 2 * np.log(np.pi)
        constant = constant + block.freedom / 2 * np.log(scale) - freedom / 2 * np.log(spread)
        self.log_evidence = constant + (np.log(behind / weight) + np.log(own / (own + n)).sum(axis=-2)) / 2

    def rewards(self, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws of σ^2, of θ and then of the means."""
        shape = (*repeat, *self.centre.shape)
        variance = self.spread / (2 * rng.standard_gamma(self.freedom / 2, size=shape))
        theta = self.centre + np.sqrt(variance / self.weight) * rng.standard_normal(shape)
        variance, theta = variance[..., np.newaxis, :], theta[..., np.newaxis, :]
        weight = self.own + self.n
        centre = (self.own * theta + self.n * self.mean) / weight
        means = centre + np.sqrt(variance / weight) * rng.standard_normal(centre.shape)
        return self.block.family(means, np.sqrt(variance)).mean_worth()


class LinkedRates(Link):
    """Poisson counts or exponential times whose rates are shared in part.

    Attributes:
        log_time: log T at the nodes of the rule; shape (.., X, Ka, nodes).
        chance: the probability of each node, given the outcomes.
    """

    def __init__(self, block: GammaRate, statistic: Statistic, strength: int) -> None:
        self.block = block
        self.shape = (block.events + strength)[..., np.newaxis, :] + statistic[..., -2]
        self.time = statistic[..., -1] * block.outcome.step
        self.log_time = self._nodes(strength)
        log = self._log_integrand(self.log_time, strength)
        step = self.log_time[..., 1] - self.log_time[..., 0]
        events, whole = block.events, block.events + strength
        constant = gammaln(whole) - gammaln(strength) - gammaln(events) + events * np.log(block.exposure)
        constant = constant + (gammaln(self.shape) - gammaln(whole)[..., np.newaxis, :]).sum(axis=-2)
        total = logsumexp(log, axis=-1)
        self.log_evidence = constant + total + np.log(step)
        self.chance = np.exp(log - total[..., np.newaxis])

    def rewards(self, rng: Random, repeat: tuple[int, ...]) -> FloatArray:
        """Draws of T, and then of the rates."""
        node = picked(self.chance, rng, repeat)[..., np.newaxis]
        log_time = np.broadcast_to(self.log_time, (*node.shape[:-1], self.log_time.shape[-1]))
        time = np.exp(np.take_along_axis(log_time, node, axis=-1)[..., 0])
        rate = (self.block.exposure + time)[..., np.newaxis, :] + self.time
        return self.block.family(rng.standard_gamma(self.shape, size=rate.shape) / rate).mean_worth()

    def _log_integrand(self, log_time: FloatArray, strength: int) -> FloatArray:
        """κ log T - (κ + e) log L + Σ_z (e + κ) log L - (e + κ + n[z]) log(L + t[z]), with L = t + T."""
        block = self.block
        whole = (block.events + strength)[..., np.newaxis]
        log_whole = np.logaddexp(log_time, np.log(block.exposure)[..., np.newaxis])
        seen = np.log(np.maximum(self.time, 1e-300))[..., np.newaxis]
        each = self.shape[..., np.newaxis] * np.logaddexp(log_whole[..., np.newaxis, :, :], seen)
        proposals = self.shape.shape[-2]
        return np.asarray(strength * log_time + (proposals - 1) * whole * log_whole - each.sum(axis=-3))

    def _nodes(self, strength: int) -> FloatArray:
        """Points of log T, equally far apart, beyond which nothing is left.

        Below the first end the logarithm of the integrand rises by at least κ / 2 for each unit of log T, and above the
        last it falls by at least e / 2: so the search begins with all that there can be.
        """
        events, time = self.block.events, self.block.exposure
        whole = events + strength
        fastest = whole / time + (self.shape / (time[..., np.newaxis, :] + self.time)).sum(axis=-2)
        slowest = whole * (time + self.time.sum(axis=-2))
        low = np.log(strength / (2 * fastest)) - 2 * NEGLIGIBLE / strength
        high = np.log(2 * slowest / events) + 2 * NEGLIGIBLE / events
        for _ in range(4):
            points = np.linspace(low, high, SEARCH, axis=-1)
            log = self._log_integrand(points, strength)
            matters = log > log.max(axis=-1, keepdims=True) - NEGLIGIBLE
            first = np.maximum(matters.argmax(axis=-1) - 1, 0)
            last = np.minimum(SEARCH - matters[..., ::-1].argmax(axis=-1), SEARCH - 1)
            low, high = (np.take_along_axis(points, i[..., np.newaxis], axis=-1)[..., 0] for i in (first, last))
        many = np.clip(np.ceil((high - low).max() / WIDEST), NODES, MOST_NODES)
        return np.linspace(low, high, int(many), axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class Aside:
    """Those whose action was not seen: a group of its own under each proposal.

    Attributes:
        block: what is believed of their outcomes; shape (.., X, Kz).
        number: how many there are; the same shape.
    """

    block: Conjugate
    number: FloatArray

    @classmethod
    def of(cls, block: Conjugate, statistic: Statistic, number: FloatArray) -> "Aside":
        """Of the outcomes of each (x, z) without an action. The prior is that of the first action's outcomes."""
        own = _first(block.apart(statistic.shape[-2]))
        return cls(own.plus(statistic[..., np.newaxis, :]), number)

    def sample(self, seen: FloatArray, rng: Random, repeat: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
        """Draws of what they are worth on average, and of their share beside those whose action was seen."""
        shape = (*repeat, *self.number.shape)
        ones, others = (rng.standard_gamma(each, size=shape) for each in (self.number, seen))
        return self.block.sample_rewards(rng, repeat)[..., 0], ones / np.maximum(ones + others, 1e-300)


@dataclass(frozen=True, slots=True, eq=False)
class Worths:
    """A hypothesis about what is done after each proposal and what it is worth.

    Attributes:
        compliance: π[x, z, a]; shape (.., X, Kz, Ka).
        reward: what an outcome of those who were told z and did a is worth on average; the same shape.
        others: what an outcome of those whose action was not seen is worth on average; shape (.., X, Kz).
        unseen: the share of those; the same shape.
    """

    compliance: FloatArray
    reward: FloatArray
    others: FloatArray | None = None
    unseen: FloatArray | None = None

    def value(self) -> FloatArray:
        """v[x, z] = Σ_a π[x, z, a] reward[x, z, a] of those whose action was seen, and the others by their share."""
        value: FloatArray = np.einsum("...za,...za->...z", self.compliance, self.reward)
        if self.others is None or self.unseen is None:
            return value
        return (1 - self.unseen) * value + self.unseen * self.others


@dataclass(frozen=True, slots=True, eq=False)
class Linked:
    """What is believed where sharing is in doubt: a probability for each model of each action, and the model.

    Attributes:
        compliance: β'[x, z, a], as TS-Obs has it.
        models: the strength κ of each model, SHARED for the one in which all is shared.
        links: the models.
        log_evidence: log p(outcomes given a, z, model); shape (.., X, Ka, models).
        probability: of each model, by which it is drawn; the same shape.
        aside: those whose action was not seen, where there are any.
    """

    compliance: FloatArray
    models: tuple[int, ...]
    links: tuple[Link, ...]
    log_evidence: FloatArray
    probability: FloatArray
    aside: Aside | None = None

    def sample(self, rng: Random, draws: int | None = None) -> Worths:
        """One hypothesis in each replication; or, from a single one, `draws` of them along a new first axis."""
        repeat = () if draws is None else (draws,)
        model = picked(self.probability, rng, repeat)[..., np.newaxis, :]
        reward = np.zeros((*repeat, *self.compliance.shape))
        for i, link in enumerate(self.links):
            reward = np.where(model == i, link.rewards(rng, repeat), reward)
        follow = dirichlet(self.compliance, rng, repeat)
        if self.aside is None:
            return Worths(follow, reward)
        return Worths(follow, reward, *self.aside.sample(self.compliance.sum(axis=-1), rng, repeat))


def believe(
    prior: Posterior,
    statistic: Statistic,
    compliance: Statistic,
    models: tuple[int, ...],
    log_prior: FloatArray,
    sharpness: float,
    caution: float = 0.0,
    aside: Aside | None = None,
) -> Linked:
    """The models and their probabilities, given the outcomes of each (x, z, a) and n[x, z, a].

    A model's probability is in proportion to prior times evidence ^ sharpness, action by action, and those that share
    are discounted as in `takeup.inference.pooling`.
    """
    assert prior.compliance is not None
    links = tuple(link(prior.block, statistic, strength) for strength in models)
    follow = prior.compliance + compliance
    if caution > 0:
        log_prior = discount(
            log_prior, models, caution * contradiction(*_values(prior.block, statistic, follow, aside))
        )
    log_evidence, probability = weighed([each.log_evidence for each in links], log_prior, sharpness)
    return Linked(follow, models, links, log_evidence, probability, aside)


def _values(
    block: Conjugate, statistic: Statistic, follow: FloatArray, aside: Aside | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What `contradiction` takes: means where all is shared, and means and variances where nothing is.

    Means are those at the parameters' own means, and variances are to first order.
    """
    share = follow / follow.sum(axis=-1, keepdims=True)
    one = block.plus(statistic.sum(axis=-3))
    shared = np.einsum("...za,...a->...z", share, one.mean().mean_worth())
    cells = block.apart(statistic.shape[-3]).plus(statistic)
    worth, variance = cells.mean().mean_worth(), _variance(cells)
    own = (share * worth).sum(axis=-1)
    between = (share * (worth - own[..., np.newaxis]) ** 2).sum(axis=-1)
    spread = (share**2 * variance).sum(axis=-1) + between / (follow.sum(axis=-1) + 1)
    if aside is not None:
        unseen = aside.number / (aside.number + follow.sum(axis=-1))
        others, more = aside.block.mean().mean_worth()[..., 0], _variance(aside.block)[..., 0]
        shared = (1 - unseen) * shared + unseen * others
        own = (1 - unseen) * own + unseen * others
        spread = (1 - unseen) ** 2 * spread + unseen**2 * more
    return shared, own, spread


def _variance(block: Conjugate) -> FloatArray:
    """Of the mean worth, to first order: half the difference between one standard deviation above and one below."""
    if isinstance(block, NormalGamma):
        error, deviation = np.sqrt(block.square / block.weight), np.sqrt(block.square)
        above, below = (block.family(block.centre + sign * error, deviation).mean_worth() for sign in (1, -1))
    else:
        assert isinstance(block, GammaRate)
        rate, error = block.events / block.exposure, 1 / np.sqrt(block.events)
        above, below = (block.family(rate * np.exp(sign * error)).mean_worth() for sign in (1, -1))
    return np.asarray(((above - below) / 2) ** 2)


def _first(block: Conjugate) -> Conjugate:
    """The block of the first action alone."""
    if isinstance(block, NormalGamma):
        parts = block.centre, block.weight, block.freedom, block.square
        centre, weight, freedom, square = (each[..., :1] for each in parts)
        return replace(block, centre=centre, weight=weight, freedom=freedom, square=square)
    assert isinstance(block, GammaRate)
    return replace(block, events=block.events[..., :1], exposure=block.exposure[..., :1])


def link(block: Conjugate, statistic: Statistic, strength: int) -> Link:
    """The model of a strength, or of SHARED."""
    if strength == SHARED:
        return Whole(block, statistic)
    if strength == 0:
        return Apart(block, statistic)
    if isinstance(block, NormalGamma):
        return LinkedMeans(block, statistic, strength)
    if isinstance(block, GammaRate):
        return LinkedRates(block, statistic, strength)
    raise UnsuitableError(f"no model shares a {type(block).__name__} in part; give pooled=[0]")
