"""Environments with covariates: against closed forms, against enumerated uniform numbers, and in simulations."""

import json
import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.special import expit, ndtr

from takeup import (
    EXP3,
    TS,
    Category,
    CovariateEnvironment,
    Covariates,
    Environment,
    Event,
    Evidence,
    Forgetting,
    InputError,
    Measure,
    MismatchError,
    Number,
    Profile,
    Reporting,
    Rows,
    Space,
    Trace,
    TSObs,
    TSRobust,
    Uniform,
    UnsuitableError,
    event,
    simulate,
    stream,
)
from takeup.errors import EngineError
from takeup.policies import Beliefs, Card, Exact, FromEvidence, Variant
from takeup.populations import Independent, Linear, Logit, Population, Resampled, Table, normal_shares
from takeup.populations.fitting import logit

AGE = Measure(18, 98, 10)
SPACE = Space(
    ["usual care", "new drug"],
    contexts=["here", "there"],
    covariates={"age": AGE, "state": Category(["alert", "out"], missing="kept")},
)
EFFECT = [[0.5, -1.0, -0.5, 0.0], [-0.5, 1.5, 0.5, -1.0]]


def population(space: Space = SPACE) -> Independent:
    assert space.covariates is not None
    return Independent(space.covariates, {"age": normal_shares(AGE, 60, 20), "state": [0.6, 0.3, 0.1]}, [0.4, 0.6])


def confounded() -> CovariateEnvironment:
    """Two hidden types: those who take the drug whatever is proposed fare well whatever they take."""
    compliance = Table([[[[0.1, 0.9], [0.1, 0.9]]], [[[0.9, 0.1], [0.2, 0.8]]]])
    types = np.array([[[2.0, 0, 0, 0], [2.0, 0, 0, 0]], EFFECT])[:, np.newaxis, np.newaxis]
    return CovariateEnvironment(SPACE, population(), compliance, Logit.of_success(types), [0.3, 0.7])


ENVIRONMENTS = {
    "logit": CovariateEnvironment(
        SPACE,
        population(),
        Logit([[[0.0, 0.0, 0.0, 0.0], [-1.0, 1.0, 0.0, 0.5]], [[0.0, 0.0, 0.0, 0.0], [1.0, -2.0, 1.0, 0.0]]]),
        Logit.of_success(EFFECT),
    ),
    "confounded": confounded(),
    "linear": CovariateEnvironment(
        SPACE, population(), Table([[0.8, 0.2], [0.3, 0.7]]), Linear([[0.5, -0.2, 0.1, 0], [0.6, -0.4, 0, 0.1]])
    ),
    "by context and proposal": CovariateEnvironment(
        SPACE,
        population(),
        Table([[[0.8, 0.2], [0.3, 0.7]], [[1.0, 0.0], [0.0, 1.0]]]),
        Logit.of_success(stream(3).normal(size=(1, 2, 2, 2, 4))),
    ),
}


def by_hand(environment: CovariateEnvironment, x: int, v: np.ndarray, z: int) -> float:
    """Σ_u Σ_a Σ_y p(u) p(a) p(y) r, in loops over what there can be."""
    total = 0.0
    share = np.asarray(environment.share)
    for u in range(share.shape[1]):
        for a in range(2):
            model: Any = environment.compliance
            if isinstance(model, Table):
                full = np.broadcast_to(model.probability, (share.shape[1], 2, 2, 2))
                took = full[u, x, z, a]
            else:
                scores = np.exp(np.broadcast_to(model.coefficients, (share.shape[1], 2, 2, 2, 4))[u, x, z] @ v)
                took = scores[a] / scores.sum()
            outcome: Any = environment.outcome
            if isinstance(outcome, Linear):
                fared = np.clip(np.broadcast_to(outcome.coefficients, (1, 2, 2, 2, 4))[u, x, z, a] @ v, 0, 1)
            else:
                both = np.broadcast_to(outcome.coefficients, (share.shape[1], 2, 2, 2, 2, 4))[u, x, z, a] @ v
                fared = expit(both[1] - both[0])
            total += share[x, u] * took * fared
    return total


def test_a_bell_curve_has_the_shares_of_exact_decimals() -> None:
    """To twelve digits: an exponential function may differ in its last bit from one processor to the other."""
    for mean, sd in ((60.0, 20.0), (70.3, 1.7), (20.0, 90.0)):
        scores = ((20 + 0.5 * np.arange(161) - mean) / sd).tolist()
        heights = [(-Decimal(each * each) / 2).exp() for each in scores]
        rounded = [float(each.quantize(Decimal(1).scaleb(each.adjusted() - 11))) for each in heights]
        expected = np.array(rounded) / math.fsum(rounded)
        np.testing.assert_array_equal(normal_shares(Measure(20, 100, step=0.5), mean, sd), expected)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_value_is_a_sum_over_types_actions_and_outcomes(name: str) -> None:
    environment = ENVIRONMENTS[name]
    probability, units = environment.population.atoms()
    assert probability.size == 2 * 9 * 3
    assert np.isclose(probability.sum(), 1)
    value = environment.value(units)
    for i in range(0, probability.size, 5):
        x, v = int(np.asarray(units.context)[i]), np.asarray(units.features)[i] / 1000
        expected = [by_hand(environment, x, v, z) for z in range(2)]
        np.testing.assert_allclose(value[i], expected, rtol=1e-12)
    gap = value.max(axis=1, keepdims=True) - value
    np.testing.assert_allclose(environment.regret(), probability @ gap)
    assert np.array_equal(environment.optimum(units), value.argmax(axis=1))


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_responses_to_all_uniform_numbers_have_their_probabilities(name: str) -> None:
    """On a grid of 50^3 uniform numbers each of three inversions rounds its share by half a fiftieth at most."""
    environment = ENVIRONMENTS[name]
    many = 50
    grid = (np.stack(np.meshgrid(*[np.arange(many)] * 3), axis=-1).reshape(-1, 3) + 0.5) / many
    features = SPACE.profile({"age": 68, "state": "out"}).features
    for x in range(2):
        unit = Profile(np.full(len(grid), x), np.tile(features, (len(grid), 1)))
        for z in range(2):
            _, y = environment.respond(unit, np.full(len(grid), z), grid)
            assert abs(y.mean() - environment.value(Profile(x, features))[z]) < 1.5 / many


def test_types_are_the_same_whatever_is_proposed() -> None:
    """Type 0 takes the drug with 0.9 under both proposals: the same numbers give the same action and outcome."""
    environment = confounded()
    uniform = stream(4).random((500, 3)) * [0.3, 1, 1]
    unit = population().meet(stream(5).random((500, 3)))
    one, other = (environment.respond(unit, np.full(500, z), uniform) for z in range(2))
    assert np.array_equal(one, other)


def test_a_population_is_met_as_often_as_it_should() -> None:
    """Every unit by the share of a grid of uniform numbers that stand for it, to a step of the grid."""
    who, many = population(), 40
    axes = np.meshgrid(*[(np.arange(many) + 0.5) / many] * 3, indexing="ij")
    units = who.meet(np.stack(axes, axis=-1).reshape(-1, 3))
    context, age = np.asarray(units.context), np.asarray(units.features)[:, 1]
    assert abs(context.mean() - 0.6) <= 1 / many
    shares = np.asarray(who.shares["age"])
    for point, share in zip(AGE.points()[:, 0], shares, strict=True):
        assert abs((age == point).mean() - share) <= 1 / many
    missing = np.asarray(units.features)[:, 3] == 1000
    assert abs(missing.mean() - 0.1) <= 1 / many
    probability, atoms = who.atoms()
    assert np.isclose(probability @ (np.asarray(atoms.features)[:, 3] == 1000), 0.1)


def test_combined_features_are_those_of_values() -> None:
    """The vectorised way and the way of one unit, interactions included."""
    covariates = Covariates(
        {"age": Measure(18, 98, 0.5), "state": Category(["alert", "out"], missing="kept"), "size": Measure(0, 7)},
        [("age", "size"), ("state", "size")],
    )
    rng = stream(2)
    choices = [(int(rng.integers(161)), int(rng.integers(3)), int(rng.integers(8))) for _ in range(50)]
    tables = [kind.table() for kind in covariates.kinds]
    made = covariates.combined([table[[row[i] for row in choices]] for i, table in enumerate(tables)])
    for features, (age, state, size) in zip(made, choices, strict=True):
        values = {"age": 18 + age / 2, "state": ["alert", "out", None][state], "size": size}
        assert tuple(features) == covariates.features(values)


def test_numbers_are_rounded_and_end_at_their_ends() -> None:
    """E[worth] by P(K >= k) of a normal number around 8 + 6 v, sd 3, on 0, 0.5, .., 12, lower being better."""
    space = Space(2, outcomes=Number(0, 12, 0.5, better="lower"), covariates={"age": AGE})
    assert space.covariates is not None
    environment = CovariateEnvironment(
        space, Independent(space.covariates, {}), Table(np.eye(2)), Linear([[8.0, 6.0], [3.0, 0.0]], 3.0)
    )
    k = np.arange(1, 25)
    for age in (18, 58, 98):
        unit = space.profile({"age": age})
        mean = 8 + 6 * (age - 18) / 80
        expected = -0.5 * ndtr((mean - (k - 0.5) * 0.5) / 3).sum()
        assert np.isclose(environment.value(unit)[0], expected)
        many = 20_000
        grid = np.stack([np.zeros(many), np.zeros(many), (np.arange(many) + 0.5) / many], axis=-1)
        units = Profile(np.zeros(many, dtype=np.int64), np.tile(unit.features, (many, 1)))
        a, y = environment.respond(units, np.zeros(many, dtype=np.int64), grid)
        assert not a.any()
        assert abs(space.reward[y].mean() - expected) < 1e-3
        shares = environment.outcome.probabilities(unit, space, "outcome")[0, 0, 0]
        np.testing.assert_allclose(np.bincount(y, minlength=25) / many, shares, atol=1e-4)
    ends = environment.respond(units, np.zeros(many, dtype=np.int64), np.zeros((many, 3)))[1]
    assert not ends.any()


def test_two_environments_are_the_same_by_what_they_draw_from() -> None:
    environment = ENVIRONMENTS["confounded"]
    described = json.loads(json.dumps(environment.described()))
    again = CovariateEnvironment.of(described)
    assert again.fingerprint() == environment.fingerprint()
    assert again.space == environment.space
    prints = {each.fingerprint() for each in ENVIRONMENTS.values()}
    assert len(prints) == len(ENVIRONMENTS)
    assert replace(environment, share=[0.5, 0.5]).fingerprint() not in prints


BAD: list[tuple[dict[str, Any], str]] = [
    ({"space": Space(2)}, "needs a space with covariates"),
    ({"space": Space(2, covariates={"age": AGE})}, "population: got other covariates"),
    ({"population": 3}, "population: got 3, expected Independent"),
    ({"compliance": [[1, 0], [0, 1]]}, "compliance: got"),
    ({"compliance": Table([[0.5, 0.3, 0.2]] * 2)}, r"compliance.probability: got shape \(2, 3\)"),
    ({"compliance": Logit(np.zeros((2, 2, 3)))}, r"compliance.coefficients: got shape \(2, 2, 3\)"),
    ({"compliance": Linear(np.zeros((2, 4)))}, "compliance: got"),
    ({"outcome": Linear(np.zeros((2, 4)), 3.0)}, "sd: got 3.0"),
    ({"outcome": Logit(np.zeros((2, 3, 4)))}, "outcome.coefficients: got shape"),
    ({"outcome": Table([0.5, 0.5]), "share": [0.5, 0.6]}, "share"),
    ({"compliance": Table(np.full((3, 1, 2, 2), 0.5))}, "compliance.probability"),
    ({"population": Resampled(np.array([[1000, 2000, 0, 0]]), np.array([0]))}, "features: got"),
    ({"population": Resampled(np.array([[1000, 200, 0, 0]]), np.array([2]))}, "context: got 2"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD)
def test_parts_that_do_not_fit_are_refused(wrong: dict[str, Any], words: str) -> None:
    good: dict[str, Any] = {
        "space": SPACE,
        "population": population(),
        "compliance": Table([[0.8, 0.2], [0.3, 0.7]]),
        "outcome": Logit.of_success(EFFECT),
    }
    with pytest.raises((InputError, UnsuitableError), match=words):
        CovariateEnvironment(**(good | wrong))


def test_bad_populations_and_models_are_refused() -> None:
    assert SPACE.covariates is not None
    makes: list[tuple[Any, str]] = [
        (lambda: Independent(SPACE.covariates, {"ages": [1.0]}), "shares.ages"),
        (lambda: Independent(SPACE.covariates, {"age": [0.5, 0.5]}), "shares.age: got shape"),
        (lambda: Independent(SPACE.covariates, {"state": [0.5, 0.6, 0]}), "shares.state"),
        (lambda: Table([0.5, 0.6]), "probability"),
        (lambda: Logit([float("nan")]), "coefficients"),
        (lambda: Linear([1.0], 0.0), "sd"),
        (lambda: Resampled(np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64)), "features"),
        (lambda: Resampled.of(SPACE, {"age": [20]}), "state is missing"),
        (lambda: Resampled.of(SPACE, {"age": [20, 300], "state": ["alert"] * 2}), "row 2.covariates.age: got 300"),
        (lambda: Rows.of(SPACE, {"age": [20], "state": ["alert"]}), "proposal is missing"),
        (lambda: Rows.of(SPACE, {"age": [20], "state": ["alert"], "proposal": [0, 1]}), "one length"),
        (lambda: Rows.of(SPACE, {"age": [20], "state": ["alert"], "proposal": ["none"]}), "row 1.proposal: got 'none'"),
    ]
    for make, words in makes:
        with pytest.raises(InputError, match=words):
            make()
    many = Covariates({name: Measure(0, 1000) for name in "abc"})
    with pytest.raises(InputError, match="1,003,003,001 different units"):
        Independent(many, {}).atoms()


# Units like those of a trial.


def trial(environment: CovariateEnvironment, many: int, seed: int = 1) -> Rows:
    """A trial of so many, half of whom are told each proposal."""
    rng = stream(seed)
    unit, _ = environment.meet(rng.random((many, environment.uniforms)))
    z = rng.integers(2, size=many)
    a, y = environment.respond(unit, z, rng.random((many, 3)))
    return Rows.gathered(environment.space, Event(unit.context, z, a, y, features=unit.features))


def test_a_fitted_environment_is_near_the_one_that_the_trial_was_of() -> None:
    """With 20,000 decisions every value is within 0.05 of its truth; a standard error is about 0.01, the seed fixed."""
    truth = ENVIRONMENTS["logit"]
    found = CovariateEnvironment.fitted(trial(truth, 20_000))
    assert isinstance(found.population, Resampled)
    unit = truth.population.atoms()[1]
    assert np.abs(found.value(unit) - truth.value(unit)).max() < 0.05
    uniform = stream(8).random((50, 1))
    units, value = found.meet(uniform)
    np.testing.assert_allclose(value, found.value(units))


def test_without_exclusion_a_fit_has_the_value_of_a_confounded_trial() -> None:
    """What was proposed is random, so values by proposal are right; by action alone the model is wrong."""
    truth = confounded()
    rows = trial(truth, 20_000, seed=3)
    unit = truth.population.atoms()[1]
    right, wrong = (CovariateEnvironment.fitted(rows, exclusion=exclusion) for exclusion in (False, True))
    assert np.abs(right.value(unit) - truth.value(unit)).max() < 0.06
    assert np.abs(wrong.value(unit) - truth.value(unit)).max() > 0.1


def test_numbers_are_fitted_too() -> None:
    space = Space(2, outcomes=Number(0, 40, 0.5), covariates={"age": AGE})
    assert space.covariates is not None
    truth = CovariateEnvironment(
        space, Independent(space.covariates, {}), Table([[0.9, 0.1], [0.2, 0.8]]), Linear([[20.0, -5], [15, 4.0]], 3.0)
    )
    found = CovariateEnvironment.fitted(trial(truth, 5_000))
    assert isinstance(found.outcome, Linear)
    assert abs((found.outcome.sd or 0) - 3) < 0.1
    unit = truth.population.atoms()[1]
    assert np.abs(found.value(unit) - truth.value(unit)).max() < 0.5
    with pytest.raises(InputError, match="ridge"):
        CovariateEnvironment.fitted(trial(truth, 20), ridge=0.0)
    with pytest.raises(InputError, match="at least one decision"):
        CovariateEnvironment.fitted(Rows.empty(space))


def test_a_logit_is_where_its_slope_is_zero() -> None:
    """Σ (hit - p) v is the ridge's slope, with half a decision of each level at the intercept alone."""
    rng = stream(6)
    v = np.column_stack([np.ones(200), rng.random((200, 2))])
    level = rng.integers(3, size=200)
    beta = logit(v, level, 3, 2.0)
    score = np.exp(v @ beta.T)
    slope = (np.eye(3)[level] - score / score.sum(axis=1, keepdims=True)).T @ v
    added = np.exp(beta[:, 0])
    slope[:, 0] += 0.5 - 1.5 * added / added.sum()
    slope[:, 1:] -= 2.0 * beta[:, 1:]
    np.testing.assert_allclose(slope[1:], 0, atol=1e-4)
    alone = logit(np.ones((5, 1)), np.zeros(5, dtype=np.int64), 2, 1.0)
    assert np.isclose(alone[1, 0], np.log(0.5 / 5.5))  # never seen, and finite


def test_rows_of_a_table_are_those_of_its_events() -> None:
    table: dict[str, list[Any]] = {
        "age": [28, 58.0, "98"],
        "state": ["alert", None, float("nan")],
        "context": ["here", "there", 0],
        "proposal": ["new drug", 0, 1],
        "implemented": ["new drug", None, 0],
        "outcome": [1, None, float("nan")],
    }
    one = event(SPACE, 1, 1, 1, covariates={"age": 28, "state": "alert"})
    two = event(SPACE, 0, context="there", covariates={"age": 58, "state": None})
    three = event(SPACE, 1, 0, covariates={"age": 98, "state": None})
    assert Rows.of(SPACE, table) == Rows.empty(SPACE).record(two).record(one).record(three)
    assert Rows.of(SPACE, {name: [] for name in table}) == Rows.empty(SPACE)
    who = Resampled.of(SPACE, table)
    assert who.context.tolist() == [0, 1, 0]
    assert tuple(who.features[1]) == two.features


# Simulations.


def test_a_uniform_policy_has_the_regret_of_the_integral() -> None:
    """Each is within 4.5 standard errors of T times the mean of E[max v - v[z]]: a false alarm in 150,000."""
    for name, environment in ENVIRONMENTS.items():
        found = simulate(environment, Uniform(), 50, 400, seed=7).summary()["Uniform"]
        expected = 50 * environment.regret().mean()
        assert abs(found.mean - expected) < 4.5 * found.standard_error, name


def test_policies_without_covariates_run_as_without() -> None:
    """Of an environment in which covariates do nothing, regret and pulls are of the same distribution; here by mean.

    The two have other streams. Within 4.5 standard errors of a difference: a false alarm in 50,000, by Student's t
    for the 100 runs of TS-Robust, and in 150,000 for the others.
    """
    rate = np.array([0.3, 0.6])
    compliance = np.array([[0.8, 0.2], [0.3, 0.7]])
    plain = Environment(
        SPACE.without_covariates(),
        np.array([0.4, 0.6]),
        np.broadcast_to(np.einsum("za,ay->zay", compliance, np.stack([1 - rate, rate], axis=-1)), (2, 2, 2, 2)),
    )
    same = CovariateEnvironment(SPACE, population(), Table(compliance), Table(np.stack([1 - rate, rate], axis=-1)))
    reporting = Reporting(compliance=0.5, delay=3, batch=4)
    for policy, horizon, runs in ((TS(), 60, 300), (TSObs(), 60, 300), (TSRobust(), 20, 100), (EXP3(), 60, 300)):
        one, other = (
            simulate(each, policy, horizon, runs, reporting=reporting, engine="reference").summary()[policy.name]
            for each in (plain, same)
        )
        assert abs(one.mean - other.mean) < 4.5 * np.hypot(one.standard_error, other.standard_error)


@dataclass(frozen=True, kw_only=True, eq=False)
class Older(FromEvidence):
    """Proposes the second to those whose first covariate is above a half, and remembers what it was shown."""

    card: ClassVar[Card] = Card(
        name="Older",
        family="fixed",
        source="tests",
        compliance="not used",
        covariates=True,
        variants=(Variant("By age."),),
    )

    def beliefs(self, evidence: Evidence, context: Profile, rng: object) -> Beliefs:
        assert evidence.least_squares.count.shape == (*evidence.counts.shape[:-1],)
        older = np.asarray(context.features)[..., 1] > 500
        return Exact(np.stack([~older, older], axis=-1).astype(float))


def test_a_policy_with_covariates_is_given_profiles_and_learns_features() -> None:
    environment = ENVIRONMENTS["logit"]
    probability, unit = environment.population.atoms()
    value = environment.value(unit)
    z = (np.asarray(unit.features)[:, 1] > 500).astype(int)
    expected = 40 * probability @ (value.max(axis=1) - value[np.arange(len(z)), z])
    at_once, late = (
        simulate(environment, Older(), 40, 400, reporting=reporting).summary()["Older"]
        for reporting in (Reporting(), Reporting(compliance=0.3, delay=2, batch=3))
    )
    for found in (at_once, late):
        assert abs(found.mean - expected) < 4.5 * found.standard_error
    forgetting = simulate(environment, Forgetting(base=Older(), half_life=10, epoch=5), 40, 400).summary()
    assert [each.mean for each in forgetting.values()] == [at_once.mean]
    with pytest.raises(UnsuitableError, match="Older learns from covariates, and the space has none"):
        Older().start(Space(2))


def test_what_a_policy_learns_is_what_happened() -> None:
    """Evidence at the end: every decision is in it, and the rows behind it have the same sums."""
    kept: list[Evidence] = []

    class Keeping(Older):
        def learn(self, state: Evidence, event: Event, rng: object) -> Evidence:
            assert event.features is not None
            kept.append(state.record(event))
            return kept[-1]

    simulate(ENVIRONMENTS["confounded"], Keeping(), 20, 100, reporting=Reporting(delay=5))
    last = kept[-1]
    assert (last.total == 19).all()
    sums = last.least_squares.summed((-3, -2, -1))
    np.testing.assert_allclose(sums.everybody[..., 0, 0], 19)
    np.testing.assert_allclose(sums.gram[..., 0, 0], sums.count)


def test_policies_meet_the_same_units_and_blocks_change_nothing() -> None:
    environment = ENVIRONMENTS["confounded"]
    both = simulate(environment, {"one": Older(), "other": Older(), "TS": TS()}, 20, 250)
    assert np.array_equal(both.final("one"), both.final("other"))
    parts = [
        simulate(environment, {"one": Older(), "other": Older(), "TS": TS()}, 20, r)
        for r in (range(130), range(130, 250))
    ]
    joined = parts[0] + parts[1]
    assert np.array_equal(joined.regret, both.regret)
    assert np.array_equal(joined.pulls, both.pulls)


def test_curves_files_and_costs(tmp_path: Any) -> None:
    environment = ENVIRONMENTS["confounded"]
    trace = simulate({"a": environment, "b": confounded()}, [TS(), Uniform()], 30, 100, record="curve", steps=[10, 30])
    assert trace.regret.shape == (2, 2, 100, 2)
    assert np.array_equal(trace.regret[0], trace.regret[1])  # equal environments have equal streams
    file = str(tmp_path / "trace.parquet")
    trace.write(file)
    again = Trace.read(file)
    assert np.array_equal(again.regret, trace.regret)
    assert isinstance(again.setup.environments["a"], CovariateEnvironment)
    again.setup.check_same(trace.setup)
    assert np.array_equal(trace.cost("proposals", "TS", "a"), trace.final("TS", "a"))
    with pytest.raises(UnsuitableError, match="the regret by compliers is not known"):
        trace.cost("compliers", "TS", "a")


def test_what_there_is_no_way_to_run_is_refused() -> None:
    environment = ENVIRONMENTS["logit"]
    with pytest.raises(EngineError, match="the engine gpu has no kernel for covariates"):
        simulate(environment, TS(), 5, 5, engine="gpu")
    plain = Environment(Space(2), np.ones(1), np.full((1, 2, 2, 2), 0.25))
    with pytest.raises(MismatchError, match="covariates"):
        simulate([environment, plain], TS(), 5, 5)
    assert issubclass(Resampled, Population)
