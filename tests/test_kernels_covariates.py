"""Kernels for units with covariates: against the reference, against themselves, and against numpy.

In distribution each test is held at the level `LEVEL`; there are fewer than 100 of them, so that all together would
raise fewer than one false alarm in 10,000 choices of the seeds.
"""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from kernel_runs import interpreted
from takeup import (
    TS,
    UNSEEN,
    Category,
    CovariateEnvironment,
    Forgetting,
    LinTS,
    LinTSObs,
    LinUCB,
    Measure,
    Number,
    Policy,
    Prior,
    Reporting,
    Space,
    Uniform,
    simulate,
    stream,
)
from takeup.covariates import Profile
from takeup.errors import EngineError, UnsuitableError
from takeup.evidence import Event, Evidence
from takeup.policies.linear import around_middle, line, sums_here
from takeup.populations import Independent, Linear, Logit, Resampled, Table
from takeup.simulation.engine import Part
from takeup.simulation.kernels import cpu, linear, populations
from takeup.simulation.kernels.tables import Observation, State
from takeup.simulation.kernels.unit_layout import UnitLayout
from takeup.simulation.kernels.units import Unit, appraise, meet, places, respond
from takeup.simulation.kernels.vectors import exp_below
from takeup.simulation.run import EngineName, plan
from test_populations import ENVIRONMENTS, SPACE, population

LEVEL = 1e-4 / 100
LATE = Reporting(compliance=0.5, delay=3, batch=4)

WIDE = Space(
    3,
    4,
    outcomes=3,
    utility=[0.0, 2.0, 5.0],
    covariates={"age": Measure(0, 40), "site": Category(["a", "b", "c"]), "score": Measure(0, 5, missing="kept")},
    interactions=[("age", "site")],
    intended=[0, 1, 2],
)


def wide() -> CovariateEnvironment:
    """One context, covariates that interact, three levels of outcome: what runs side by side."""
    assert WIDE.covariates is not None
    rng, d = stream(5), WIDE.covariates.size
    compliance, outcome = Logit(rng.normal(size=(3, 4, d))), Logit(rng.normal(size=(4, 3, d)))
    return CovariateEnvironment(WIDE, Independent(WIDE.covariates, {"site": [0.5, 0.3, 0.2]}), compliance, outcome)


def numbers() -> CovariateEnvironment:
    """Blood pressures, lower ones being better, of two hidden types."""
    space = Space(2, outcomes=Number(60, 220, 2.0, better="lower"), covariates={"age": Measure(18, 98, 10)})
    assert space.covariates is not None
    coefficients = np.array([[[120.0, 60.0], [140.0, 20.0]], [[160.0, 0.0], [130.0, 10.0]]])[:, np.newaxis, np.newaxis]
    compliance = Table([[[[0.9, 0.1], [0.2, 0.8]]], [[[0.6, 0.4], [0.5, 0.5]]]])
    population = Independent(space.covariates, {})
    return CovariateEnvironment(space, population, compliance, Linear(coefficients, sd=12.0), [0.4, 0.6])


def resampled() -> CovariateEnvironment:
    """Forty units, drawn again and again, in two contexts and of two hidden types."""
    units = population().meet(stream(9).random((40, 3)))
    listed = Resampled(np.asarray(units.features), np.asarray(units.context))
    truth = ENVIRONMENTS["confounded"]
    return CovariateEnvironment(SPACE, listed, truth.compliance, truth.outcome, [[0.3, 0.7], [0.6, 0.4]])


WORLDS = {**ENVIRONMENTS, "wide": wide(), "numbers": numbers(), "resampled": resampled()}


def laid_out(
    environments: list[CovariateEnvironment], policy: Policy[Any], horizon: int, reporting: Reporting = Reporting()
) -> UnitLayout:
    setup = plan(environments, policy, horizon, 1, engine="cpu", reporting=reporting).setup
    return UnitLayout.of(setup, policy)


def same(one: Part, other: Part) -> None:
    np.testing.assert_array_equal(one.pulls, other.pulls)
    np.testing.assert_array_equal(one.regret, other.regret)


@pytest.mark.parametrize("name", WORLDS)
def test_units_are_met_valued_and_treated_as_by_the_environment(name: str) -> None:
    """Given who comes, the kernel's values and probabilities are the environment's, to 1e-12."""
    truth = WORLDS[name]
    shape, tables = truth.space.shape, populations.truths([truth], 1)
    cells, fates, values, worth = places(shape, tables)
    for step in range(20):
        room = np.zeros(worth + int(tables.outcome.groups.max()))
        met = meet(room, tables.population, 0, (np.uint32(1), np.uint32(2), np.uint32(3), np.uint32(step)))
        d = tables.population.features.shape[1]
        whole = room[(d + 3) // 4 * 4 :][:d].astype(np.int64)
        unit = Profile(int(met[0]), whole)
        np.testing.assert_array_equal(room[:d], whole / 1_000)
        expected = truth.value(unit)
        assert abs(appraise(room, shape, met, 0, tables) - expected.max()) < 1e-9
        np.testing.assert_allclose(room[values : values + shape[1]], expected, rtol=1e-9)
        if tables.share.shape[2] == 1:
            for z in range(shape[1]):
                respond(room, shape, met, 0, (z, np.uint32(0), np.uint32(0)), tables)
            took = np.broadcast_to(truth.compliance.probabilities(unit, truth.space, "compliance")[0], shape[1:3])
            np.testing.assert_allclose(room[cells : cells + shape[1] * shape[2]].reshape(shape[1:3]), took, rtol=1e-9)
    assert fates > cells


def test_exponentials() -> None:
    x = np.linspace(-86, 0, 997)
    np.testing.assert_allclose([exp_below(each) for each in x], np.exp(x), rtol=1e-15 * 8)
    assert exp_below(-1e9) < 1e-37


@pytest.mark.parametrize("policy", [LinTS(), LinTS(ridge=0.01, noise=0.3), LinUCB(ridge=2.0)], ids=lambda p: p.name)
def test_what_is_learnt_is_what_the_reference_learns(policy: Any) -> None:
    """B^-1 and m to 1e-9 and what is left of the squares to 1e-9, after 300 outcomes, from a pilot on, some late."""
    space, rng = SPACE, stream(3)
    units = population().meet(rng.random((400, 3)))
    z, y = rng.integers(2, size=400), rng.integers(2, size=400)
    features, contexts = np.asarray(units.features), np.asarray(units.context)
    pilot = Evidence.empty(space)
    for i in range(100):
        pilot = pilot.record(Event(int(contexts[i]), int(z[i]), 0, int(y[i]), features=features[i]))
    if isinstance(policy, LinTS):
        policy = policy.informed(Prior(pilot, discount=0.5))
    evidence, given = Evidence.empty(space), linear.parameters(policy, space)
    counts, reals = linear.size(policy, space)
    state = State(np.zeros((counts + 1, 1), dtype=np.int32), np.zeros(reals), 0)
    linear.begin(state, space.shape, given)
    for i in range(100, 400):
        room = np.zeros(8)
        room[:4], room[4:] = features[i] / 1_000, features[i]
        seen = int(y[i]) if i % 7 else UNSEEN
        linear.learn(state, Observation(Unit(contexts[i], room), z[i], UNSEEN, seen), space.shape, given, None)
        evidence = evidence.record(Event(int(contexts[i]), int(z[i]), UNSEEN, seen, features=features[i]))
    d, noise = 4, 1.0 if isinstance(policy, LinUCB) else policy.noise
    row, column = np.triu_indices(d)
    pilot_sums = None if isinstance(policy, LinUCB) else np.asarray(policy.pilot)
    for x in range(2):
        sums = around_middle(sums_here(evidence, Profile(x, ()), "proposal", pilot_sums))
        after = line(policy.ridge, noise, sums.cross.shape).plus(sums)
        for arm in range(2):
            at = linear.first_arm(d, 2) + (2 * x + arm) * linear.width(d)
            inverse = np.linalg.inv(after.precision[arm])
            np.testing.assert_allclose(state.real[at : at + 10], inverse[row, column], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(state.real[at + 10 : at + 14], after.mean[arm], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(state.real[at + 14], sums.count[arm], rtol=1e-12)
            if noise is None:
                left = after.square[arm] * after.freedom[arm]
                np.testing.assert_allclose(state.real[at + 15], left, rtol=1e-9)


FORMS = pytest.mark.parametrize("policy", [LinTS(), LinTS(noise=0.3), LinUCB()], ids=["LinTS", "known noise", "LinUCB"])


@FORMS
def test_lanes_and_scalars_give_the_same_numbers_in_python(policy: Any) -> None:
    """And the machine code of the lanes of LinTS, which the next tests have too, gives them."""
    layout = laid_out([wide()], policy, 20)
    plain = interpreted(layout, range(5, 25))
    same(interpreted(layout, range(5, 25), "lanes"), plain)
    if policy.name == "LinTS" and policy.noise is None:
        same(cpu.run(layout, range(5, 25), form="lanes"), plain)


@pytest.mark.long
@FORMS
def test_lanes_and_scalars_give_the_same_numbers(policy: Any) -> None:
    layout = laid_out([wide()], policy, 60)
    assert layout.lanes() is not None
    same(cpu.run(layout, range(5, 75), form="lanes"), cpu.run(layout, range(5, 75), form="plain"))


@pytest.mark.parametrize(
    ("name", "reporting"), [("wide", Reporting()), pytest.param("confounded", LATE, marks=pytest.mark.long)]
)
def test_threads_blocks_ranges_and_company_change_nothing(name: str, reporting: Reporting) -> None:
    alone, company = laid_out([WORLDS[name]], LinTS(), 40, reporting), WORLDS[name]
    whole = cpu.run(alone, range(100), threads=1)
    same(whole, cpu.run(alone, range(100), threads=3, block=7))
    part = cpu.run(alone, range(37, 80))
    np.testing.assert_array_equal(part.regret, whole.regret[:, 37:80])
    certain = Table(np.eye(len(company.space.reward))[0])
    other = CovariateEnvironment(company.space, company.population, company.compliance, certain, company.share)
    both = cpu.run(laid_out([other, company], LinTS(), 40, reporting), range(100))
    np.testing.assert_array_equal(both.regret[1], whole.regret[0])
    assert (whole.pulls.sum(axis=(2, 3)) == 40).all()


CASES: list[tuple[str, Policy[Any], Reporting]] = [
    ("wide", LinTS(), Reporting()),
]
IN_PYTHON: list[tuple[str, Policy[Any], Reporting]] = [
    ("numbers", LinTS(), Reporting()),
    ("resampled", LinTS(), LATE),
    ("by context and proposal", LinUCB(), Reporting()),
    ("linear", TS(), LATE),
]
"""Those of builds of which no other test and no snippet of the documentation has need."""
MORE: list[tuple[str, Policy[Any], Reporting]] = [
    ("wide", LinUCB(), Reporting()),
    ("resampled", LinTS(), Reporting()),
    ("logit", LinTS(noise=0.4, ridge=0.1), Reporting()),
    ("linear", LinTS(noise=0.4), LATE),
    ("numbers", LinUCB(), LATE),
    ("resampled", LinUCB(), LATE),
    ("confounded", LinTS(), LATE),
]
"""More of the same, which take longer than they are worth every time."""


@pytest.mark.parametrize(
    ("name", "policy", "reporting"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in (*IN_PYTHON, *MORE))],
    ids=lambda case: getattr(case, "name", str(case)),
)
def test_the_kernel_agrees_with_the_reference(name: str, policy: Any, reporting: Reporting) -> None:
    """Regret by Kolmogorov and Smirnov, half-way and at the end; the pulls of each proposal likewise."""
    runs: list[tuple[EngineName, int, int]] = [("cpu", 4_000, 1), ("reference", 1_000, 2)]
    ours, theirs = (
        simulate(
            WORLDS[name], policy, 60, many, seed, engine=engine, reporting=reporting, record="curve", steps=[30, 60]
        )
        for engine, many, seed in runs
    )
    assert (ours.setup.engines, theirs.setup.engines) == (("cpu",), ("reference",))
    for at in range(2):
        assert stats.ks_2samp(ours.regret[0, 0, :, at], theirs.regret[0, 0, :, at]).pvalue > LEVEL
    for z in range(ours.pulls.shape[-1]):
        assert stats.ks_2samp(*(each.pulls[0, 0, :, :, z].sum(axis=-1) for each in (ours, theirs))).pvalue > LEVEL


@pytest.mark.parametrize(("name", "policy", "reporting"), IN_PYTHON, ids=lambda case: getattr(case, "name", str(case)))
def test_the_kernel_in_python_agrees_with_the_reference(name: str, policy: Any, reporting: Reporting) -> None:
    """Likewise with 40 runs, which see what is far off, and compile nothing."""
    ours = interpreted(laid_out([WORLDS[name]], policy, 60, reporting), range(40))
    theirs = simulate(WORLDS[name], policy, 60, 1_000, 2, engine="reference", reporting=reporting)
    assert stats.ks_2samp(ours.regret[0, :, -1], theirs.regret[0, 0, :, -1]).pvalue > LEVEL
    for z in range(ours.pulls.shape[-1]):
        pulls = ours.pulls[0, :, :, z].sum(axis=-1), theirs.pulls[0, 0, :, :, z].sum(axis=-1)
        assert stats.ks_2samp(*pulls).pvalue > LEVEL


def test_policies_meet_the_same_units() -> None:
    """Proposals that make no difference leave the regret to who comes: none, and outcomes to the same units."""
    truth = wide()
    trace = simulate(truth, {"one": LinTS(), "other": LinTS(), "third": LinTS(ridge=9.0)}, 30, 64, engine="cpu")
    assert trace.setup.engines == ("cpu", "cpu", "cpu")
    np.testing.assert_array_equal(trace.final("one"), trace.final("other"))
    assert not np.array_equal(trace.final("one"), trace.final("third"))


def test_what_runs_on_kernels_and_what_does_not() -> None:
    truth = ENVIRONMENTS["logit"]
    policies: dict[str, Any] = {"LinTS": LinTS(), "TS": TS(), "obs": LinTSObs(), "small": LinTS(ridge=1e-4)}
    policies["forgetting"] = Forgetting(base=LinTS(), half_life=10, epoch=5)
    found = dict(zip(policies, plan(truth, policies, 5).setup.engines, strict=True))
    assert found == {"LinTS": "cpu", "TS": "cpu", "obs": "reference", "small": "reference", "forgetting": "reference"}
    for name in ("obs", "small", "forgetting"):
        with pytest.raises(UnsuitableError, match="no kernel in this space"):
            simulate(truth, policies[name], 5, 5, engine="cpu")
    with pytest.raises(EngineError, match="the engine gpu has no kernel for covariates"):
        plan(truth, LinTS(), 5, engine="gpu")

    class Own(Independent):
        pass

    assert truth.space.covariates is not None
    own = CovariateEnvironment(
        truth.space, Own(truth.space.covariates, {}, [0.5, 0.5]), truth.compliance, truth.outcome
    )
    assert plan(own, LinTS(), 5).setup.engines == ("reference",)
    with pytest.raises(EngineError, match="Independent and Resampled populations, and no other"):
        plan(own, Uniform(), 5, engine="cpu")


def test_progress_counts_every_decision() -> None:
    made: list[int] = []
    simulate(wide(), LinTS(), 20, 100, engine="cpu", progress=made.append)
    assert sum(made) == 2_000
