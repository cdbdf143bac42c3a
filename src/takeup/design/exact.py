"""Two proposals and two outcomes: every operating characteristic without simulation, by forward recursion.

What a trial knows is (n_0, s_0, s_1), with n_1 = t - n_0 after t outcomes. The probability of every such table is
carried from one outcome to the next, or from one look to the next, with the probability p of proposing 0 that goes with
it: see `takeup.trial.success_tables`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from takeup import checks
from takeup.checks import FloatArray
from takeup.conjugates.quadrature import LEAST_SHAPE, betas
from takeup.design.plan import Plan
from takeup.outcomes import Levels
from takeup.policies import TS, Uniform
from takeup.specfile import SpecError
from takeup.trial.success_tables import Best, axes_of, many_more, one_more, prior_of, share_of

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
        return float(sum(end.expected(s_0 + s_1) for end in self.ends for _, s_0, s_1 in [axes_of(end.units)]))

    @property
    def share(self) -> float:
        """The mean share of units on proposal 1."""
        return float(sum(end.expected(1 - n_0 / end.units) for end in self.ends for n_0, _, _ in [axes_of(end.units)]))

    def wald(self, level: float = 1.959963984540054) -> tuple[float, float]:
        """How often the Wald interval of θ_1 - θ_0 lies above zero, and how often it covers the truth.

        Without a unit on one of the proposals there is no interval: nothing is rejected, and nothing covered.
        """
        reject = cover = 0.0
        truth = self.rates[1] - self.rates[0]
        for end in self.ends:
            n_0, s_0, s_1 = axes_of(end.units)
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
    space, looks = plan.space, plan.looks
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
    if prior_of(plan.design).min() < LEAST_SHAPE:
        raise SpecError(f"{plan.source}: policy.alpha", float(prior_of(plan.design).min()), f"at least {LEAST_SHAPE}")
    if looks.update == "look" and plan.design.spec.burn_in > looks.at[0]:
        raise SpecError(f"{plan.source}: burn_in", plan.design.spec.burn_in, f"at most {looks.at[0]}, the first look")


def _by_unit(plan: Plan, true: FloatArray) -> Iterator[Tables]:
    """With probabilities that change after every outcome."""
    best, looks, look = Best.begin(prior_of(plan.design)), plan.looks.at, 0
    here = np.ones((1, 1, 1))
    for t in range(1, int(looks[-1]) + 1):
        p = share_of(plan.design, best.p, t - 1, t - 1)
        here = one_more(here, p, true)
        best.step()
        if t == looks[look]:
            here, ends = _judged(plan, here, best.p, look)
            yield from ends
            look += 1


def _by_look(plan: Plan, true: FloatArray) -> Iterator[Tables]:
    """With probabilities that change at looks."""
    best, before = Best.begin(prior_of(plan.design)), 0
    here = np.ones((1, 1, 1))
    for look, after in enumerate(plan.looks.at.tolist()):
        share = (
            np.full(here.shape, plan.design.even[0]) if look == 0 else share_of(plan.design, best.p, look - 1, before)
        )
        here = many_more(here, share, true, after - before)
        for _ in range(after - before):
            best.step()
        here, ends = _judged(plan, here, best.p, look)
        yield from ends
        before = after


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
        prior, worth = prior_of(plan.design), float(np.ptp(plan.space.reward))
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
