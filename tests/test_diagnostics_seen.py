"""Whether being seen depends on the outcome: against enumeration, and on data that policies gathered.

Rates are held against their bounds with 4.5 standard errors to spare: a false alarm in 1 of 300,000 seeds each.
"""

from collections.abc import Callable
from itertools import combinations, product
from math import log
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from takeup import UNSEEN, Environment, Event, Evidence, InputError, Number, Space, World, check_seen, stream
from takeup.diagnostics import strata, tables
from takeup.outcomes import Count, Time
from takeup.policies import TS, TSRobust

IntArray = NDArray[np.int64]
Seeing = Callable[[IntArray, IntArray, IntArray], Any]

UNLIKE = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))
ALIKE = Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.5, 0.5]))
TRAP = Environment.from_types(
    Space(2), [0.5, 0.5], [[1, 1], [0, 1]], [[[0.25, 0.75], [0.25, 0.75]], [[0.5, 0.5], [0.75, 0.25]]]
)
TWO = Space(["letter", "call"], outcomes=["stayed away", "came"])


def spare(bound: float, runs: int) -> float:
    return bound + 4.5 * float(np.sqrt(bound * (1 - bound) / runs))


def half(z: IntArray, a: IntArray, y: IntArray) -> Any:
    """By chance."""
    return 0.5


def by_proposal(z: IntArray, a: IntArray, y: IntArray) -> Any:
    """Often after one proposal, seldom after the other: that is at random as well."""
    return np.where(z == 1, 0.7, 0.3)


def by_outcome(z: IntArray, a: IntArray, y: IntArray) -> Any:
    """Of 80 % with the better outcome, of 20 % with the other."""
    return np.where(y == 1, 0.8, 0.2)


def by_action(z: IntArray, a: IntArray, y: IntArray) -> Any:
    """Of 80 % who do the first action, of 20 % who do the other."""
    return np.where(a == 0, 0.8, 0.2)


def gathered(
    truth: Environment, seeing: Seeing, runs: int, looks: list[int], policy: TSRobust | TS = TSRobust()
) -> list[list[Evidence]]:
    """What a policy gathers where actions are seen with this probability; for each run, at each look."""
    rng, found = stream(1, "seen"), []
    state = policy.start(truth.space, (runs,))
    for t in range(looks[-1]):
        x = truth.meet(rng.random(runs))
        z = policy.propose(state, x, rng)
        a, y = truth.respond(x, z, rng.random(runs))
        seen = np.where(rng.random(runs) < seeing(z, a, y), a, UNSEEN)
        state = policy.learn(state, Event(x, z, seen, y), rng)
        if t + 1 in looks:
            found.append(state.counts)
    return [[Evidence(truth.space, look[run]) for look in found] for run in range(runs)]


def evidence(seen: Any, unseen: Any, space: Space = TWO) -> Evidence:
    """Of n[z, y] of either kind, all of the seen with the first action."""
    counts = np.zeros(Evidence.empty(space).counts.shape, dtype=np.int64)
    counts[0, :, 0, : space.outcome.cells], counts[0, :, UNSEEN, : space.outcome.cells] = seen, unseen
    return Evidence(space, counts)


def hits_of(table: IntArray) -> strata.Hits:
    found = strata.Hits.of(table)
    assert found is not None
    return found


def each_table(paths: IntArray) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """p-values and logs of e-values of tables [.., stratum, seen or not, outcome], each table computed once."""
    every, places = np.unique(paths.reshape(-1, 8), axis=0, return_inverse=True)
    found = [hits_of(table) for table in every.reshape(-1, 2, 2, 2)]
    p, e = np.array([(each.p_value, each.log_e_value) for each in found]).T
    return p[places].reshape(paths.shape[:-3]), e[places].reshape(paths.shape[:-3])


def by_quadrature(every: NDArray[np.float64], found: float) -> float:
    """The mean of p(found given ψ) / p(found) over ψ from N(0, 1) within ±5, by a sum over a finer grid."""
    ratio = np.linspace(-5, 5, 4001)
    density = np.exp(-(ratio**2) / 2)
    total = np.exp(np.outer(ratio, every)).mean(axis=1)
    return float((density * np.exp(ratio * found) / total).sum() / density.sum())


class TestStrata:
    """Two groups within strata."""

    def test_exact_p_and_score_are_those_of_every_choice_of_the_seen(self) -> None:
        """Strata of five, four and three: all 10 * 4 * 3 ways to say who was seen are equally probable."""
        outcomes, sizes = [[1, 1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0]], [2, 3, 1]
        ways = list(product(*(combinations(range(len(y)), m) for y, m in zip(outcomes, sizes, strict=True))))
        hits = np.array([sum(y[i] for y, who in zip(outcomes, way, strict=True) for i in who) for way in ways])
        for way, hit in zip(ways, hits, strict=True):
            groups = [
                [[y[i] for i in range(len(y)) if (i in who) == first] for first in (True, False)]
                for y, who in zip(outcomes, way, strict=True)
            ]
            table = np.array([[[g.count(0), g.count(1)] for g in pair] for pair in groups])
            p = np.mean(np.abs(hits - hits.mean()) >= abs(hit - hits.mean()) - 1e-9)
            found = hits_of(table)
            assert found.p_value == pytest.approx(p)
            assert found.log_e_value == pytest.approx(log(by_quadrature(hits - hits.mean(), hit - hits.mean())))
            n, total = table.sum(axis=2), table[..., 1].astype(float)
            assert strata.score(n, total, total) == pytest.approx((hit - hits.mean()) / hits.std())

    def test_score_of_numbers_is_that_of_every_choice(self) -> None:
        y = [[3.0, 8.0, 1.0, 4.0], [2.0, 2.5, 9.0]]
        ways = list(product(combinations(range(4), 2), combinations(range(3), 1)))
        sums = np.array([sum(y[k][i] for k, who in enumerate(way) for i in who) for way in ways])
        first = np.array([[sum(y[k][i] ** power for i in ways[0][k]) for power in (1, 2)] for k in range(2)])
        every = np.array([[sum(each**power for each in y[k]) for power in (1, 2)] for k in range(2)])
        total, squares = np.moveaxis(np.stack([first, every - first], axis=1), 2, 0)
        found = strata.score(np.array([[2, 2], [1, 2]]), total, squares)
        assert found == pytest.approx((sums[0] - sums.mean()) / sums.std())

    def test_the_normal_distribution_takes_over_where_it_is_as_good(self) -> None:
        table = np.array([[[900, 850], [850, 910]]])
        exact, n, total = hits_of(table), table.sum(axis=2), table[..., 1].astype(float)
        score = strata.score(n, total, total)
        assert exact.p_value == pytest.approx(strata.normal_p(score), abs=0.005)
        assert exact.log_e_value == pytest.approx(strata.normal_log_e(score, n), abs=0.05)
        assert strata.Hits.of(5 * table) is None

    @pytest.mark.parametrize(
        ("rates", "sizes"), [((0.5, 0.95), (20, 200)), ((0.1, 0.1), (10, 40)), ((0.3, 0.6), (50, 50))]
    )
    def test_limits_cover(self, rates: tuple[float, float], sizes: tuple[int, int]) -> None:
        """1,000 pairs of strata, one with 4 points more of everything: 95 % limits miss in at most 7 %."""
        rng, n = stream(2, "cover"), np.array([sizes, sizes[::-1]])
        p = np.array([rates, rates]) + np.array([[0.0], [0.04]])
        missed = 0
        for total in rng.binomial(n, p, (1000, 2, 2)).astype(float):
            _, low, high = strata.difference(n, total, total, 0.05)
            missed += not low <= rates[0] - rates[1] <= high
        assert missed / 1000 <= spare(0.07, 1000)


def courses(steps: int, follows: Callable[[int, int], bool]) -> tuple[IntArray, NDArray[np.bool_], NDArray[np.bool_]]:
    """Every course of (seen, outcome): [course, step, stratum, seen or not, outcome] counted up, and both by step.

    A proposal is made again as long as `follows(seen, outcome)`.
    """
    every = list(product(product((0, 1), repeat=2), repeat=steps))
    paths = np.zeros((len(every), steps, 2, 2, 2), dtype=np.int64)
    for i, course in enumerate(every):
        z = 0
        for t, (s, y) in enumerate(course):
            paths[i, t:, z, 1 - s, y] += 1
            z = z if follows(s, y) else 1 - z
    seen, success = np.moveaxis(np.array(every, dtype=bool), 2, 0)
    return paths, seen, success


def chance(hit: NDArray[np.bool_], rate: float) -> NDArray[np.float64]:
    return np.asarray(np.where(hit, rate, 1 - rate).prod(axis=1))


class TestEnumerated:
    """All courses of small trials in which being seen has nothing to do with the outcome."""

    @pytest.mark.parametrize("rates", [(0.5, 0.5), (0.8, 0.3), (0.2, 0.9)])
    def test_e_values_at_every_look_even_if_proposals_follow_what_is_seen(self, rates: tuple[float, float]) -> None:
        """A proposal is made again after a seen success alone: P(e-value ever >= 2) <= 1/2, P(ever >= 4) <= 1/4."""
        paths, seen, success = courses(6, lambda s, y: bool(s and y))
        weight = chance(seen, rates[0]) * chance(success, rates[1])
        for e in (each_table(paths)[1], tables.somewhere(tables.log_e_value(paths))):
            for least in (2, 4):
                assert weight[(e >= log(least)).any(axis=1)].sum() <= 1 / least

    @pytest.mark.parametrize("rates", [(0.5, 0.5), (0.8, 0.3)])
    def test_both_are_exact_where_proposals_follow_outcomes(self, rates: tuple[float, float]) -> None:
        """A proposal is made again after a success: P(p <= level) <= level, and the mean e-value is one, exactly."""
        paths, seen, success = courses(6, lambda s, y: bool(y))
        (p, log_e), weight = each_table(paths[:, -1]), chance(seen, rates[0]) * chance(success, rates[1])
        assert min(p) < 0.2
        for level in np.unique(p):
            assert weight[p <= level].sum() <= level + 1e-9
        assert (weight * np.exp(log_e)).sum() == pytest.approx(1)


class TestGathered:
    """On what TS-Robust gathers, which adapts to what is seen as well."""

    @pytest.mark.parametrize("seeing", [pytest.param(half, marks=pytest.mark.long), by_proposal])
    def test_false_alarms(self, seeing: Seeing) -> None:
        """100 runs: at most 5 % at the end by p, at any of three looks by the e-value."""
        self.false_alarms(UNLIKE, seeing, 100, [20, 40, 60])

    @pytest.mark.long
    @pytest.mark.parametrize("seeing", [half, by_proposal])
    @pytest.mark.parametrize("truth", [UNLIKE, ALIKE, TRAP], ids=["unlike", "alike", "trap"])
    def test_false_alarms_of_many(self, truth: Environment, seeing: Seeing) -> None:
        """The same of 2,000 runs of 200 decisions, at ten looks."""
        self.false_alarms(truth, seeing, 2000, list(range(20, 201, 20)))

    def false_alarms(self, truth: Environment, seeing: Seeing, runs: int, looks: list[int]) -> None:
        """At most 5 %."""
        found = [[check_seen(each) for each in run] for run in gathered(truth, seeing, runs, looks)]
        assert np.mean([run[-1].reason == "" for run in found]) > 0.9
        assert np.mean([run[-1].depends for run in found]) <= spare(0.05, runs)
        assert np.mean([any(each.depends_at_any_time for each in run) for run in found]) <= spare(0.05, runs)

    def test_power_where_the_outcome_decides(self) -> None:
        """60 points of difference in being seen: both say so in nine of ten runs of 100 decisions."""
        found = [check_seen(run[-1]) for run in gathered(UNLIKE, by_outcome, 40, [100])]
        assert np.mean([each.depends for each in found]) > 0.95
        assert np.mean([each.depends_at_any_time for each in found]) > 0.9
        assert np.mean([each.lower > 0 for each in found]) > 0.95

    def test_the_action_shows_through_its_outcomes_alone(self) -> None:
        """Seen by action, 200 runs: no more alarms than by chance where actions have the same outcomes; else more."""
        alike, unlike = (
            np.mean([check_seen(run[-1]).depends for run in gathered(truth, by_action, 200, [80], TS())])
            for truth in (ALIKE, UNLIKE)
        )
        assert alike <= spare(0.05, 200)
        assert unlike > spare(0.05, 200)


class TestWords:
    """What is said."""

    def test_alarm(self) -> None:
        found = check_seen(evidence([[10, 30], [12, 28]], [[30, 12], [31, 9]]))
        assert found.depends_at_any_time
        assert (found.seen.patients, found.unseen.patients, found.used) == (80, 82, 162)
        assert found.proposals[0].share == pytest.approx(40 / 82)
        gaps, weight = np.array([30 / 40 - 12 / 42, 28 / 40 - 9 / 40]), np.array([40 * 42 / 82, 20])
        assert found.difference == pytest.approx((gaps * weight).sum() / weight.sum())
        said = found.summary()
        assert "Action seen by proposal: letter 49 % of 82, call 50 % of 80." in said
        assert "Of those whose action was seen 58 of 80 had the outcome came, of the others 21 of 82." in said
        assert (
            "depends on the outcome, or on what goes with it, such as the action itself (at several looks, too" in said
        )

    def test_no_alarm_is_no_proof(self) -> None:
        said = check_seen(evidence([[20, 20], [20, 20]], [[20, 20], [20, 20]])).summary()
        assert "That is no proof. That it depends on the action itself would show through the action's outcomes" in said
        assert "+0 points" in said

    def test_too_few(self) -> None:
        assert "whose action was seen" in check_seen(Evidence.empty(TWO)).reason
        assert "whose action was unseen" in check_seen(evidence([[20, 20], [20, 20]], 0)).reason
        few = check_seen(evidence([[20, 20], [0, 0]], [[4, 5], [20, 20]]))
        assert few.reason == (
            "where there are both kinds, 40 actions were seen and 9 were not; there should be 10 of each at least"
        )
        assert (few.p_value, few.log_e_value, few.depends) == (1.0, 0.0, False)
        assert few.summary().endswith(f"Not compared: {few.reason}.")

    def test_refusals(self) -> None:
        for bad in (0, 1, float("nan")):
            with pytest.raises(InputError, match="level"):
                check_seen(Evidence.empty(TWO), level=bad)
        with pytest.raises(InputError, match="single table"):
            check_seen(Evidence.empty(TWO, (3,)))


class TestOutcomes:
    """Outcomes of other kinds."""

    def test_numbers_are_compared_by_their_means(self) -> None:
        """120 decisions each, 4 mmHg apart with a spread of 8: the difference is that of the means, in mmHg."""
        outcome = Number(80, 200, unit="mmHg", better="lower")
        rng, events = stream(3, "pressure"), []
        drawn = np.rint(rng.normal([[134.0], [130.0]], 8.0, (2, 120))).astype(int)
        for kind, action in enumerate((0, UNSEEN)):
            events += [Event(0, 0, action, outcome.code(int(y))) for y in drawn[kind]]
        found = check_seen(Evidence.of(Space(2, outcomes=outcome), events))
        first, last = drawn.mean(axis=1)
        assert found.difference == pytest.approx(first - last)
        assert found.seen.mean == pytest.approx(first)
        assert found.unseen.mean == pytest.approx(last)
        spread = drawn.ravel().std(ddof=1) * np.sqrt(2 / 120)
        assert found.p_value == pytest.approx(strata.normal_p((first - last) / spread))
        assert found.lower < first - last < found.upper
        assert f"the mean was {first:.2f} mmHg (120), of the others {last:.2f} mmHg (120)" in found.summary()

    def test_levels_by_what_they_are_worth(self) -> None:
        space = Space(2, outcomes=["bad", "fair", "good"], utility=[0, 1, 3])
        found = check_seen(evidence([[5, 5, 20], [0, 0, 0]], [[20, 5, 5], [0, 0, 0]], space))
        assert found.difference == pytest.approx(65 / 30 - 20 / 30)
        assert found.depends
        assert "mean worth of outcomes was 2.17 (30), of the others 0.67 (30)" in found.summary()

    @pytest.mark.parametrize("outcome", [Count(20, exposure="years", longest=2), Time(40)], ids=["count", "time"])
    def test_counts_and_times_by_their_bins(self, outcome: Count | Time) -> None:
        """Without a mean there is no difference, and p is one over the e-value."""
        codes = outcome.examples
        events = [Event(0, 0, 0, int(codes[0]))] * 40 + [Event(0, 0, UNSEEN, int(codes[-1]))] * 40
        found = check_seen(Evidence.of(Space(2, outcomes=outcome), events))
        assert found.depends_at_any_time
        assert found.p_value == pytest.approx(np.exp(-found.log_e_value))
        assert np.isnan(found.difference)
        assert "the rate was" in found.summary()
