"""Two proposals and two outcomes: every operating characteristic without simulation, by forward recursion.

What a trial knows is (n_0, s_0, s_1), with n_1 = t - n_0 after t outcomes. The probability of every such table is
carried from one outcome to the next, or from one look to the next, with the probability p of proposing 0 that goes with
it. P(θ_0 > θ_1) is carried along by the recurrence that `takeup.simulation.kernels.two_arm` states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln
from scipy.stats import binom

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.quadrature import LEAST_SHAPE, betas, largest_beta
from takeup.design.plan import Plan
from takeup.outcomes import Levels
from takeup.policies import TS, Uniform
from takeup.policies.limits import softened
from takeup.specfile import SpecError

MOST_UNITS, MOST_EQUIVALENT = 250, 40
"""The largest trials: their tables take 1 GB; where equivalence is looked at, each table takes a millisecond."""
SMALL = 1e-13
"""A less probable table is not looked at for equivalence."""


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """What trials that end together can have seen.

    Attributes:
        units: how many outcomes there are.
        probability: of (n_0, s_0, s_1), over all trials; shape (units + 1,) * 3.
        status: "superior", "equivalent" or "maximum".
        proposal: which proposal is superior, else None.
    """

    units: int
    probability: FloatArray
    status: str
    proposal: int | None = None

    def expected(self, of: ArrayLike) -> float:
        """The sum of a function of the table, weighted by its probability."""
        return float((self.probability * np.asarray(of)).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """All ends of a trial.

    Attributes:
        ends: what trials can have seen, by how and when they end.
        rates: the true rates.
    """

    ends: tuple[Tables, ...]
    rates: tuple[float, float]

    def probability(self, status: str, proposal: int | None = None) -> float:
        """How probable an end is."""
        some = [e for e in self.ends if e.status == status and (proposal is None or e.proposal == proposal)]
        return float(sum(end.probability.sum() for end in some))

    @property
    def size(self) -> float:
        """The mean number of units."""
        return float(sum(end.units * end.probability.sum() for end in self.ends))

    @property
    def spread(self) -> float:
        """The standard deviation of the number of units."""
        squares = sum(end.units**2 * end.probability.sum() for end in self.ends)
        return float(np.sqrt(max(squares - self.size**2, 0.0)))

    @property
    def successes(self) -> float:
        """The mean number of successes."""
        return float(sum(end.expected(s_0 + s_1) for end in self.ends for _, s_0, s_1 in [_axes(end.units)]))

    @property
    def share(self) -> float:
        """The mean share of units on proposal 1."""
        return float(sum(end.expected(1 - n_0 / end.units) for end in self.ends for n_0, _, _ in [_axes(end.units)]))

    def wald(self, level: float = 1.959963984540054) -> tuple[float, float]:
        """How often the Wald interval of θ_1 - θ_0 lies above zero, and how often it covers the truth.

        Without a unit on one of the proposals there is no interval: nothing is rejected, and nothing covered.
        """
        reject = cover = 0.0
        truth = self.rates[1] - self.rates[0]
        for end in self.ends:
            n_0, s_0, s_1 = _axes(end.units)
            n_1 = end.units - n_0
            with np.errstate(divide="ignore", invalid="ignore"):
                r_0, r_1 = s_0 / n_0, s_1 / n_1
                half = level * np.sqrt(r_0 * (1 - r_0) / n_0 + r_1 * (1 - r_1) / n_1)
                low, high = r_1 - r_0 - half, r_1 - r_0 + half
            reject += end.expected(np.nan_to_num(low, nan=-1.0) > 0)
            cover += end.expected((low <= truth) & (truth <= high))
        return reject, cover


def exact(plan: Plan, rates: Sequence[float]) -> Exact:
    """The whole distribution of a trial of two proposals and two outcomes, with these rates.

    Args:
        plan: with TS or Uniform, without a lag and without a control.
        rates: the true rates of success by proposal; where people do not comply, those of being proposed it.
    """
    _check(plan)
    true = checks.rates("rates", rates)
    checks.shaped("rates", true, (2,), "proposal")
    walk = _by_unit(plan, true) if plan.looks.update == "patient" else _by_look(plan, true)
    return Exact(tuple(walk), (float(true[0]), float(true[1])))


def _check(plan: Plan) -> None:
    space, looks = plan.design.space, plan.looks
    kind = f"{len(space.outcomes)} levels" if isinstance(space.outcome, Levels) else f"a {space.outcome.kind}"
    policy, control = type(plan.design.policy), plan.rules.control
    for key, value, wrong, allowed in (
        ("space.proposals", len(space.proposals), len(space.proposals) != 2, "two proposals and two outcomes"),
        ("space.outcomes", kind, kind != "2 levels", "two proposals and two outcomes"),
        ("policy.kind", policy.__name__, policy not in (TS, Uniform), "TS or Uniform"),
        ("space.contexts", len(space.contexts), len(space.contexts) > 1, "one context"),
        ("looks.lag", looks.lag, looks.lag > 0, "none"),
        ("stopping.control", repr(space.proposals[control or 0]), control is not None, "none"),
    ):
        if wrong:
            raise SpecError(f"{plan.source}: {key}", value, f"{allowed}, for exact figures", "leave out --exact")
    most = MOST_UNITS if plan.rules.equivalence is None else MOST_EQUIVALENT
    if looks.at[-1] > most:
        raise SpecError(f"{plan.source}: looks.last", int(looks.at[-1]), f"at most {most} for exact figures")
    if _prior(plan).min() < LEAST_SHAPE:
        raise SpecError(f"{plan.source}: policy.alpha", float(_prior(plan).min()), f"at least {LEAST_SHAPE}")
    if looks.update == "look" and plan.design.spec.burn_in > looks.at[0]:
        raise SpecError(f"{plan.source}: burn_in", plan.design.spec.burn_in, f"at most {looks.at[0]}, the first look")


@dataclass(slots=True, eq=False)
class _Best:
    """P(θ_0 > θ_1) of every table of t outcomes, and the h of its recurrence."""

    prior: FloatArray
    p: FloatArray
    h: FloatArray

    @classmethod
    def begin(cls, prior: FloatArray) -> "_Best":
        log_h = betaln(*prior.sum(axis=0)) - betaln(*prior[0]) - betaln(*prior[1])
        first = np.full((1, 1, 1), largest_beta(prior)[0])
        return cls(prior, first, np.full((1, 1, 1), np.exp(log_h)))

    def step(self) -> None:
        """One more outcome: every table has one that it comes from."""
        t = self.p.shape[0]
        p, h = np.zeros((t + 1,) * 3), np.zeros((t + 1,) * 3)
        every, first = slice(None), slice(1)
        p[1:, 1:, :t], h[1:, 1:, :t] = self._seen(0, 0, (every, every, every))
        p[1:, :1, :t], h[1:, :1, :t] = self._seen(0, 1, (every, first, every))
        p[:1, :1, 1:], h[:1, :1, 1:] = self._seen(1, 0, (first, first, every))
        p[:1, :1, :1], h[:1, :1, :1] = self._seen(1, 1, (first, first, first))
        self.p, self.h = p, h

    def _seen(self, z: int, j: int, where: tuple[slice, slice, slice]) -> tuple[FloatArray, FloatArray]:
        """P and h of some tables after one more outcome j, 0 being a success, of proposal z.

        Where a table has more successes than units it cannot occur, and what is computed for it is not read.
        """
        t = self.p.shape[0] - 1
        n_0, s_0, s_1 = (axis[part] for axis, part in zip(_axes(t), _along(where), strict=True))
        counts = ((s_0, n_0 - s_0), (s_1, t - n_0 - s_1))
        near = self.prior[z, j] + np.maximum(counts[z][j], 0)
        other = self.prior[1 - z, j] + counts[1 - z][j]
        row = self.prior[z].sum() + (t - n_0 if z else n_0)
        part = self.h[where] / near
        grown = part * ((near + other) * row / (self.prior.sum() + t))
        return self.p[where] + (part if z == j else -part), grown


def _along(where: tuple[slice, slice, slice]) -> tuple[tuple[slice, ...], ...]:
    """The parts of the three axes."""
    every = slice(None)
    return (where[0], every, every), (every, where[1], every), (every, every, where[2])


def _by_unit(plan: Plan, true: FloatArray) -> Iterator[Tables]:
    """With probabilities that change after every outcome."""
    best, looks, look = _Best.begin(_prior(plan)), plan.looks.at, 0
    here = np.ones((1, 1, 1))
    for t in range(1, int(looks[-1]) + 1):
        p = _share(plan, best.p, t - 1, t - 1)
        here = _one_more(here, p, true)
        best.step()
        if t == looks[look]:
            here, ends = _judged(plan, here, best.p, look)
            yield from ends
            look += 1


def _by_look(plan: Plan, true: FloatArray) -> Iterator[Tables]:
    """With probabilities that change at looks."""
    best, before = _Best.begin(_prior(plan)), 0
    here = np.ones((1, 1, 1))
    for look, after in enumerate(plan.looks.at.tolist()):
        share = np.full(here.shape, plan.design.even[0]) if look == 0 else _share(plan, best.p, look - 1, before)
        here = _many_more(here, share, true, after - before)
        for _ in range(after - before):
            best.step()
        here, ends = _judged(plan, here, best.p, look)
        yield from ends
        before = after


def _one_more(here: FloatArray, p: FloatArray, true: FloatArray) -> FloatArray:
    t = here.shape[0]
    there = np.zeros((t + 1,) * 3)
    zero, one = here * p, here * (1 - p)
    there[1:, 1:, :t] += zero * true[0]
    there[1:, :t, :t] += zero * (1 - true[0])
    there[:t, :t, 1:] += one * true[1]
    there[:t, :t, :t] += one * (1 - true[1])
    return there


def _many_more(here: FloatArray, p: FloatArray, true: FloatArray, units: int) -> FloatArray:
    """So many more outcomes from every table, with the probability that goes with it."""
    t = here.shape[0] - 1
    there = np.zeros((t + units + 1,) * 3)
    for k in range(units + 1):  # on proposal 0
        rise_0, rise_1 = _rising(t, k, true[0]), _rising(t, units - k, true[1])
        moved = rise_0.T @ (here * binom.pmf(k, units, p)) @ rise_1
        there[k : k + t + 1, : t + k + 1, : t + units - k + 1] += moved
    return there


def _rising(t: int, units: int, rate: float) -> FloatArray:
    """The probability that s successes become s'; shape (t + 1, t + units + 1)."""
    more = np.arange(t + units + 1) - np.arange(t + 1)[:, np.newaxis]
    return np.asarray(binom.pmf(more, units, rate))


def _judged(plan: Plan, here: FloatArray, best: FloatArray, look: int) -> tuple[FloatArray, list[Tables]]:
    """What a look ends, and what goes on."""
    rules, units, ends = plan.rules, here.shape[0] - 1, list[Tables]()
    above = 2.0 if rules.superiority is None else float(rules.superiority[look])
    below = -1.0 if rules.inferiority is None else float(rules.inferiority[look])
    for proposal, p in enumerate((best, 1 - best)):
        won = (p > above) | (1 - p < below)
        ends.append(Tables(units, np.where(won, here, 0.0), "superior", proposal))
        here = np.where(won, 0.0, here)
    if rules.equivalence is not None:
        alike = np.zeros(here.shape, dtype=bool)
        prior, worth = _prior(plan), float(np.ptp(plan.design.space.reward))
        for n_0, s_0, s_1 in np.argwhere(here > SMALL):
            n_1 = units - n_0
            table = prior + np.array([[s_0, n_0 - s_0], [s_1, n_1 - s_1]])
            alike[n_0, s_0, s_1] = (
                betas(table).within([0, 1], rules.equivalence_margin / worth) > rules.equivalence[look]
            )
        ends.append(Tables(units, np.where(alike, here, 0.0), "equivalent"))
        here = np.where(alike, 0.0, here)
    if look == plan.looks.at.size - 1:
        ends.append(Tables(units, here, "maximum"))
    return here, [end for end in ends if end.probability.any()]


def _share(plan: Plan, best: FloatArray, place: int, known: int) -> FloatArray:
    """The probability of proposing 0 in every table, within the limits; `place` is that of the power."""
    if isinstance(plan.design.policy, Uniform) or known < plan.design.spec.burn_in:
        return np.full(best.shape, plan.design.even[0])
    p = np.clip(best, 0.0, 1.0)
    power = float(plan.soften[place])
    if power != 1:
        p = (
            softened(np.stack([p, 1 - p]).reshape(2, -1).T, power)[:, 0].reshape(p.shape)
            if power
            else np.full(p.shape, 0.5)
        )
    floor, ceiling = (
        np.broadcast_to(np.asarray(each, dtype=np.float64), 2) for each in (plan.limits.floor, plan.limits.ceiling)
    )
    return np.asarray(np.clip(p, max(floor[0], 1 - ceiling[1]), min(ceiling[0], 1 - floor[1])))


def _prior(plan: Plan) -> FloatArray:
    """(a, b) of each proposal, a being of the better outcome."""
    space, policy = plan.design.space, plan.design.policy
    good = int(np.argmax(space.utility))
    outcome = (policy if isinstance(policy, TS) else TS()).prior(space).outcome[0]
    return np.asarray(outcome[:, [good, 1 - good]], dtype=np.float64)


def _axes(units: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    n = np.arange(units + 1, dtype=np.float64)
    return n[:, np.newaxis, np.newaxis], n[np.newaxis, :, np.newaxis], n[np.newaxis, np.newaxis, :]
