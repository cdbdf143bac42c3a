"""Kallus (2018), "Instrument-armed bandits" (ALT, PMLR 83): both examples, with their errata.

Rewards are continuous, as there, and beside that on 20 bins: see `instrument_examples`. UCB gets utilities rescaled to
[0, 1], so that c / width^2 makes it UCB with the constant c on the rewards as they are. The paper does not state c.
Of c = 2, which is UCB1, and c = 8, which is the (α, ψ)-UCB with α = 4 for noise of variance one, the latter gives all
of figure 2, so it is taken for the figures.

Errata. Example 1: the printed means of the arms belong to compliers with means (5, 3, 4), not (1, -1, 0); all regrets
are the same. Example 2: as printed nobody complies, and the printed means of the proposals come out if the class of
one eighth complies. Figure 3's regrets are impossible at its horizon of 10,000, and right at a million.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from takeup.checks import FloatArray
from takeup.environment import Environment
from takeup.paper.agreement import Mean
from takeup.paper.related.figures import FigureComparison, Published, Statement, larger
from takeup.paper.related.instrument_examples import (
    MEANS,
    first_example,
    normal_bins,
    second_example,
    uniform_bins,
)
from takeup.paper.related.theorems import printed_means, theorems
from takeup.paper.runner import Runner
from takeup.policies import UCBAT, UCBITT, TwoStage
from takeup.policies.base import Policy
from takeup.regret import KINDS, Kind

SOURCE = "Kallus (2018)"
FIRST, SECOND, LONG = 5_000, 10_000, 1_000_000
FEWEST = 6
"""The fewest runs of a million decisions."""

GAMMA = 20.0
PSI = 0.5
"""Half the variance of normal noise."""

_LONG_NOTE = "figure 3's axis must be in hundreds of rounds"
_UNSTATED = "the constant of UCB is not stated; taken as 8"
_WIDER = f"{_LONG_NOTE}; fits noise of variance 1.5"


def rate(environment: Environment) -> float:
    """γ times the largest a of the theorem, s^2 min(1 / (8 m), d^2 / (16 m ψ^2)), at the truth of example 2."""
    compliance = environment.response[0].sum(axis=-1)
    smallest = float(np.linalg.svd(compliance, compute_uv=False)[-1])
    arms, gap = MEANS.size, 1.0
    return GAMMA * smallest**2 * min(1 / (8 * arms), gap**2 / (16 * arms * PSI**2))


def upper_bounds(environment: Environment, constant: float) -> list[Policy[Any]]:
    """Both UCBs, with this constant on the rewards as they are."""
    scaled = constant / float(np.ptp(environment.space.reward)) ** 2
    return [UCBITT(exploration=scaled), UCBAT(exploration=scaled)]


def two_stage(environment: Environment) -> list[Policy[Any]]:
    """The three schedules; as in the paper they abstain from singular matrices alone."""
    a = rate(environment)
    return [
        TwoStage(schedule="decay", rate=a, confidence=None),
        TwoStage(schedule="fixed", rate=a, confidence=None),
        TwoStage(schedule="adaptive", gamma=GAMMA, psi=PSI, confidence=None),
    ]


_FIGURE_2: dict[tuple[str, Kind], Published] = {
    ("UCB-ITT", "proposals"): Published(90, 15, 0, "read off", _UNSTATED),
    ("UCB-AT", "proposals"): Published(320, 30, 0, "read off", _UNSTATED),
    ("UCB-ITT", "static"): Published(-3000, 100, 0, "read off"),
    ("UCB-AT", "static"): Published(-2800, 100, 0, "read off"),
    ("UCB-ITT", "latent class"): Published(3200, 100, 0, "read off"),
    ("UCB-AT", "latent class"): Published(3450, 100, 0, "read off"),
    ("UCB-ITT", "compliers"): Published(3100, 100, 0, "read off"),
    ("UCB-AT", "compliers"): Published(3250, 100, 0, "read off"),
}
_FIGURE_3: dict[tuple[str, Kind], Published] = {
    ("UCB-ITT", "compliers"): Published(100_000, 2_000, 0, "read off", _LONG_NOTE),
    ("UCB-AT", "compliers"): Published(70_000, 2_000, 0, "read off", _WIDER),
    ("2SLS-decay", "compliers"): Published(103, 10, 0, "read off", _LONG_NOTE),
    ("2SLS-fixed", "compliers"): Published(95, 10, 0, "read off", "fits a rate without its term 1 / (8 m)"),
    ("2SLS-adaptive", "compliers"): Published(150, 15, 0, "read off", _LONG_NOTE),
    ("UCB-ITT", "proposals"): Published(2_750, 300, 0, "read off", f"{_LONG_NOTE}; {_UNSTATED}"),
    ("UCB-AT", "proposals"): Published(140_000, 5_000, 0, "read off", _WIDER),
    ("2SLS-decay", "proposals"): Published(310_000, 5_000, 0, "read off", _LONG_NOTE),
    ("2SLS-fixed", "proposals"): Published(310_000, 5_000, 0, "read off", _LONG_NOTE),
    ("2SLS-adaptive", "proposals"): Published(310_000, 5_000, 0, "read off", _LONG_NOTE),
}
_ORDER = ("UCB-ITT", "UCB-AT", "2SLS-decay", "2SLS-fixed", "2SLS-adaptive")
_SEEDS = 6
_ANEW = "a program written from the paper by itself, with normal noise and six seeds"
_AGAIN: dict[int, dict[Kind, tuple[float, ...]]] = {
    SECOND: {"compliers": (1017, 431, 70, 118, 311), "proposals": (89, 2042, 2903, 2748, 2199)},
    LONG: {"compliers": (100_171, 43_453, 126, 188, 453), "proposals": (558, 203_550, 309_150, 309_150, 309_150)},
}
"""What a program gave that was written from the paper independently, with UCB1: means by horizon and kind of regret, in
the order of the policies. They are regrets of the units that it met, over six seeds; ours are their expectation, given
the proposals."""

_RANGES = {309_150: 450.0}
"""How far the figure may be off that was given as a range; the others are rounded to whole numbers."""


class MeanCost(NamedTuple):
    """A mean cost.

    Attributes:
        mean: with its Monte Carlo error.
        spread: the sd of a run whose cost is that of the units that it meets, and not its expectation.
    """

    mean: Mean
    spread: float


Costs: TypeAlias = Mapping[tuple[str, Kind], MeanCost]


def measure(run: Runner, long: bool = True) -> tuple[list[FigureComparison], list[Statement]]:
    """Example 1 by all four regrets, example 2 by two of them; at T = 1,000,000 only where runs may be long."""
    one, two = first_example(), second_example()
    figures, short, million = _compared(run, one, two, long)
    figures += printed_means(one, two)
    statements = [*theorems(one, two), *_statements(short, f"example 2 at T = {SECOND:,}")]
    if million:
        statements += _growth(short, million)
    return figures, statements


def measure_bins(run: Runner, long: bool = True) -> list[FigureComparison]:
    """The figures that need runs, with the noise on bins."""
    return _compared(run, first_example(uniform_bins()), second_example(normal_bins()), long)[0]


def decisions(replications: int, long: bool = True) -> int:
    """How many decisions `measure` makes, and `measure_bins` as many again, for a progress bar."""
    million = (len(_ORDER) + 2) * LONG * _long(replications) if long else 0
    return replications * (2 * FIRST + len(_ORDER) * SECOND) + million


def _compared(
    run: Runner, one: Environment, two: Environment, long: bool
) -> tuple[list[FigureComparison], Costs, Costs]:
    """The figures that need runs, and what was found of example 2 at both horizons; nothing at one that was not run."""
    found = _costs(run, one, upper_bounds(one, 8.0), FIRST)
    short = _costs(run, two, [*upper_bounds(two, 2.0), *two_stage(two)], SECOND)
    figures = [*_drawn(found, _FIGURE_2, "figure 2", f"example 1, T = {FIRST:,}"), *_again(short, SECOND)]
    if not long:
        return figures, short, {}
    fewer = run.times(_long(run.replications))
    million = _costs(fewer, two, [*upper_bounds(two, 2.0), *two_stage(two)], LONG)
    drawn = million | _costs(fewer, two, upper_bounds(two, 8.0), LONG)
    figures += [*_again(million, LONG), *_drawn(drawn, _FIGURE_3, "figure 3", f"example 2, T = {LONG:,}")]
    return figures, short, million


def _long(replications: int) -> int:
    return max(FEWEST, replications // 50)


def _costs(
    run: Runner, environment: Environment, policies: list[Policy[Any]], horizon: int
) -> dict[tuple[str, Kind], MeanCost]:
    trace = run.simulate(environment, policies, horizon)
    costs = {}
    for i, policy in enumerate(policies):
        pulls = trace.pulls[0, i, :, 0].mean(axis=0)
        for kind in KINDS:
            runs = trace.cost(kind, policy.name)
            noise = pulls @ variances(environment, kind) if kind in ("proposals", "compliers") else 0.0
            costs[policy.name, kind] = MeanCost(Mean.of(runs), float(np.sqrt(runs.var(ddof=1) + noise)))
    return costs


def variances(environment: Environment, kind: Kind) -> FloatArray:
    """The variance of what one unit loses by each proposal, over units; shape (Kz,).

    The noise of a unit is the same whatever is done, so that its losses are differences of means.
    """
    types = environment.types
    assert types is not None
    reward = types.outcome[0] @ environment.space.reward
    got = np.take_along_axis(reward, types.response, axis=1)
    if kind == "proposals":
        best = got[:, environment.optimum()[0]]
        weight = np.ones(best.size)
    else:
        weight = (types.response == np.arange(reward.shape[1])).all(axis=1).astype(np.float64)
        best = reward[:, int(((types.share[0] * weight) @ reward).argmax())]
    loss = weight[:, np.newaxis] * (best[:, np.newaxis] - got)
    mean = types.share[0] @ loss
    return np.asarray(types.share[0] @ (loss - mean) ** 2)


def _again(found: Costs, horizon: int) -> Iterator[FigureComparison]:
    for kind, row in _AGAIN[horizon].items():
        for policy, value in zip(_ORDER, row, strict=True):
            ours, place = found[policy, kind], f"example 2, T = {horizon:,}"
            error = ours.spread / _SEEDS**0.5
            published = Published(value, _RANGES.get(int(value), 0.5), error, "written anew", _ANEW)
            yield FigureComparison(SOURCE, place, policy, f"{kind} regret", published, *ours.mean)


def _drawn(
    found: Costs, figures: Mapping[tuple[str, Kind], Published], place: str, experiment: str
) -> Iterator[FigureComparison]:
    for (policy, kind), published in figures.items():
        yield FigureComparison(
            f"{SOURCE}, {place}", experiment, policy, f"{kind} regret", published, *found[policy, kind].mean
        )


def _statements(found: Costs, where: str) -> list[Statement]:
    names = ("UCB-ITT", "2SLS-fixed")
    return [
        larger(
            f"{SOURCE}, section 5",
            f"two-stage least squares serves compliers where UCB does not: their regret in {where}",
            found["UCB-ITT", "compliers"].mean,
            found["2SLS-fixed", "compliers"].mean,
            names,
        ),
        larger(
            f"{SOURCE}, theorem 3",
            f"nobody can serve both: intention-to-treat regret in {where}",
            found["2SLS-fixed", "proposals"].mean,
            found["UCB-ITT", "proposals"].mean,
            names[::-1],
        ),
    ]


def _growth(short: Costs, long: Costs) -> Iterator[Statement]:
    """Compliers' regret over T: a hundred times the decisions, and ten times the regret divides log from linear."""
    for policy, logarithmic in (("2SLS-decay", True), ("2SLS-fixed", True), ("UCB-ITT", False)):
        tenfold = short[policy, "compliers"].mean
        pair = (Mean(10 * tenfold.value, 10 * tenfold.error), long[policy, "compliers"].mean)
        names = (f"ten times that at T = {SECOND:,}", f"T = {LONG:,}")
        how = "logarithmically" if logarithmic else "in proportion to T"
        yield larger(
            f"{SOURCE}, theorems 7 and 8" if logarithmic else f"{SOURCE}, theorem 3",
            f"compliers' regret of {policy} grows {how} in example 2",
            *(pair if logarithmic else pair[::-1]),
            names if logarithmic else names[::-1],
        )
