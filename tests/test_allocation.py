"""The probability of each proposal against independent integrals and draws, and its projection onto limits."""

from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from naive import FloatArray
from takeup import TS, UNSEEN, Allocation, Event, Evidence, Limits, LimitsError, Space, Thompson, TSCheck, TSObs, stream
from takeup.conjugates import Dirichlet
from takeup.policies.limits import LEAST, softened, with_control

many = settings(max_examples=100)
TWO = Space(2)


def allocated(policy: Thompson, space: Space, *events: Event, draws: int = 10_000) -> Allocation:
    return policy.allocation(Evidence.of(space, events), 0, stream(0, "allocation"), draws)


def exactly(policy: Thompson, space: Space, *events: Event) -> FloatArray:
    """The probabilities, which are no estimate."""
    allocation = allocated(policy, space, *events)
    assert allocation.exact
    assert allocation.draws == 0
    assert not allocation.standard_error.any()
    assert allocation.probability.sum() == pytest.approx(1, abs=1e-15)
    return allocation.probability


def shapes(arms: int, number: int, largest: float) -> list[FloatArray]:
    """Beta parameters from 0.1 on: some spread over all sizes, some all nearly equal, where everything overlaps."""
    rng = stream(arms, "shapes", int(largest))
    spread = [10 ** rng.uniform(-1, np.log10(largest), (arms, 2)) for _ in range(number)]
    near = [np.clip(size * np.exp(0.01 * rng.normal(size=(arms, 2))), 0.1, None) for size in (0.1, 1, 30, largest)]
    return spread + near


@pytest.mark.requirement("R-1.1")
@pytest.mark.parametrize("arms", [2, 3, 6])
def test_ts_is_a_fraction_for_whole_parameters(arms: int) -> None:
    """The integral of f_j prod F_i is one of a polynomial, taken without rounding."""
    rng = stream(arms, "whole")
    for _ in range(10):
        failures, successes = rng.integers(1, 8, size=(2, arms))
        pairs = [(int(a), int(b)) for a, b in zip(successes, failures, strict=True)]
        expected = [float(p) for p in naive.largest_exactly(pairs)]
        alpha = np.stack([failures, successes], axis=1)
        np.testing.assert_allclose(exactly(TS(alpha=alpha), Space(arms)), expected, rtol=0, atol=1e-13)


@pytest.mark.requirement("R-1.1")
@pytest.mark.parametrize("largest", [1e2, pytest.param(1e4, marks=pytest.mark.long), 1e6])
@pytest.mark.parametrize("arms", [2, 3, 6])
def test_ts_is_the_integral(arms: int, largest: float) -> None:
    """Against adaptive quadrature, however large the parameters."""
    for beta in shapes(arms, 6 if arms < 6 else 2, largest):
        expected = naive.largest(beta)
        assert sum(expected) == pytest.approx(1, abs=1e-11)
        np.testing.assert_allclose(exactly(TS(alpha=beta[:, ::-1]), Space(arms)), expected, rtol=0, atol=2e-12)


def test_ts_where_arms_are_equal_or_certain() -> None:
    """K equal arms get 1/K each; one with 10^6 successes beats one with 10^6 failures."""
    for arms in (2, 3, 6):
        np.testing.assert_allclose(exactly(TS(alpha=0.1), Space(arms)), 1 / arms, rtol=0, atol=1e-13)
    sure = exactly(TS(alpha=[[1, 1e6], [1e6, 1]]), TWO)
    assert sure[0] == 1
    assert 0 <= sure[1] < 1e-12


def test_after_one_success_ts_repeats_the_arm_with_two_thirds_and_ts_obs_with_five_ninths() -> None:
    """One success on proposal 0, complied with, all priors 1.

    P(Beta(2, 1) > Beta(1, 1)) = E[Beta(2, 1)] = 2/3. TS-Obs still doubts compliance, by the same numbers:
    2/3 * 2/3 + 1/3 * 1/3 = 5/9.
    """
    success = Event(0, 0, 0, 1)
    assert naive.largest_exactly([(2, 1), (1, 1)])[0] == Fraction(2, 3)
    np.testing.assert_allclose(exactly(TS(), TWO, success), [2 / 3, 1 / 3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(exactly(TSCheck(), TWO, success), [2 / 3, 1 / 3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(exactly(TSObs(), TWO, success), [5 / 9, 4 / 9], rtol=0, atol=1e-14)


def test_noncompliance_turns_the_lesson_around() -> None:
    """One success on proposal 0 where action 1 happened: TS credits the proposal, TS-Check nobody, TS-Obs action 1.

    TS-Obs: A = P(μ_0 > μ_1) = 1/3 and B = P(π_00 > π_10) = 1/3, so 1/9 + 4/9 = 5/9 again: proposal 0 leads to action 1.
    """
    success = Event(0, 0, 1, 1)
    np.testing.assert_allclose(exactly(TS(), TWO, success), [2 / 3, 1 / 3], rtol=0, atol=1e-14)
    np.testing.assert_allclose(exactly(TSCheck(), TWO, success), [1 / 2, 1 / 2], rtol=0, atol=1e-14)
    np.testing.assert_allclose(exactly(TSObs(), TWO, success), [5 / 9, 4 / 9], rtol=0, atol=1e-14)


@pytest.mark.requirement("R-1.1")
@pytest.mark.parametrize("seed", range(8))
def test_ts_obs_is_the_oracle_for_two_proposals(seed: int) -> None:
    """A B + (1 - A)(1 - B) by quadrature after 30 random events, and the mixture that the enumeration makes of it."""
    rng = stream(seed, "events")
    events = [Event(0, *(int(i) for i in rng.integers(0, 2, size=3))) for _ in range(30)]
    events += [Event(0, 1, 0), Event(0, 0)]
    alpha, beta = 10 ** rng.uniform(-1, 1, size=(2, 2, 2))
    expected = naive.allocation(naive.mixture(alpha[np.newaxis], beta[np.newaxis], events))
    probability = exactly(TSObs(alpha=alpha, beta=beta), TWO, *events)
    np.testing.assert_allclose(probability, [expected, 1 - expected], rtol=0, atol=1e-12)


def test_ts_obs_is_the_frequency_in_many_draws() -> None:
    """Values of 300,000 independent draws, in 3 cases within 5 standard errors. False alarms: 2e-6."""
    rng = stream(3, "draws")
    for _ in range(3):
        alpha, beta = 10 ** rng.uniform(-1, 1.5, size=(2, 2, 2))
        good = [rng.beta(alpha[a, 1], alpha[a, 0], 300_000) for a in range(2)]
        first = [rng.beta(beta[z, 0], beta[z, 1], 300_000) for z in range(2)]
        value = [first[z] * good[0] + (1 - first[z]) * good[1] for z in range(2)]
        frequency = (value[0] > value[1]).mean()
        p = exactly(TSObs(alpha=alpha, beta=beta), TWO)[0]
        assert abs(frequency - p) < 5 * (p * (1 - p) / 300_000) ** 0.5


def test_ts_obs_tends_to_ts_as_compliance_becomes_certain() -> None:
    """With β = [[B, e], [e, B]] the two differ by P(π_00 < π_10) |2 A - 1|, which falls to nothing.

    At first both probabilities are P(Beta(3, 1) > Beta(1, 2)) = 9/10, so the difference is 1/10 * 8/10 = 0.08.
    """
    events = [Event(0, 0, 0, 1), Event(0, 0, 0, 1), Event(0, 1, 1, 0)]
    ts = exactly(TS(), TWO, *events)
    sizes = [(1, 1), (1.5, 0.8), (2, 0.6), (4, 0.4), (10, 0.1)]
    gaps = [abs(exactly(TSObs(beta=[[b, e], [e, b]]), TWO, *events) - ts).max() for b, e in sizes]
    assert gaps[0] == pytest.approx(0.08, abs=1e-13)
    assert all(after < before / 2 for before, after in pairwise(gaps))
    assert gaps[-1] < 1e-8


@pytest.mark.parametrize("policy", [TS, TSObs])
def test_a_reversed_utility_reverses_what_counts_as_success(policy: type[TS] | type[TSObs]) -> None:
    rng = stream(4, "reversed")
    for _ in range(5):
        alpha = 10 ** rng.uniform(-1, 2, size=(2, 2))
        reversed_ = exactly(policy(alpha=alpha), Space(2, utility=(1, 0)))
        np.testing.assert_array_equal(reversed_, exactly(policy(alpha=alpha[:, ::-1]), TWO))
        np.testing.assert_array_equal(reversed_, exactly(policy(alpha=alpha), Space(2, utility=(-2, -5.5))))
    three = np.array([[3.0, 1.0], [1.0, 1.0], [1.0, 2.0]])
    expected = [float(p) for p in naive.largest_exactly([(3, 1), (1, 1), (1, 2)])]
    np.testing.assert_allclose(exactly(TS(alpha=three), Space(3, utility=(9, 4))), expected, rtol=0, atol=1e-13)


INEXACT = {
    "three outcomes": (
        TS(alpha=[[1.0, 2.0, 1.0], [1.0, 1.0, 1.5], [2.0, 0.3, 1.0]]),
        Space(3, outcomes=3, utility=(0, 1, 5)),
    ),
    "three proposals": (
        TSObs(alpha=[[1, 2], [1, 1], [3, 2]], beta=[[5.0, 1.0, 1.0], [1.0, 2.0, 0.5], [1.0, 1.0, 1.0]]),
        Space(3),
    ),
    "fewer actions": (TSObs(alpha=[[1, 2], [2, 1]], beta=[[5, 1], [1, 2], [1, 1]]), Space(3, 2)),
    "outcomes and compliance": (TSObs(alpha=[1, 2, 0.4], beta=[3, 1]), Space(2, outcomes=3, utility=(0, -1, 2))),
    "small parameters": (TS(alpha=[[0.05, 0.05], [1.0, 1.0], [0.02, 0.01]]), Space(3)),
    "nearly certain compliance": (TSObs(alpha=[[1, 2], [1, 1]], beta=[[9.0, 0.01], [0.01, 9.0]]), TWO),
}


@pytest.mark.parametrize("name", INEXACT)
def test_what_has_no_integral_comes_from_draws(name: str) -> None:
    """20,000 draws against 150,000 of numpy's own, within 5 standard errors of both. False alarms: 16 * 6e-7 = 1e-5."""
    policy, space = INEXACT[name]
    events = [Event(0, 0, 0, 1), Event(0, 1, 1, 0), Event(0, 1, 0), Event(0, 0, UNSEEN, 1)]
    allocation = allocated(policy, space, *events, draws=20_000)
    assert allocation.draws == 20_000
    assert not allocation.exact
    assert allocation.probability.sum() == pytest.approx(1)
    p = allocation.probability
    np.testing.assert_allclose(allocation.standard_error, np.sqrt(p * (1 - p) / 20_000))

    rng = stream(5, "independent", name)
    posterior = policy.posterior(Evidence.of(space, events), stream(0))
    reward = [rng.dirichlet(row, 150_000) @ space.reward for row in posterior.outcome[0]]
    value = np.stack(reward)
    if posterior.compliance is not None:
        value = np.stack([(rng.dirichlet(row, 150_000).T * value).sum(axis=0) for row in posterior.compliance[0]])
    q = np.bincount(value.argmax(axis=0), minlength=len(value)) / 150_000
    assert np.all(abs(p - q) < 5 * np.sqrt(q * (1 - q) * (1 / 20_000 + 1 / 150_000)))


def test_no_integral_is_computed_where_it_would_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take a third of a live decision with six proposals."""

    def refuse(_: object) -> None:
        raise AssertionError("an integral of which nothing comes")

    monkeypatch.setattr(Dirichlet, "largest", refuse)
    assert allocated(TSObs(), Space(6), draws=10).draws == 10
    assert allocated(TSObs(beta=0.01), Space(2), draws=10).draws == 10
    with pytest.raises(AssertionError, match="an integral"):
        allocated(TSObs(), Space(2), draws=10)


def test_draws_follow_the_scale_of_utility_no_more_than_the_stream() -> None:
    """The same stream and four times the utility: the same allocation, to the last bit."""
    policy = TSObs(alpha=[1, 2, 0.4])
    once, again, scaled = (
        allocated(policy, Space(3, outcomes=3, utility=utility)).probability
        for utility in ((0, 1, 5), (0, 1, 5), (0, 4, 20))
    )
    np.testing.assert_array_equal(once, again)
    np.testing.assert_array_equal(once, scaled)


def simplex(size: int) -> st.SearchStrategy[FloatArray]:
    """Probabilities, zeros and ones among them."""
    weights = st.lists(st.sampled_from([0, 0, 1e-9, 0.1]) | st.floats(0, 1), min_size=size, max_size=size)
    return weights.filter(any).map(lambda w: np.array(w) / np.sum(w))


@st.composite
def projections(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, Limits]:
    """Two vectors of probabilities and limits around a third, so that something is within them."""
    size = draw(st.integers(2, 6))
    inside = draw(simplex(size))
    slack = st.lists(st.sampled_from([0.0, 0.02, 0.5, 1.0]), min_size=size, max_size=size)
    floor = np.clip(inside - draw(slack), 0, 1)
    ceiling = np.clip(inside + draw(slack), 0, 1)
    return draw(simplex(size)), draw(simplex(size)), Limits(floor, ceiling)


@pytest.mark.requirement("R-1.3")
@many
@given(projections())
def test_project_is_the_nearest_vector_within_the_limits(case: tuple[FloatArray, FloatArray, Limits]) -> None:
    """The Karush-Kuhn-Tucker conditions, which only the projection meets.

    One shift λ: q = p - λ inside, p - λ <= floor at the floor, p - λ >= ceiling at the ceiling.
    """
    p, _, limits = case
    q = limits.project(p)
    low, high = np.asarray(limits.floor), np.asarray(limits.ceiling)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert np.all((low <= q) & (q <= high))
    at_low, at_high = q <= low + 1e-14, q >= high - 1e-14
    least = np.max((p - q)[~at_high], initial=-np.inf)
    most = np.min((p - q)[~at_low], initial=np.inf)
    # λ must be at least p - q off the ceiling and at most p - q off the floor.
    assert least <= most + 1e-12


@many
@given(projections())
def test_project_never_spreads_and_settles_at_once(case: tuple[FloatArray, FloatArray, Limits]) -> None:
    p, other, limits = case
    q, r = limits.project(p), limits.project(other)
    assert np.linalg.norm(q - r) <= np.linalg.norm(p - other) + 1e-12
    np.testing.assert_allclose(limits.project(q / q.sum()), q, rtol=0, atol=1e-12)


@many
@given(st.integers(2, 6).flatmap(simplex))
def test_project_leaves_alone_what_is_within_the_limits(p: FloatArray) -> None:
    assume(p.max() < 1)
    np.testing.assert_allclose(Limits().project(p), p, rtol=0, atol=1e-15)
    np.testing.assert_allclose(Limits(p.min(), p.max()).project(p), p, rtol=0, atol=1e-15)


def test_project_lifts_zeros_to_the_floor() -> None:
    """0.1 is lacking twice: the others give 0.1 each, (0.6 - 0.1, 0.4 - 0.1); with a ceiling of 0.45, (0.45, 0.35)."""
    p = [0.6, 0.4, 0, 0]
    np.testing.assert_allclose(Limits(0.1).project(p), [0.5, 0.3, 0.1, 0.1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Limits(0.1, 0.45).project(p), [0.45, 0.35, 0.1, 0.1], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Limits(floor=[0.7, 0, 0]).project([0, 0.5, 0.5]), [0.7, 0.15, 0.15], rtol=0, atol=1e-15)
    np.testing.assert_allclose(Limits(0.1).project(np.eye(10)[3]), 0.1, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "limits",
    [
        Limits(floor=0.4),
        Limits(floor=[0.5, 0.5, 0.1]),
        Limits(ceiling=0.3),
        Limits(ceiling=[0.2, 0.3, 0.4]),
        Limits(floor=[0.3, 0, 0], ceiling=[0.2, 1, 1]),
        Limits(floor=-0.1),
        Limits(ceiling=1.1),
        Limits(floor=float("nan")),
        Limits(ceiling=[float("nan"), 1, 1]),
        Limits(ceiling=float("inf")),
        Limits(floor=[0.1, 0.1]),
        Limits(ceiling=[1, 1, 1, 1]),
    ],
    ids=str,
)
def test_limits_that_nothing_can_meet_are_refused(limits: Limits) -> None:
    with pytest.raises(LimitsError):
        limits.project([0.2, 0.3, 0.5])


@pytest.mark.parametrize("policy", [TS(), TSObs()])
def test_sampled_values_are_those_of_the_sampled_worlds(policy: Thompson) -> None:
    space = Space(3, contexts=2, outcomes=3, utility=[0, 1, 5])
    evidence = Evidence(space, stream(1).integers(0, 9, size=(2, 3, 4, 4)))
    posterior = policy.posterior(evidence, stream(2))
    values = posterior.sample(stream(3), 50).value()
    np.testing.assert_allclose(posterior.sample_values(stream(3), 50), values, rtol=1e-15)


Numbers: TypeAlias = tuple[float, ...]

PROPORTIONAL = [
    # p, floor, ceiling -> as adaptr allocates
    ((0.97, 0.03, 0), 0.2, 1, (0.6, 0.2, 0.2)),
    ((0.7, 0.25, 0.05), 0.2, 1, (0.5894737, 0.2105263, 0.2)),
    ((0.1, 0.7, 0.2), 0, (1, 0.4, 1), (0.2, 0.4, 0.4)),
    ((1, 0, 0), 0, 0.8, (0.8, 0.1, 0.1)),
    ((0.5, 0.3, 0.2), 0.1, 0.9, (0.5, 0.3, 0.2)),
]


@pytest.mark.parametrize(("p", "floor", "ceiling", "expected"), PROPORTIONAL)
def test_limits_in_proportion(p: Numbers, floor: Any, ceiling: Any, expected: Numbers) -> None:
    found = Limits(floor, ceiling, "proportional").project(p)
    np.testing.assert_allclose(found, expected, atol=5e-8)


def test_softening_and_controls_as_adaptr_has_them() -> None:
    np.testing.assert_allclose(softened(np.array([0.6, 0.3, 0.1]), 0.5), [0.4727339, 0.3342733, 0.1929928], atol=5e-8)
    soft = softened(np.array([0.9, 0.08, 0.02]), 0.5)
    found = Limits(0.15, rule="proportional").project(soft)
    np.testing.assert_allclose(found, [0.6547818, 0.1952182, 0.15], atol=5e-8)
    np.testing.assert_allclose(with_control(np.array([0.5, 0.3, 0.2]), 0, "match"), [0.375, 0.375, 0.25])
    found = with_control(np.array([0.1, 0.7, 0.2]), 0, 1 / 3)
    np.testing.assert_allclose(found, [0.3333333, 0.5185185, 0.1481481], atol=5e-8)
    np.testing.assert_allclose(with_control(np.full(5, 0.2), 0, "sqrt"), [1 / 3, *[1 / 6] * 4])


@pytest.mark.requirement("R-1.3")
@many
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_proportional_limits_hold_whatever_comes(weights: list[float], least: float, most: float) -> None:
    """They sum to one within the limits; what lies strictly between two limits is in proportion to what it was."""
    assume(sum(weights) > 1e-3)
    p = np.array(weights) / sum(weights)
    floor, ceiling = least / p.size, 1 / p.size + most * (1 - 1 / p.size)
    q = Limits(floor, ceiling, "proportional").project(p)
    assert q.sum() == pytest.approx(1, abs=1e-12)
    assert (q >= floor - 1e-15).all()
    assert (q <= ceiling + 1e-15).all()
    free = (q > floor + 1e-9) & (q < ceiling - 1e-9) & (p > LEAST)
    if free.sum() > 1:
        ratio = q[free] / p[free]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
