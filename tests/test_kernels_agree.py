"""Every kernel against a naive twin that runs the policies themselves, in distribution.

The twin has the patients and draws of numpy, so that only distributions can agree: a Kolmogorov-Smirnov test of the
final regret, and a chi-square test of how the pulls of each (x, z) spread. Each is held at the level `LEVEL`; there are
fewer than 500 of them, so that all together would raise fewer than one false alarm in 10,000 choices of the seed.
"""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from kernel_runs import interpreted, laid_out, run_cpu
from takeup import (
    TS,
    UCBAT,
    UCBITT,
    UNSEEN,
    Environment,
    EpsilonGreedy,
    Event,
    Normal,
    Normals,
    Number,
    Policy,
    Reporting,
    Space,
    TSCheck,
    TSObs,
    TwoStage,
    Uniform,
    World,
)
from takeup.simulation.engine import Part
from takeup.simulation.kernels import cpu

LEVEL = 1e-4 / 500
REPLICATIONS = 2000
HORIZON = 60

IntArray = NDArray[np.int64]


def environment(name: str) -> Environment:
    rng = np.random.default_rng(7)

    def world(contexts: int, proposals: int, actions: int, levels: int, utility: list[float]) -> World:
        compliance = rng.dirichlet(np.full(actions, 0.4), (contexts, proposals))
        return World(compliance, rng.dirichlet(np.full(levels, 0.7), (contexts, actions)), np.array(utility))

    if name == "two":
        return Environment.from_world(World.bernoulli([[0.8, 0.2], [0.3, 0.7]], [0.3, 0.6]))
    if name == "two reversed":
        truth = World(np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.3, 0.7], [0.6, 0.4]]), np.array([1.0, -1.0]))
        return Environment.from_world(truth)
    if name == "two in contexts":
        return Environment.from_world(world(3, 2, 2, 2, [0, 1]), context=[0.5, 0.2, 0.3])
    if name == "four":
        return Environment.from_world(world(1, 4, 4, 2, [0, 1]))
    if name == "contexts":
        space = Space(5, 3, contexts=2, intended=[0, 1, 2, 2, 0])
        return Environment.from_world(world(2, 5, 3, 2, [0, 1]), context=[0.3, 0.7], space=space)
    if name.startswith("numbers"):
        return numbers(name, rng)
    space = Space(3, 4, outcomes=3, utility=[0.0, 2.0, 5.0], intended=[1, 2, 3])
    return Environment.from_world(world(1, 3, 4, 3, [0, 2, 5]), space=space)


def numbers(name: str, rng: np.random.Generator) -> Environment:
    """Four arms, or two far from zero; or lower ones are better, in two contexts, with fewer actions."""
    if name == "numbers":
        family = Normals(np.array([20.0, 21.0, 22.0, 23.0]), np.array([3.0, 2.0, 3.0, 4.0]))
        return Environment.from_world(World(np.full((4, 4), 0.05) + 0.8 * np.eye(4), family, Number(0, 40)))
    if name == "numbers far":
        family = Normals(np.array([100_020.0, 100_021.0]), np.array([3.0, 2.0]))
        return Environment.from_world(World([[0.8, 0.2], [0.1, 0.9]], family, Number(0, 100_040)))
    number, compliance = Number(60, 220, 0.5, better="lower"), rng.dirichlet(np.full(3, 0.4), (2, 5))
    space = Space(5, 3, contexts=2, outcomes=number, intended=[0, 1, 2, 2, 0])
    family = Normals(rng.normal(140, 10, (2, 3)), rng.uniform(5, 20, (2, 3)))
    return Environment.from_world(World(compliance, family, number), context=[0.3, 0.7], space=space)


def twin(truth: Environment, policy: Policy[Any], reporting: Reporting) -> tuple[NDArray[np.float64], IntArray]:
    """Final regret and pulls, decision by decision: all knowledge is in a table of counts, as `Evidence` keeps it."""
    rng, everyone = np.random.default_rng(11), np.arange(REPLICATIONS)
    state = policy.start(truth.space, (REPLICATIONS,))
    pulls = np.zeros((REPLICATIONS, *truth.regret().shape), dtype=np.int64)
    news: list[tuple[int, Event, Event | None]] = []  # when it is known, what, and what it was known as before
    for t in range(HORIZON):
        if t % reporting.batch == 0:
            for _, event, before in [item for item in news if item[0] <= t]:
                state = state.record(event) if before is None else state.move(before, event)
            news = [item for item in news if item[0] > t]
        x = truth.meet(rng.random(REPLICATIONS))
        z = policy.propose(state, x, rng)
        a, y = truth.respond(x, z, rng.random(REPLICATIONS))
        seen = np.where(rng.random(REPLICATIONS) < reporting.compliance, a, UNSEEN)
        if reporting.delay:
            news.append((t + 1, Event(x, z, seen), None))
            news.append((t + 1 + reporting.delay, Event(x, z, seen, y), Event(x, z, seen)))
        else:
            news.append((t + 1, Event(x, z, seen, y), None))
        pulls[everyone, x, z] += 1
    return np.einsum("rxz,xz->r", pulls, truth.regret()), pulls


def spread(one: IntArray, two: IntArray) -> float:
    """The p-value of the chi-square test that two samples of counts fall alike between their common quintiles."""
    edges = np.unique(np.quantile(np.concatenate([one, two]), [0.2, 0.4, 0.6, 0.8]))
    table = np.array([np.bincount(np.searchsorted(edges, sample), minlength=edges.size + 1) for sample in (one, two)])
    table = table[:, table.sum(axis=0) > 0]
    return float(stats.chi2_contingency(table).pvalue) if table.shape[1] > 1 else 1.0


ALL, SOME = Reporting(), Reporting(compliance=0.6)
LATE, BATCHED = Reporting(delay=5), Reporting(batch=4)
EVERYTHING = Reporting(compliance=0.7, delay=3, batch=4)
ALPHA, BETA = np.array([[2.0, 1.0], [1.5, 3.0], [1.0, 1.0], [4.0, 2.0]]), np.array([1.0, 2.5, 1.0, 1.2])

CASES: list[tuple[str, Policy[Any], Reporting]] = [
    ("contexts", Uniform(), ALL),
    ("four", TS(), ALL),
    ("contexts", TS(alpha=0.3), EVERYTHING),
    ("levels", TSCheck(), EVERYTHING),
    ("contexts", TSObs(), SOME),
    ("two", TS(), ALL),
    ("two reversed", TSCheck(), SOME),
    ("two reversed", TSObs(alpha=[0.7, 2.0], beta=[1.5, 0.5]), SOME),
    ("two in contexts", TSObs(alpha=[0.7, 2.0], beta=[1.5, 0.5]), EVERYTHING),
    ("numbers", TS(), ALL),
    ("numbers in contexts", TSObs(), EVERYTHING),
]


MORE: list[tuple[str, Policy[Any], Reporting]] = [
    ("four", TS(alpha=ALPHA), ALL),
    ("levels", TS(alpha=[0.5, 1.0, 0.3]), ALL),
    ("contexts", TS(), LATE),
    ("contexts", TSCheck(), SOME),
    ("contexts", TSObs(), LATE),
    ("levels", TSObs(), BATCHED),
    ("levels", TSObs(), ALL),
    ("two", TS(alpha=[2.5, 0.6]), ALL),
    ("two in contexts", TSCheck(), ALL),
    ("numbers far", TSObs(likelihood=Normal(mean=100_020.0, sd=4.0)), SOME),
    ("numbers in contexts", UCBAT(exploration=0.05), SOME),
    ("numbers", TS(likelihood=Normal(mean=[25.0, 20.0, 20.0, 15.0], sd=4.0, weight=2.0, freedom=1.0)), ALL),
    ("numbers in contexts", Uniform(), ALL),
    ("numbers in contexts", TSCheck(), SOME),
    ("numbers", TSObs(), ALL),
    ("numbers in contexts", TSObs(beta=[0.4, 1.5, 0.3]), LATE),
    ("numbers", UCBITT(exploration=0.05, optimism=0.5), BATCHED),
    ("numbers in contexts", UCBAT(exploration=0.05), EVERYTHING),
    ("numbers in contexts", EpsilonGreedy(epsilon=1.0, decay="logarithmic"), EVERYTHING),
    ("numbers far", EpsilonGreedy(epsilon=2.0, decay="harmonic", optimism=0.1), ALL),
    ("numbers", TwoStage(schedule="decay", rate=1.0, confidence=None), SOME),
    ("numbers far", TwoStage(schedule="adaptive", gamma=100.0, psi=4.0, confidence=0.5), EVERYTHING),
    ("contexts", TS(), ALL),
    ("levels", TS(), ALL),
    ("two in contexts", TSObs(), EVERYTHING),
    ("four", TSObs(alpha=ALPHA, beta=BETA), ALL),
    ("levels", TSObs(alpha=0.4, beta=0.2), SOME),
    ("contexts", TSObs(), EVERYTHING),
    ("two reversed", TS(), ALL),
    ("two in contexts", TS(), EVERYTHING),
    ("two", TSObs(), ALL),
    ("numbers far", TS(likelihood=Normal(mean=100_020.0, sd=4.0)), ALL),
    ("numbers in contexts", TS(), EVERYTHING),
]
"""More of the same, which take longer than they are worth every time."""


DRAWN = [
    pytest.param(*case, recurrence, marks=() if kept else pytest.mark.long)
    for cases, quick in ((CASES, True), (MORE, False))
    for case in cases
    for recurrence in ((True, False) if case[0].startswith("two") else (True,))
    for kept in [quick and (recurrence or case[0] == "two in contexts")]
]
"""Two arms with the recurrences that stand in for draws, and without: draws are held every time by the other cases."""


@pytest.mark.requirement("R-1.6")
@pytest.mark.parametrize(
    ("name", "policy", "reporting", "recurrence"), DRAWN, ids=lambda case: getattr(case, "name", str(case))
)
def test_the_kernel_agrees_with_the_policy(
    name: str, policy: Policy[Any], reporting: Reporting, recurrence: bool
) -> None:
    truth = environment(name)
    regret, pulls = twin(truth, policy, reporting)
    result = run_cpu([truth], policy, HORIZON, range(REPLICATIONS), 3, reporting=reporting, recurrence=recurrence)
    assert (result.pulls.sum(axis=(2, 3)) == HORIZON).all()
    assert stats.ks_2samp(result.regret[0, :, -1], regret).pvalue > LEVEL
    for x, z in np.ndindex(*truth.regret().shape):
        assert spread(result.pulls[0, :, x, z], pulls[:, x, z]) > LEVEL, (x, z)


def same(one: Part, other: Part) -> None:
    np.testing.assert_array_equal(one.pulls, other.pulls)
    np.testing.assert_array_equal(one.regret, other.regret)


FORMS = [
    (name, policy, recurrence)
    for name in ("two", "two reversed", "four", "contexts", "numbers", "numbers in contexts")
    for policy in (TS(), TSCheck(), TSObs())
    for recurrence in ((True, False) if name.startswith("two") else (True,))
]
COMPILED = {("contexts", "TS-Obs"), ("four", "TS"), ("two", "TS"), ("two reversed", "TS-Obs"), ("numbers", "TS")}
"""Whose lanes are compiled for the test above; those of others would take up to ten seconds each."""


@pytest.mark.parametrize(("name", "policy", "recurrence"), FORMS, ids=lambda case: getattr(case, "name", str(case)))
def test_lanes_and_scalars_give_the_same_numbers(name: str, policy: Policy[Any], recurrence: bool) -> None:
    """In Python, which compiles neither; and the machine code of lanes gives those numbers too."""
    layout = laid_out([environment(name)], policy, 20, 1, reporting=SOME, recurrence=recurrence)
    built = recurrence and (name, policy.name) in COMPILED
    replications = range(5, 43 if built else 17)
    plain = interpreted(layout, replications)
    same(interpreted(layout, replications, "lanes"), plain)
    if built:
        same(cpu.run(layout, replications, form="lanes"), plain)


@pytest.mark.parametrize(
    ("name", "policy", "recurrence"),
    [
        pytest.param(
            name,
            policy,
            recurrence,
            marks=() if recurrence and name == "two" and policy.name != "TS-Check" else pytest.mark.long,
        )
        for name, policy, recurrence in FORMS
    ],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_machine_code_of_lanes_and_scalars_gives_the_same_numbers(
    name: str, policy: Policy[Any], recurrence: bool
) -> None:
    lanes, plain = (
        run_cpu([environment(name)], policy, 300, range(5, 75), 1, reporting=SOME, form=form, recurrence=recurrence)
        for form in ("lanes", "plain")
    )
    same(lanes, plain)


@pytest.mark.parametrize(("policy", "arms"), [(TS(), 40), (TSCheck(), 33), (TSObs(), 11)])
def test_lanes_that_draw_more_than_a_stock_give_the_numbers_of_scalars(policy: Policy[Any], arms: int) -> None:
    """TS with 40 arms draws 40 pairs of gammas, TS-Obs with 11 draws 11 + 11 * 6, and 32 are drawn at a time."""
    rng, actions = np.random.default_rng(8), arms if policy.name == "TS-Obs" else 3
    space = Space(arms, actions, intended=[z % actions for z in range(arms)])
    world = World.bernoulli(rng.dirichlet(np.ones(actions), arms), rng.random(actions))
    layout = laid_out([Environment.from_world(world, space=space)], policy, 8, 1, reporting=SOME)
    same(cpu.run(layout, range(12), form="lanes"), interpreted(layout, range(12)))


@pytest.mark.long
def test_with_perfect_compliance_ts_and_ts_check_decide_alike() -> None:
    truth = Environment.from_world(World.bernoulli(np.eye(4), [0.2, 0.4, 0.5, 0.6]))
    one, two = (run_cpu([truth], policy, 200, range(40), full=True) for policy in (TS(), TSCheck()))
    np.testing.assert_array_equal(one.decisions, two.decisions)
