"""Kernels of outcomes that are numbers: chosen where they apply, and what they keep and draw against closed forms.

That they agree with the policies in distribution is in `test_kernels_agree`. The tests of distributions here run at the
level `LEVEL` each with fixed seeds; there are fewer than 100 of them, so that together they would raise fewer than one
false alarm in 10,000 choices of the seed.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import kernel_runs
from kernel_runs import interpreted, laid_out, run_cpu
from takeup import (
    KLUCB,
    TS,
    UCB1,
    UCBAT,
    UCBITT,
    UNSEEN,
    BayesUCB,
    Bootstrap,
    Count,
    Environment,
    EpsilonGreedy,
    Event,
    Evidence,
    LogNormal,
    Normal,
    Normals,
    Number,
    Policy,
    Space,
    Time,
    TSCheck,
    TSObs,
    TwoStage,
    Uniform,
    UnsuitableError,
    World,
    simulate,
)
from takeup.conjugates import NormalGamma
from takeup.outcomes import Outcome
from takeup.policies.registry import registered
from takeup.simulation.kernels import choice, cpu, driver, normals, observed_numbers, proposed_numbers
from takeup.simulation.kernels.compile_cpu import build
from takeup.simulation.kernels.layout import Layout
from takeup.simulation.kernels.streams import PATIENT, words
from takeup.simulation.kernels.students import exp_minus_one, student
from takeup.simulation.kernels.tables import Observation, Replication, State
from takeup.simulation.run import plan

LEVEL = 1e-6
DRAWS = 100_000

PRESSURE = Number(60, 220, 0.5, better="lower")
COMPLIANCE = np.array([[[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9], [0.4, 0.6]]])
TRUTH = Environment.from_world(
    World(COMPLIANCE, Normals(np.array([[130, 140], [150, 125]]), np.array([[8, 15], [20, 5]])), PRESSURE),
    context=[0.4, 0.6],
    space=Space(3, 2, contexts=2, outcomes=PRESSURE, intended=[0, 1, 1]),
)
PRIOR = Normal(mean=[[120.0], [135.0]], sd=[[12.0], [30.0]], weight=0.4, freedom=[[2.5], [7.0]])
POLICIES = [TS(), TS(likelihood=PRIOR), TSCheck(), TSObs(), TSObs(likelihood=PRIOR, beta=[0.4, 1.5])]


def named(policy: Policy[Any]) -> str:
    return f"{policy.name}{' with a prior' if getattr(policy, 'likelihood', None) else ''}"


@pytest.mark.parametrize("outcome", [Number(0, 10), Count(10), Time(10)], ids=lambda outcome: outcome.kind)
def test_a_kernel_is_taken_for_the_outcomes_that_it_names_alone(outcome: Outcome) -> None:
    space = Space(3, contexts=["0", "1", "2"], outcomes=outcome)
    taken = set()
    for policy in registered():
        try:
            taken.add(choice.choose(policy, space).__name__.rpartition(".")[2])
        except UnsuitableError:
            continue
    of_numbers = {"proposed_numbers", "observed_numbers", "bandits_numbers", "two_stage"}
    assert taken == {"uniform"} | (of_numbers if outcome.kind == "number" else set())


@pytest.mark.parametrize(
    ("policy", "number"),
    [
        (TS(), Number(0, 10, utility=((0, 0), (10, 1)))),
        (TSObs(likelihood=LogNormal()), Number(1, 10, scale="log")),
        (TS(likelihood=Bootstrap()), Number(0, 10)),
    ],
    ids=["utility", "log", "bootstrap"],
)
def test_what_the_kernels_cannot_do_runs_on_the_reference(policy: Policy[Any], number: Number) -> None:
    truth = Environment.from_world(World(np.eye(2), Normals(np.array([4.0, 6.0]), np.ones(2)), number))
    assert simulate(truth, policy, 3, 2).setup.engines == ("reference",)
    with pytest.raises(UnsuitableError, match=r"no kernel.*outcome is a number.*reference"):
        simulate(truth, policy, 3, 2, engine="cpu")


def test_numbers_run_on_kernels_by_themselves() -> None:
    assert plan(TRUTH, [TS(), TSCheck(), TSObs(), Uniform(), UCBITT(), UCBAT()], 3).setup.engines == ("cpu",) * 6


def test_responses_have_their_probabilities() -> None:
    """A response is one of 642, and a decision one of 3,852: bin by bin they come up as often as they should."""
    result = run_cpu([TRUTH], Uniform(), 1000, range(200), full=True)
    assert result.decisions.dtype == np.uint16
    counts = np.bincount(result.decisions.ravel(), minlength=TRUTH.response.size).reshape(TRUTH.response.shape)
    for x, z in np.ndindex(2, 3):
        expected = counts[x, z].sum() * TRUTH.response[x, z].ravel()
        assert (counts[x, z].ravel()[expected == 0] == 0).all()
        bins = (np.cumsum(expected) / expected.sum() * 60).astype(int).clip(0, 59)
        seen, hoped = np.bincount(bins, counts[x, z].ravel()), np.bincount(bins, expected)
        assert stats.chisquare(seen[hoped > 0], hoped[hoped > 0]).pvalue > LEVEL


def test_decisions_of_a_large_space_are_kept_whole() -> None:
    """There are 2 x 2 x 50,001 cells, which 16 bits would not number."""
    means, sd = np.array([100.0, 49_900.0]), np.array([9.0, 9.0])
    truth = Environment.from_world(World(np.eye(2), Normals(means, sd), Number(0, 50_000)))
    compiled = run_cpu([truth], Uniform(), 40, range(40), full=True)
    lanes = interpreted(laid_out([truth], TS(), 20, full=True), range(40), "lanes")
    for result in (compiled, lanes):
        assert result.decisions.dtype == np.uint32
        _, z, a, y = np.unravel_index(result.decisions.astype(np.int64), truth.space.shape)
        np.testing.assert_array_equal(z, a)
        assert (np.abs(y - means[a]) < 60).all()
        assert set(a.ravel()) == {0, 1}


def _students(out: NDArray[np.float64], rate: np.float32) -> None:
    for i in range(out.size):
        w = words((np.uint32(1), np.uint32(2), np.uint32(i), np.uint32(3)), PATIENT, 0)
        out[i] = student(rate, w[0], w[1])


@pytest.mark.parametrize("freedom", [1, 3, 3.7, 40, 20_000])
def test_students(freedom: float) -> None:
    """A draw times sqrt(ν) is of Student's t distribution, in its tails too: its size is held on a log scale."""
    t = np.zeros(DRAWS)
    build(_students, {}, {})(t, np.float32(2 / freedom))
    assert np.isfinite(t).all()
    t *= np.sqrt(freedom)
    assert stats.kstest(t, stats.t(freedom).cdf).pvalue > LEVEL
    far = np.sort(np.abs(t))[-1000:]
    tail = stats.t(freedom).sf(far) / stats.t(freedom).sf(far[0])
    assert stats.kstest(tail[1:], "uniform").pvalue > LEVEL


def _lengths(out: NDArray[np.float64], word: NDArray[np.uint32], rate: np.float32) -> None:
    for i in range(out.size):
        out[i] = student(rate, word[i], np.uint32(0))


@pytest.mark.parametrize("freedom", [1, 3, 20_000])
def test_the_length_of_a_draw_is_that_of_the_polar_method(freedom: float) -> None:
    """At an angle of zero a draw is sqrt(u^(-2 / ν) - 1), from the least u of 31 bits to nearly one."""
    u = np.append(np.geomspace(1, 2.0**31 * 0.999, 10_000).astype(np.int64) | 1, 1)
    out, rate = np.zeros(u.size), np.float32(2 / freedom)
    build(_lengths, {}, {})(out, (2 * u).astype(np.uint32), rate)
    exact = np.sqrt(np.expm1(-np.float64(rate) * np.log(u / 2.0**31)))
    np.testing.assert_allclose(out, exact, rtol=2e-5)


def _grown(out: NDArray[np.float32], y: NDArray[np.float32]) -> None:
    for i in range(out.size):
        out[i] = exp_minus_one(y[i])


def test_exp_minus_one() -> None:
    """Within 4 units in the last place, from the least that there can be to the greatest."""
    y = np.geomspace(1e-12, 86, 20_001, dtype=np.float32)
    out = np.zeros_like(y)
    build(_grown, {}, {})(out, y)
    exact = np.expm1(y.astype(np.float64))
    assert (np.abs(out / exact - 1) < 4 * np.finfo(np.float32).eps / 2).all()


def kept(layout: Layout, state: State) -> NormalGamma:
    """What the state says of the arms, as a block in the units of the outcome."""
    arms, of_proposals = layout.given.parameters.arms, layout.kernel is proposed_numbers
    contexts, proposals, actions, _ = layout.given.shape
    count = proposals if of_proposals else actions
    slots = layout.state[0]
    first = np.arange(contexts)[:, None] * (slots // contexts) + normals.SLOTS * np.arange(count)
    seen, mean, square = state.counts[first, 0], state.real[first, 0], state.real[first + 1, 0]
    weight, freedom = (prior.reshape(first.shape) + seen for prior in (arms.weight, arms.freedom))
    number = TRUTH.space.outcome
    assert isinstance(number, Number)
    np.testing.assert_allclose(state.real[slots + first, 0], np.sqrt(square / weight), rtol=1e-14)
    np.testing.assert_allclose(state.real[slots + first + 1, 0], 2 / freedom, rtol=1e-14)
    centre = number.low + number.step * arms.sign * mean
    return NormalGamma(centre, weight, freedom, square / freedom * number.step**2, number)


def same(one: NormalGamma, two: NormalGamma) -> None:
    for name in ("centre", "weight", "freedom", "square"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-11, err_msg=name)


@pytest.mark.parametrize("policy", POLICIES, ids=named)
def test_the_state_is_the_posterior(policy: Any) -> None:
    """A replication leaves what prior and evidence of its decisions make, in closed form; that of TS-Obs in Python."""
    layout = laid_out([TRUTH], policy, 400, full=True)
    memory, output = layout.memory(1), layout.output(1)
    compiled = policy.name != "TS-Obs"  # which test_kernels_agree.py compiles
    entry = build(driver.replicate_many, layout.bind, layout.switches) if compiled else kernel_runs.code(layout)
    with np.errstate(over="ignore"):
        entry(Replication(0, 0, 7), 1, layout.given, memory, output)
    decisions = np.array(np.unravel_index(output.decisions[0, 0].astype(np.int64), TRUTH.space.shape)).T
    evidence = Evidence.of(TRUTH.space, (Event(*map(int, each)) for each in decisions))
    posterior = policy.posterior(evidence, np.random.default_rng(0))
    same(kept(layout, State(memory.counts, memory.real, 0)), posterior.block)


@pytest.mark.parametrize("policy", POLICIES, ids=named)
def test_what_is_unseen_is_left_out_and_what_comes_late_is_added(policy: Any) -> None:
    """By the plain functions, decision by decision, in Python; compliance of TS-Obs included."""
    layout, rng = laid_out([TRUTH], policy, 1), np.random.default_rng(3)
    kernel, shape, parameters = layout.kernel, layout.given.shape, layout.given.parameters
    counts, real, _ = layout.memory(1)
    state, evidence, waiting = State(counts, real, 0), [], []
    kernel.begin(state, shape, parameters)
    for _ in range(120):
        x, z, a, y = (int(rng.integers(n)) for n in shape)
        seen = a if rng.random() < 0.6 else UNSEEN
        late = rng.random() < 0.5
        kernel.learn(state, Observation(x, z, seen, UNSEEN if late else y), shape, parameters, None)
        if not late:
            evidence.append(Event(x, z, seen, y))
        elif rng.random() < 0.7:
            waiting.append(Event(x, z, seen, y))
        else:
            evidence.append(Event(x, z, seen))
    for event in waiting:
        cell = Observation(event.context, event.proposal, event.implemented, event.outcome)
        kernel.reveal(state, cell, shape, parameters, None)
    posterior = policy.posterior(Evidence.of(TRUTH.space, evidence + waiting), rng)
    same(kept(layout, state), posterior.block)
    if kernel is observed_numbers:
        rows = parameters.prior + counts[: layout.state[0], 0]
        rows = rows.reshape(shape[0], -1)[:, shape[2] * normals.SLOTS :].reshape(posterior.compliance.shape)
        np.testing.assert_array_equal(rows, posterior.compliance)


def test_far_from_zero_is_as_good_as_near() -> None:
    """The same outcomes, with 3 steps around 10 or around 100,010: means and draws differ by 100,000 and no more."""
    rng, far, grid = np.random.default_rng(5), 100_000, 200_000
    codes = rng.normal(10, 3, 20_000).round().astype(int).clip(0)
    states = []
    for shift in (0, far):
        policy = TS(likelihood=Normal(mean=10 + shift, sd=3))
        arms = normals.arms_of(policy.prior(Space(2, outcomes=Number(0, grid))).block)
        state = State(np.zeros((2, 1), np.int32), np.zeros((4, 1)), 0)
        normals.start_arm(state, 0, 2, 0, arms)
        for code in codes:
            normals.see_arm(state, 0, 2, 0, arms, code + shift)
        states.append(state)
    near, shifted = states
    np.testing.assert_allclose(shifted.real[0] - far, near.real[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(shifted.real[1:], near.real[1:], rtol=1e-9)
    sd = near.real[2, 0] / np.sqrt(codes.size)
    zero = np.uint32(0)
    for i in range(200):
        moment = (zero, zero, np.uint32(i), zero)
        one, two = (normals.drawn_mean(state, 0, 2, 0, moment, (zero,) * 4)[0] for state in states)
        assert abs(two - far - one) < 1e-5 * sd


def _proposals(out: NDArray[np.int64], state: State, shape: Any, parameters: Any) -> None:
    for i in range(out.size):
        moment = (np.uint32(4), np.uint32(5), np.uint32(i), np.uint32(6))
        out[i] = drawn_proposal(state, 1, shape, parameters, moment, np.uint32(0))


drawn_proposal = proposed_numbers.propose


def test_proposals_come_with_the_probabilities_of_the_quadrature() -> None:
    """Thompson sampling proposes z as often as it is best, which is an integral over Student's t."""
    policy = TS(likelihood=PRIOR)
    layout, rng = laid_out([TRUTH], policy, 1), np.random.default_rng(8)
    shape, parameters = layout.given.shape, layout.given.parameters
    counts, real, _ = layout.memory(1)
    state, events = State(counts, real, 0), []
    proposed_numbers.begin(state, shape, parameters)
    for z, many in enumerate((3, 9, 30)):
        for code in (130 + 2 * z + rng.normal(0, 20, many)).round().astype(int):
            events.append(Event(1, z, 0, int(code)))
            proposed_numbers.learn(state, Observation(1, z, 0, int(code)), shape, parameters, None)
    allocation = policy.allocation(Evidence.of(TRUTH.space, events), 1, rng)
    assert allocation.draws == 0  # exact
    assert allocation.probability.min() > 0.05
    out = np.zeros(DRAWS, np.int64)
    build(_proposals, {}, {})(out, state, shape, parameters)
    assert stats.chisquare(np.bincount(out, minlength=3), DRAWS * allocation.probability).pvalue > LEVEL


SCORES = Number(0, 4, utility=((0, 0), (2, 3), (4, 1)))
TYPES = Environment.from_types(
    Space(3, outcomes=SCORES),
    share=[0.4, 0.3, 0.3],
    response=[[0, 1, 2], [2, 2, 2], [1, 0, 1]],
    outcome=np.random.default_rng(4).dirichlet(np.ones(SCORES.size), (3, 3)),
)
"""Few numbers, so that arms tie all the time, worth what a utility says."""

HIGHEST: list[tuple[Environment, Policy[Any]]] = [
    (TRUTH, UCB1(exploration=0.1)),
    (TRUTH, UCBAT(exploration=0.02, optimism=1.5)),
    (TYPES, UCBITT(exploration=0.2)),
    (TYPES, UCBAT(exploration=0.2)),
    (TYPES, KLUCB()),
    (TYPES, BayesUCB(alpha=0.5)),
    (TYPES, EpsilonGreedy(epsilon=0)),
    (TYPES, TwoStage(rate=2.0, confidence=None)),
    (TYPES, TwoStage(schedule="adaptive", gamma=400.0, confidence=0.5)),
]


@pytest.mark.parametrize(("truth", "policy"), HIGHEST, ids=lambda case: getattr(case, "name", ""))
def test_every_proposal_is_one_that_the_policy_would_make(truth: Environment, policy: Any) -> None:
    """These leave nothing but ties to chance: after the same decisions the policy has the proposal among its best.

    In Python, but for those that look at numbers alone: two_stage.py is compiled for `test_engines.py`.
    """
    run = cpu.run if truth is TRUTH else interpreted
    result = run(laid_out([truth], policy, 120, full=True), range(2))
    chosen, ties = set(), 0
    for row in result.decisions[0]:
        evidence = Evidence.empty(truth.space)
        for x, z, a, y in zip(*np.unravel_index(row.astype(np.int64), truth.space.shape), strict=True):
            best = policy.allocation(evidence, int(x), np.random.default_rng(0)).probability
            assert best[z] > 0
            ties += best[z] < 1
            chosen.add(z)
            evidence = evidence.record(Event(int(x), int(z), int(a), int(y)))
    assert ties < 200  # of 240
    assert len(chosen) == 3
