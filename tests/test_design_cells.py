"""Plans whose policies see what was done: against twins in other words, and against what the policies believe."""

from typing import Any

import numpy as np
import pytest

from look_twin import as_written, evidence_of, read_cells, replay
from takeup.checks import FloatArray, IntArray
from takeup.design.exact import exact
from takeup.design.figures import Figure
from takeup.design.forms import check, form_of
from takeup.design.operate import operate
from takeup.design.plan import Plan
from takeup.design.results import Outcomes
from takeup.design.running import given_for, laid_out, memory_of
from takeup.design.statistics import statistic_of
from takeup.inference.pooling import Pooled
from takeup.policies import TSRobust
from takeup.policies.judging import MAXIMUM, SUPERIOR
from takeup.randomness import stream
from takeup.simulation.kernels import look_draws, look_driver, look_rates, look_robust
from takeup.simulation.kernels.look_tables import LookOutput
from takeup.simulation.kernels.tables import Replication
from takeup.specfile import SpecError


def _plan(kind: str, arms: int = 2, **tables: Any) -> Plan:
    success = np.linspace(0.3, 0.6, arms).tolist()
    return Plan.of(
        {
            "name": kind,
            "draws": 200,
            "space": {"proposals": arms},
            "policy": {"kind": kind},
            "looks": {"at": [60, 90, 150], "lag": 20},
            "stopping": {"superiority": 0.99, "inferiority": 0.01},
            "limits": {"floor": 0.1},
            "scenarios": {"any": {"success": success, "take_up": 0.7, "two_sided": 0.1, "confounded": 0.2}},
            **tables,
        }
    )


def _as_written(plan: Plan, trials: int, seed: int) -> LookOutput:
    """Trials of the first scenario by the kernel as plain Python."""
    form = form_of(plan, list(plan.scenarios.values()))
    layout = laid_out(plan, plan.scenarios, seed)
    output = layout.output(trials)
    run = as_written(look_driver.replicate, form, CONTROLLED=plan.rules.control is not None)
    for i in range(trials):
        run(Replication(0, i, i), layout.given, layout.memory(), output)
    return LookOutput(*(part[0] for part in output))


def _cells(plan: Plan, rng: np.random.Generator, units: int) -> IntArray:
    """Counts in the columns of the kernel, some cells of which are empty."""
    _, proposals, actions, levels = plan.design.space.shape
    cells = rng.multinomial(units, rng.dirichlet(np.full(actions * levels, 0.7), proposals))
    return np.asarray(cells, dtype=np.int64)


def test_where_all_comply_check_is_thompson_sampling() -> None:
    """TS-Check and TS meet the same units and say the same of them, trial by trial."""
    scenarios = {"any": {"success": [0.3, 0.35]}}
    plans = [_plan(kind, scenarios=scenarios) for kind in ("TSCheck", "TS")]
    ours, theirs = (_as_written(plan, 20, 3) for plan in plans)
    for name in ("status", "look", "chosen", "dropped"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
    found, right = (statistic_of(plan) for plan in plans)
    np.testing.assert_array_equal(found.units(ours.statistic), right.units(theirs.statistic))
    np.testing.assert_array_equal(found.rewards(ours.statistic), right.rewards(theirs.statistic))
    assert len(np.unique(found.units(ours.statistic)[:, 0])) > 10


AGAINST: dict[str, Any] = {
    "superiority": 0.9,
    "inferiority": 0.05,
    "control": "0",
    "equivalence": {"probability": 0.6, "margin": 0.2},
    "futility": {"probability": 0.7, "margin": 0.05},
}


@pytest.mark.parametrize(
    ("kind", "arms", "stopping"),
    [
        ("TSCheck", 3, {}),
        ("TSCheck", 3, {"reading": "policy"}),
        ("TSObs", 2, {}),
        ("TS", 3, {**AGAINST, "reading": "compliers"}),
        ("Uniform", 3, {**AGAINST, "reading": "compliers"}),
        ("TS", 3, {**AGAINST, "reading": {"bounded": 0.05}}),
        ("TSCheck", 2, {**AGAINST, "replace": False, "reading": {"bounded": 0.02}}),
    ],
)
@pytest.mark.parametrize("trials", [4, pytest.param(60, marks=pytest.mark.long)])
def test_trials_end_as_in_other_words(kind: str, arms: int, stopping: dict[str, Any], trials: int) -> None:
    """From the same units, with the policy's own beliefs; digits beyond 1e-6 could turn one trial in 10,000."""
    plan = _plan(kind, arms, stopping={"superiority": 0.95, "inferiority": 0.05, **stopping})
    found = _as_written(plan, trials, 2)
    for i in range(trials):
        right = replay(plan, 2, i)
        ours = (int(found.status[i]), int(found.look[i]), int(found.chosen[i]), found.dropped[i].tolist())
        assert ours == tuple(right), i


@pytest.mark.parametrize("reading", ["intention to treat", "compliers", {"bounded": 0.0}, {"bounded": 0.1}, "policy"])
def test_readings_are_those_of_live_trials(reading: Any) -> None:
    """At fixed counts, against `takeup.policies.readings` and `bounded_reading`: betas to 2e-5, normals to 1e-9."""
    rng = stream(9, "readings")
    kind = "TSCheck" if reading in ("policy", "intention to treat") else "Uniform"
    tables: dict[str, Any] = {"space": {"proposals": 3, "utility": [3.0, 1.0]}, "looks": {"at": [900]}}
    plan = _plan(kind, 3, stopping={**AGAINST, "reading": reading}, **tables)
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 0), memory_of(plan, form)
    read, exceeds, most, less, close = (
        as_written(function, form)
        for function in (
            look_rates.read,
            look_rates.exceeds_of,
            look_rates.most_of,
            look_rates.less_of,
            look_rates.close_of,
        )
    )
    for units in (0, 1, 6, 300):
        memory.known[:], memory.offered[:] = _cells(plan, rng, units), 1
        right = read_cells(plan, memory.known)
        read(0, 0, 0, given, memory)
        for one, other in ((1, 0), (2, 0), (0, 1), (2, 1)):
            ours, equal, futile = exceeds(one, other, given, memory), 0.2, 0.05
            found = [
                (ours, right.exceeds(one, other)),
                (most(one, other, ours, given, memory), 1 - right.exceeds(other, one)),
                (less(one, other, 1, given, memory), right.exceeds(other, one, -futile)),
                (close(one, other, given, memory), right.within((one, other), equal)),
            ]
            exact = isinstance(reading, dict)
            for each, (got, told) in enumerate(found):
                assert got == pytest.approx(told, abs=1e-9 if exact else 2e-5), (units, one, other, each)


def test_compliers_without_a_margin_are_read_by_intention_to_treat() -> None:
    """Where all comply the same units are drawn in both forms, and TS comes to the same trials."""
    tables: dict[str, Any] = {"scenarios": {"any": {"success": [0.3, 0.5, 0.5]}}}
    rules = {"superiority": 0.9, "inferiority": 0.1, "control": "0"}
    plans = [
        _plan("TS", 3, stopping={**rules, "reading": each}, **tables) for each in ("compliers", "intention to treat")
    ]
    cells, rates = (_as_written(plan, 8, 3) for plan in plans)
    for name in ("status", "look", "chosen", "dropped", "reason"):
        np.testing.assert_array_equal(getattr(cells, name), getattr(rates, name))
    np.testing.assert_array_equal(cells.statistic.sum(axis=-1), rates.statistic[..., 0])


@pytest.mark.long
def test_cells_agree_with_exact_figures() -> None:
    """Two arms through the cells, where all comply, 20,000 trials: within four errors, one in 5,000 seeds is not."""
    tables: dict[str, Any] = {
        "looks": {"at": [40, 80, 120]},
        "stopping": {"superiority": 0.95, "inferiority": 0.05},
        "scenarios": {"any": {"success": [0.3, 0.5]}},
    }
    found = operate(_plan("TSCheck", **tables), replications=20_000, seed=1)["any"]
    right = exact(_plan("TS", **tables), (0.3, 0.5))
    for status, name in ((SUPERIOR, "superior"), (MAXIMUM, "maximum")):
        figure = found.probability(status)
        assert abs(figure.mean - right.probability(name)) < 4 * figure.error


def test_units_do_what_the_scenario_says() -> None:
    """The mean of each cell in 150 trials of one look, within 4.5 errors: one of 12,000 runs has one beyond."""
    plan = _plan("TSCheck", 3, looks={"at": [300]})
    found = _as_written(plan, 150, 1)
    right = plan.scenarios["any"].environment.response[0].reshape(3, -1) * 100
    mean = found.statistic.mean(axis=0)
    assert (mean[right == 0] == 0).all()
    assert (np.abs(mean - right) < 4.5 * np.sqrt(np.maximum(right, 1) / 150)).all()
    assert found.statistic.sum(axis=(1, 2)).tolist() == [300] * 150


@pytest.mark.parametrize("pooled", [(64, 8, 0), (0,), (3, 500)])
def test_models_are_as_probable_as_the_policy_says(pooled: tuple[int, ...]) -> None:
    """From the counts at once, against `takeup.inference.pooling`, which counts S of the first, the worse outcome."""
    rng = stream(5, "models")
    policy = {"kind": "TSRobust", "pooled": list(pooled), "alpha": [[1.5, 2.0], [1.0, 4.0], [3.0, 1.0]]}
    plan = _plan("TSRobust", 3, policy=policy)
    assert isinstance(plan.design.policy, TSRobust)
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 0), memory_of(plan, form)
    for units in (0, 3, 50, 4_000):
        memory.known[:] = _cells(plan, rng, units)
        right = plan.design.policy.posterior(evidence_of(plan, memory.known), rng)
        assert isinstance(right, Pooled)
        look_robust.prepare(given, memory)
        found = np.diff(memory.policy.model.upto[:, : len(given.policy.unseen)], axis=1, prepend=0.0)
        for a in range(3):
            parts = zip(right.models, right.probability[0, a], right.samples, strict=True)
            each = [
                chance * (sample[0, a, 0, ::-1] if strength >= 0 else np.ones(1)) for strength, chance, sample in parts
            ]
            np.testing.assert_allclose(found[a], np.concatenate(each), atol=1e-10)


def _values(plan: Plan, known: IntArray) -> FloatArray:
    """The draws that a look reads, (draws, K)."""
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 4), memory_of(plan, form)
    memory.known[:], memory.offered[:] = known, 1
    as_written(look_draws.read, form)(1, 0, 7, given, memory)
    return np.asarray(memory.policy.table.T, dtype=np.float64)


@pytest.mark.parametrize(
    ("kind", "arms"), [("TSObs", 3), ("TSRobust", 3), pytest.param("TSRobust", 2, marks=pytest.mark.long)]
)
def test_values_are_drawn_as_the_policy_believes(kind: str, arms: int) -> None:
    """Means, spreads, correlations and P(best) of 320 draws against 40,000 of the policy's: within 4.5 errors.

    In the last table all proposals fare alike, as where they share their outcomes. Some 90 figures: one of 1,600 seeds
    has one beyond.
    """
    plan = _plan(kind, arms, draws=320, stopping={"reading": "policy"}, policy={"kind": kind, "alpha": [1.0, 2.0]})
    rng = stream(6, "values", kind)
    for known in (_cells(plan, rng, 12), _cells(plan, rng, 400), np.repeat(_cells(plan, rng, 40)[:1], arms, axis=0)):
        beliefs = plan.design.policy.beliefs(evidence_of(plan, known), 0, rng)
        ours, theirs = _values(plan, known), beliefs.values(rng, 40_000)
        error = np.sqrt(1 / 320 + 1 / 40_000)
        spread = theirs.std(axis=0)
        assert (np.abs(ours.mean(axis=0) - theirs.mean(axis=0)) < 4.5 * error * spread).all()
        apart = [(each - theirs.mean(axis=0)) / spread for each in (ours, theirs)]
        for j in range(arms):
            for k in range(j + 1):
                products = [each[:, j] * each[:, k] for each in apart]
                assert abs(products[0].mean() - products[1].mean()) < 4.5 * error * products[1].std()
        best = [np.bincount(each.argmax(axis=1), minlength=arms) / len(each) for each in (ours, theirs)]
        assert (np.abs(best[0] - best[1]) < 4.5 * error * np.sqrt(best[1] * (1 - best[1])) + 1e-9).all()


def test_allocation_counts_the_best_of_those_that_are_offered() -> None:
    """The same draws, read and wished by: of two that are left the third has none."""
    tables: dict[str, Any] = {"draws": 100}
    known = _cells(_plan("TSObs", 3), stream(7, "offered"), 30)
    values = _values(_plan("TSObs", 3, stopping={"reading": "policy"}, **tables), known)
    plan = _plan("TSObs", 3, **tables)
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 4), memory_of(plan, form)
    memory.known[:], memory.offered[:] = known, [1, 0, 1]
    as_written(look_draws.wish, form)(1, 0, 7, given, memory)
    np.testing.assert_allclose(
        memory.wish, [(values[:, 0] > values[:, 2]).mean(), 0, (values[:, 0] < values[:, 2]).mean()]
    )


def test_draws_are_counted() -> None:
    """What a look asks of a table of draws, in other words."""
    stopping = {
        "reading": "policy",
        "control": "0",
        "superiority": 0.9,
        "equivalence": {"probability": 0.9, "margin": 0.1},
        "futility": {"probability": 0.9, "margin": 0.05},
    }
    plan = _plan("TSRobust", 3, stopping=stopping, space={"proposals": 3, "utility": [4.0, 2.0]})
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 4), memory_of(plan, form)
    values = stream(8, "table").random((200, 3)) / 4
    memory.policy.table[:], memory.offered[:] = values.T, [1, 1, 0]
    values = memory.policy.table.T
    look_draws.largest_of(given, memory)
    first = (values[:, 0] > values[:, 1]).mean()
    np.testing.assert_allclose(memory.best, [first, 1 - first, 0])
    assert look_draws.exceeds_of(2, 1, given, memory) == (values[:, 2] > values[:, 1]).mean()
    for which, margin in ((0, 0.05), (1, 0.025)):
        less = (values[:, 2] - values[:, 1] < margin).mean()
        assert look_draws.less_of(2, 1, which, given, memory) == less
    for close in (look_draws.within_of(given, memory), look_draws.close_of(1, 0, given, memory)):
        assert close == (np.abs(values[:, 0] - values[:, 1]) < 0.05).mean()


COMPILED: list[tuple[str, int, dict[str, Any]]] = [
    *((kind, arms, {}) for kind in ("TSCheck", "TSObs", "TSRobust") for arms in (2, 3)),
    *((kind, arms, {"reading": "policy"}) for kind in ("TSCheck", "TSObs", "TSRobust") for arms in (2, 3)),
    *((kind, 3, {**AGAINST, "reading": each}) for kind in ("TS", "TSObs") for each in ("policy", "compliers")),
    *((kind, 3, {**AGAINST, "reading": {"bounded": 0.05}}) for kind in ("TS", "TSObs", "Uniform")),
]


@pytest.mark.parametrize(
    ("kind", "arms", "stopping"),
    [pytest.param(*each, marks=pytest.mark.long) for each in (("TSRobust", 2, {}), *COMPILED)],
)
def test_compiled_trials_are_those_that_are_written(kind: str, arms: int, stopping: dict[str, Any]) -> None:
    """The machine code and the plain functions come to the same trials."""
    plan = _plan(kind, arms, stopping={**stopping, "superiority": 0.9, "inferiority": 0.1}, draws=100)
    found, right = operate(plan, replications=3, seed=5)["any"].kept, _as_written(plan, 3, 5)
    for one, other in zip(found, right, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "arms", "stopping"),
    [
        ("TSObs", 3, {}),
        ("TSRobust", 2, {"reading": "policy"}),
        ("TSRobust", 3, {}),
        ("TSCheck", 3, {**AGAINST, "reading": {"bounded": 0.05}}),
    ],
)
def test_trials_are_those_of_the_reference(kind: str, arms: int, stopping: dict[str, Any]) -> None:
    """Size, share of each arm and how often it ends superior, of 8,000 trials and 400: within 4 errors of both.

    Some 18 figures: one of 900 seeds has one beyond.
    """
    plan = _plan(kind, arms, stopping={"superiority": 0.95, "inferiority": 0.05, **stopping})
    ours = operate(plan, replications=8_000, seed=1)["any"]
    theirs = operate(plan, replications=400, seed=2, engine="reference")["any"]

    def figures(found: Outcomes) -> list[Figure]:
        shares = (found.units / found.size[:, np.newaxis]).T
        return [Figure.of(each) for each in (found.size, *shares, found.kept.status == SUPERIOR)]

    for one, other in zip(figures(ours), figures(theirs), strict=True):
        assert abs(one.mean - other.mean) < 4 * np.hypot(one.error, other.error), (one, other)


@pytest.mark.long
def test_looking_at_compliance_makes_a_better_arm_be_found_by_more() -> None:
    """4,000 trials: under the model of TS-Obs its own reading has more power than intention to treat has."""
    scenarios = {"any": {"success": [0.3, 0.5], "take_up": 0.6}}
    power = {
        reading: operate(
            _plan("TSObs", scenarios=scenarios, stopping={"superiority": 0.975, "reading": reading}), None, 4_000, 1
        )["any"].probability(SUPERIOR)
        for reading in ("intention to treat", "policy")
    }
    own, proposed = power["policy"], power["intention to treat"]
    assert own.mean > proposed.mean + 4 * np.hypot(own.error, proposed.error)


@pytest.mark.parametrize(
    ("tables", "key"),
    [
        ({"policy": {"kind": "TSRobust", "alpha": 0.5}}, "policy.alpha: got 0.5"),
        ({"policy": {"kind": "TSRobust", "beta": 0.5}}, "policy.beta: got 0.5"),
        ({"policy": {"kind": "TSObs", "beta": 0.4}}, "policy.beta: got 0.4"),
        ({"policy": {"kind": "TSLat"}}, "policy.kind: got TSLat"),
        ({"policy": {"kind": "TSObs"}, "compliance": "sometimes"}, "compliance: got sometimes"),
    ],
)
def test_what_has_no_kernel_is_refused_by_its_key(tables: dict[str, Any], key: str) -> None:
    with pytest.raises(SpecError, match=key):
        check(_plan("TS", **tables))
