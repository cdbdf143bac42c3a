"""Bandits that see arms alone: which arm gets the reward, and what each of them plays, by hand and by closed forms."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import betaincinv, rel_entr

from takeup import (
    EXP3,
    KLUCB,
    TS,
    UCB1,
    UCBAT,
    UNSEEN,
    BayesUCB,
    EpsilonGreedy,
    Event,
    Evidence,
    Hierarchical,
    InputError,
    Policy,
    Protocol,
    Space,
    ThompsonBounded,
    TopTwo,
    TSCheck,
    UnsuitableError,
    stream,
)
from takeup.policies.arms import CREDITS, Credit, Tally, credited, shares
from takeup.simulation.kernels.indices import bayes_ucb, beta_quantile, incomplete_beta, kl_ucb, ucb1

SPACE = Space(["a", "b", "c"], ["x", "y"], contexts=2, outcomes=3, utility=[-1, 0, 3], intended=["x", "y", "y"])


def some_events(space: Space, many: int, seed: int) -> list[Event]:
    rng = stream(seed)
    contexts, proposals, actions, levels = space.shape
    return [
        Event(
            int(rng.integers(contexts)),
            int(rng.integers(proposals)),
            int(rng.integers(UNSEEN, actions)),
            int(rng.integers(UNSEEN, levels)),
        )
        for _ in range(many)
    ]


def pulled(successes: list[int], failures: list[int]) -> Evidence:
    """Evidence in which everyone complied."""
    space = Space(len(successes))
    counts = np.zeros_like(Evidence.empty(space).counts)
    for z, (s, f) in enumerate(zip(successes, failures, strict=True)):
        counts[0, z, z, :2] = f, s
    return Evidence(space, counts)


@pytest.mark.parametrize("credit", CREDITS)
def test_the_credit_of_evidence_is_that_of_its_events(credit: Credit) -> None:
    """Summed over 200 events, one by one, whatever was seen of them."""
    events = some_events(SPACE, 200, 1)
    expected = np.zeros((2, 3, 3))
    for e in events:
        if e.outcome != UNSEEN:
            expected[e.context, :, e.outcome] += shares(SPACE, credit, e)
    np.testing.assert_array_equal(credited(Evidence.of(SPACE, events), credit), expected)


@pytest.mark.parametrize("credit", CREDITS)
def test_a_tally_of_counts_is_the_credited_evidence_however_reports_come(credit: Credit) -> None:
    """Each decision is first learnt as pending and then moved, in one go or in two."""
    tally = Tally(TS(), credit, SPACE, TS().blank(SPACE))
    events = some_events(SPACE, 100, 2)
    for i, e in enumerate(events):
        first = Event(e.context, e.proposal)
        between = Event(e.context, e.proposal, UNSEEN, e.outcome) if i % 2 else first
        tally = tally.record(first).move(first, between).move(between, e)
    np.testing.assert_array_equal(tally.table, credited(Evidence.of(SPACE, events), credit))


def test_protocols_around_ts_are_ts_and_ts_check() -> None:
    evidence = Evidence.of(Space(3), some_events(Space(3), 60, 3))
    for credit, twin in (("chosen", TS()), ("comply", TSCheck())):
        ours = Protocol(base=TS(), credit=credit).allocation(evidence, 0, stream(0))  # type: ignore[arg-type]  # as a user may
        np.testing.assert_array_equal(ours.probability, twin.allocation(evidence, 0, stream(0)).probability)


def test_ucb1_by_hand() -> None:
    """8 of 10 and 3 of 4: 0.8 + sqrt(2 log 14 / 10) = 1.526 and 0.75 + sqrt(2 log 14 / 4) = 1.899."""
    evidence = pulled([8, 3], [2, 1])
    scores = UCB1().scores(credited(evidence, "chosen"), evidence.space, 0)
    np.testing.assert_allclose(scores, [0.8 + np.sqrt(2 * np.log(14) / 10), 0.75 + np.sqrt(2 * np.log(14) / 4)])
    np.testing.assert_array_equal(UCB1().allocation(evidence, 0, stream(0)).probability, [0, 1])
    np.testing.assert_array_equal(UCB1(exploration=1e-9).allocation(evidence, 0, stream(0)).probability, [1, 0])


def test_ucb_as_treated_credits_what_was_done() -> None:
    """Proposal 0 did well only among those who took action 1: as treated, action 1 has the better mean."""
    evidence = Evidence.of(Space(2), [Event(0, 0, 1, 1)] * 9 + [Event(0, 0, 0, 0)] * 9 + [Event(0, 1, 1, 0)] * 2)
    narrow = 1e-9
    np.testing.assert_array_equal(UCB1(exploration=narrow).allocation(evidence, 0, stream(0)).probability, [1, 0])
    np.testing.assert_array_equal(UCBAT(exploration=narrow).allocation(evidence, 0, stream(0)).probability, [0, 1])


def test_imagined_pulls_are_optimistic() -> None:
    """One imagined success each: 1 of 2 and 1 of 1, so that the arm nobody pulled leads."""
    evidence = pulled([0, 0], [1, 0])
    greedy = EpsilonGreedy(epsilon=0, optimism=1.0)
    np.testing.assert_allclose(greedy.scores(credited(evidence, "chosen"), evidence.space, 0), [0.5, 1.0])


@pytest.mark.parametrize(("successes", "pulls", "time"), [(0, 3, 20), (7, 9, 30), (9, 9, 400), (250, 1000, 5000)])
def test_kl_ucb_solves_its_equation(successes: int, pulls: int, time: int) -> None:
    """Against scipy's root of n kl(m, q) = log t, and the kernel likewise, to 1e-8."""
    mean = successes / pulls

    def excess(q: float) -> float:
        return float(pulls * (rel_entr(mean, q) + rel_entr(1 - mean, 1 - q)) - np.log(time))

    expected = 1.0 if mean == 1 else brentq(excess, max(mean, 1e-12), 1 - 1e-15, xtol=1e-14)
    ours = KLUCB().score(np.array([mean]), np.array([float(pulls)]), np.array([float(time)]))
    np.testing.assert_allclose(ours, expected, atol=1e-8)
    np.testing.assert_allclose(kl_ucb(mean, float(pulls), float(time), 0.0), ours[0], atol=1e-9)


@pytest.mark.parametrize("shape", [(1.0, 1.0), (1.0, 40.0), (30.0, 2.5), (700.0, 300.0), (0.3, 0.2), (2e4, 5e5)])
@pytest.mark.parametrize("p", [1e-9, 1e-4, 0.2, 0.5, 0.97])
def test_the_kernels_beta_quantile_is_scipys(shape: tuple[float, float], p: float) -> None:
    expected = betaincinv(*shape, p)
    np.testing.assert_allclose(beta_quantile(p, *shape), expected, rtol=1e-8)
    np.testing.assert_allclose(incomplete_beta(*shape, expected), p, rtol=1e-6)


def test_bayes_ucb_is_a_quantile_and_arms_are_alike_at_first() -> None:
    ours = BayesUCB().score(np.array([0.7]), np.array([10.0]), np.array([21.0]))
    np.testing.assert_allclose(ours, betaincinv(8, 4, 1 - 1 / 21))
    np.testing.assert_allclose(bayes_ucb(0.7, 10.0, 21.0, 1.0), ours[0], rtol=1e-9)
    np.testing.assert_array_equal(BayesUCB().allocation(pulled([0, 0], [0, 0]), 0, stream(0)).probability, [0.5, 0.5])
    assert ucb1(0.0, 0.0, 1.0, 2.0) == np.inf


@pytest.mark.parametrize(
    ("policy", "rate"),
    [
        (EpsilonGreedy(epsilon=0.2), 0.2),
        (EpsilonGreedy(epsilon=2.0, decay="harmonic"), 2 * 2 / 16),
        (EpsilonGreedy(epsilon=1.5, decay="logarithmic"), 1.5 / np.log(16)),
        (EpsilonGreedy(epsilon=1.0, decay="logarithmic", optimism=1.0), 1 / np.log(18)),
    ],
)
def test_epsilon_greedy_explores_at_its_rate(policy: EpsilonGreedy, rate: float) -> None:
    """15 pulls, so t = 16, and 18 with two imagined ones; half of the exploration finds the best arm as well."""
    allocation = policy.allocation(pulled([8, 1], [2, 4]), 0, stream(0))
    np.testing.assert_allclose(allocation.probability, [1 - rate / 2, rate / 2])
    assert allocation.exact


def test_exp3_by_hand() -> None:
    """Equal weights: p = 1/2. A success of arm 0 adds η / p = 0.05 * 2 to its log weight; a failure adds nothing."""
    policy = EXP3(mixing=0.1)
    state = policy.start(Space(2))
    state = policy.learn(state, Event(0, 0, 0, 1), stream(0))
    state = policy.learn(state, Event(0, 1, 1, 0), stream(0))
    np.testing.assert_allclose(state.table, [[0.1, 0.0]])
    p = 0.9 / (1 + np.exp(-0.1)) + 0.05
    np.testing.assert_allclose(policy.probability(state.table, 0), [p, 1 - p])
    state = policy.learn(state, Event(0, 0, 1, 1), stream(0))
    np.testing.assert_allclose(state.table, [[0.1 + 0.05 / p, 0.0]])


def test_exp3_takes_rewards_from_zero_to_one() -> None:
    """Utilities -1, 0, 3 count as 0, 1/4 and 1."""
    policy = EXP3(mixing=0.0, rate=1.0)
    state = policy.start(SPACE)
    for y in range(3):
        state = policy.learn(state, Event(1, y, UNSEEN, y), stream(0))
    p = np.exp([0, 0.75, 0]) / (2 + np.exp(0.75))
    np.testing.assert_allclose(state.table, [[0, 0, 0], [0, 0.75, 1 / p[2]]])


def test_top_two_with_two_arms_is_exact() -> None:
    """TS proposes arm 0 with 2/3 after one success; the leader is kept with 0.7: 0.7 * 2/3 + 0.3 * 1/3 = 17/30."""
    allocation = TopTwo(leader=0.7).allocation(pulled([1, 0], [0, 0]), 0, stream(0))
    np.testing.assert_allclose(allocation.probability, [17 / 30, 13 / 30])
    assert allocation.exact


def test_top_two_challenges_in_proportion() -> None:
    """The challenger k of leader l comes up with p_k / (1 - p_l); within 4.5 standard errors, 1 in 150,000 each."""
    evidence = pulled([4, 2, 1], [2, 3, 3])
    p = TS().allocation(evidence, 0, stream(0)).probability
    expected = 0.5 * p + 0.5 * np.array([sum(p[j] * p[k] / (1 - p[j]) for j in range(3) if j != k) for k in range(3)])
    ours = TopTwo().allocation(evidence, 0, stream(1), draws=20_000)
    assert (abs(ours.probability - expected) < 4.5 * ours.standard_error).all()


def test_a_leader_that_is_always_kept_is_ts() -> None:
    evidence = pulled([4, 2], [2, 3])
    ours, twin = (policy.allocation(evidence, 0, stream(0)).probability for policy in (TopTwo(leader=1.0), TS()))
    np.testing.assert_allclose(ours, twin)


def test_top_two_keeps_challenging() -> None:
    """After 1,000 clear pulls TS has decided, and the leader still comes up only half of the time."""
    evidence = pulled([900, 100], [100, 900])
    np.testing.assert_allclose(TopTwo().allocation(evidence, 0, stream(0)).probability, [0.5, 0.5], atol=1e-9)


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: UCB1(exploration=0), "exploration"),
        (lambda: UCB1(optimism=-1), "optimism"),
        (lambda: KLUCB(constant=-1), "constant"),
        (lambda: BayesUCB(alpha=0), "alpha"),
        (lambda: EpsilonGreedy(epsilon=1.5), "epsilon"),
        (lambda: EpsilonGreedy(epsilon=-0.1), "epsilon"),
        (lambda: EpsilonGreedy(decay="fast"), "decay"),  # type: ignore[arg-type]  # as a user may
        (lambda: EXP3(mixing=2), "mixing"),
        (lambda: EXP3(mixing=0), "rate"),
        (lambda: EXP3(rate=0), "rate"),
        (lambda: TopTwo(leader=0), "leader"),
        (lambda: TopTwo(resamples=0), "resamples"),
        (lambda: Protocol(base=TSCheck()), "base"),
        (lambda: Protocol(credit="proposed"), "credit"),  # type: ignore[arg-type]  # as a user may
        (lambda: Hierarchical(base=Hierarchical()), "base"),  # type: ignore[arg-type]  # as a user may
        (lambda: ThompsonBounded(uncertified=TS()), "uncertified"),  # type: ignore[arg-type]  # as a user may
        (lambda: ThompsonBounded(weight="two"), "weight"),  # type: ignore[arg-type]  # as a user may
    ],
)
def test_bad_parameters_are_refused(make: Any, argument: str) -> None:
    with pytest.raises(InputError, match=f"{argument}: got"):
        make()


@pytest.mark.parametrize("policy", [Protocol(), UCBAT(), Hierarchical(), ThompsonBounded()], ids=lambda p: p.name)
def test_without_intended_actions_there_is_no_complying(policy: Policy[Any]) -> None:
    with pytest.raises(UnsuitableError, match="complying"):
        policy.start(Space(["a", "b"], ["x", "y", "w"]))


def test_a_protocol_that_depends_on_the_path_has_no_allocation() -> None:
    policy = Protocol(base=EXP3(), credit="actual")
    assert not policy.live
    with pytest.raises(UnsuitableError, match="path"):
        policy.allocation(pulled([1, 0], [0, 1]), 0, stream(0))
