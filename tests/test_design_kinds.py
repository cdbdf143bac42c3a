"""Plans whose outcomes are numbers, counts, times or several levels: trials, readings and what is written of them."""

from typing import Any

import numpy as np
import pytest

from kernel_runs import uncompiled
from look_twin import as_written, evidence_of, replay, variables_of
from takeup.conjugates.quadrature import betas
from takeup.design import Goal, Plan, calibrate, events, null_values, operate, two_counts, two_means
from takeup.design.forms import form_of, has_kernel
from takeup.design.running import given_for, memory_of
from takeup.design.statistics import statistic_of
from takeup.policies.readings import comparison
from takeup.randomness import stream
from takeup.simulation.kernels import compile_cpu, look_levels, look_rates
from takeup.simulation.kernels.compile import Plain
from takeup.simulation.run import EngineName
from takeup.specfile import SpecError

NUMBER = {"kind": "number", "low": -6, "high": 6, "step": 0.01}
COUNT = {"kind": "count", "most": 60, "exposure": "weeks", "longest": 10}
TIME = {"kind": "time", "longest": 40, "step": 0.01}
SEVERAL = ["died", "ill", "well"]
VAGUE: dict[str, Any] = {
    "number": {"kind": "normal", "mean": 0.25, "sd": 1, "weight": 1e-6, "freedom": 1},
    "count": {"kind": "poisson", "rate": 1, "weight": 0.5},
    "time": {"kind": "exponential", "mean": 1, "weight": 0.5},
}
"""Priors that say next to nothing, so that error and power are those of textbooks."""


def _plan(outcomes: Any, scenario: dict[str, Any], arms: int = 2, **tables: Any) -> Plan:
    space = {"proposals": arms, "outcomes": outcomes}
    policy: dict[str, Any] = {"kind": "TS"}
    if isinstance(outcomes, dict):
        policy["likelihood"] = VAGUE[outcomes["kind"]]
    else:
        space["utility"] = [0, 0.4, 1]
    given = {"name": "Any", "space": space, "policy": policy, "looks": {"at": [40]}, "scenarios": {"any": scenario}}
    return Plan.of({**given, **tables})


def _asked(plan: Plan, known: Any) -> list[float]:
    """What the plain form of the kernel answers when so much is known: all that rules may ask."""
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 0), memory_of(plan, form)
    memory.known[:, : known.shape[1]], memory.offered[:] = known, 1

    def bound(function: Plain) -> Plain:
        return as_written(function, form)

    bound(look_rates.read)(0, 0, 0, given, memory)
    bound(look_rates.largest_of)(given, memory)
    less = [bound(look_rates.less_of)(0, 1, which, given, memory) for which in (0, 1)]
    close = bound(look_rates.within_of)(given, memory)
    return [*memory.best, bound(look_rates.exceeds_of)(0, 1, given, memory), *less, close]


def _right(plan: Plan, known: Any) -> list[float]:
    """The same by quadrature."""
    believed, rules = variables_of(plan, known), plan.rules
    less = [1 - believed.exceeds(0, 1, margin) for margin in (rules.equivalence_margin, rules.futility_margin)]
    return [
        *believed.largest(),
        believed.exceeds(0, 1),
        *less,
        believed.within([0, 1, 2], rules.equivalence_margin),
    ]


def _margins(equivalence: float, futility: float) -> dict[str, Any]:
    return {
        "control": "0",
        "superiority": 0.9,
        "equivalence": {"probability": 0.8, "margin": equivalence},
        "futility": {"probability": 0.9, "margin": futility},
    }


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("cases", [3, pytest.param(60, marks=pytest.mark.long)])
def test_values_of_numbers_compare_as_quadrature_says(better: str, cases: int) -> None:
    """To 1e-5, for arms with and without data, alike and far apart, and margins from small to large."""
    rng = stream(1, "numbers", better)
    for margin in (0.05, 0.4, 2.0):
        means = {"mean": [0, 0, 0], "sd": 1}
        policy = {"kind": "TS", "likelihood": {"kind": "normal", "mean": 1, "sd": 2, "weight": 2}}
        outcome = {**NUMBER, "better": better}
        plan = _plan(outcome, means, 3, stopping=_margins(margin, margin / 2), policy=policy)
        for _ in range(cases):
            many = rng.integers(2, 900, 3) * (rng.random(3) < 0.9)
            some = [600 + np.rint(100 * rng.normal(rng.normal(0, 0.1), 1, n)).astype(int) for n in many]
            known = np.array([[each.size, each.sum(), (each**2).sum()] for each in some])
            np.testing.assert_allclose(_asked(plan, known), _right(plan, known), atol=1e-5)


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("outcome", [COUNT, {**TIME, "longest": 2}])
@pytest.mark.parametrize("cases", [3, pytest.param(60, marks=pytest.mark.long)])
def test_rates_compare_as_quadrature_says(outcome: dict[str, Any], better: str, cases: int) -> None:
    """To 1e-5 from five events on: of gammas, a count being worth its rate and a time its mean within the watch."""
    rng = stream(1, "rates", better, outcome["kind"])
    key = {"rate": [1, 1, 1]} if outcome["kind"] == "count" else {"hazard": [1, 1, 1]}
    plan = _plan({**outcome, "better": better}, key, 3, stopping=_margins(0.1, 0.02), looks={"at": [9_000]})
    for _ in range(cases):
        many = rng.integers(5, 3_000, 3)
        watched = np.rint(many * np.exp(rng.normal(0, 0.1, 3)) / plan.design.space.outcome.step).astype(int)  # type: ignore[attr-defined]
        known = np.stack([many, many, watched], axis=1)
        np.testing.assert_allclose(_asked(plan, known), _right(plan, known), atol=1e-5)


MANY = {"kind": "count", "most": 1000}
STEADY: dict[str, Any] = {"proposals": 3, "outcomes": list("abcde"), "utility": [0, 0.25, 0.5, 0.75, 1]}


def _steady(q: float, last: int) -> Plan:
    """Outcomes that are nearly always worth a half."""
    row = [0, q, 1 - 2 * q, q, 0]
    tables: dict[str, Any] = {"space": STEADY, "looks": {"at": [last]}, "stopping": _margins(5e-4, 1e-4)}
    return _plan(SEVERAL, {"outcome": [row] * 3}, 3, **tables)


def test_many_events_compare_as_quadrature_says() -> None:
    """To 1e-5 with 900,000 events of a proposal: grids are as fine as these are narrow."""
    plan = _plan(MANY, {"rate": [300] * 3}, 3, stopping=_margins(1.0, 0.2), looks={"at": [3_000]})
    known = np.array([[3_000, 899_000, 3_000], [3_000, 900_000, 3_000], [2_000, 599_800, 2_000]])
    np.testing.assert_allclose(_asked(plan, known), _right(plan, known), atol=1e-5)


def test_levels_that_vary_little_compare_as_quadrature_says() -> None:
    """Likewise of 15,000 units of which one in fifty is not worth a half, as narrow as a beta of three million."""
    plan = _steady(0.01, 15_000)
    known = np.array([[0, 150, 14_700, 150, 0], [0, 130, 14_700, 170, 0], [0, 55, 4_900, 45, 0]])
    shapes = np.stack(look_levels.matched(known + 1.0, np.array(STEADY["utility"])), axis=1)
    assert shapes.sum(axis=1).max() > 2.5e6
    believed = betas(shapes)
    right = [*believed.largest(), believed.exceeds(0, 1)]
    right += [1 - believed.exceeds(0, 1, margin) for margin in (5e-4, 1e-4)]
    np.testing.assert_allclose(_asked(plan, known), [*right, believed.within([0, 1, 2], 5e-4)], atol=1e-5)


@pytest.mark.parametrize(
    "plan",
    [_plan(MANY, {"rate": [300] * 2}, looks={"at": [40_000]}), _steady(0.002, 99_000)],
)
def test_what_no_grid_resolves_is_left_to_the_reference(plan: Plan) -> None:
    """Twelve million events, and a beta of a hundred million: 2.4 and 24 times what there are grids for."""
    assert not has_kernel(plan)
    with pytest.raises(SpecError, match=r"looks: got (4|9)\d,000 units, expected at most about (3,49|4,30)\d"):
        operate(plan, replications=5, engine="cpu")


def test_the_value_of_levels_is_a_beta_variable_with_its_mean_and_variance() -> None:
    """Of a Dirichlet: m = Σ α u / A and (Σ α u^2 / A - m^2) / (A + 1); with two levels it is the beta itself.

    With 30 units a proposal on a scale of even steps P(V_0 > V_1) is that of a million draws to 0.002, four errors.
    """
    plan = _plan(SEVERAL, {"outcome": [[0.2, 0.3, 0.5]] * 2})
    form = form_of(plan, list(plan.scenarios.values()))
    given, memory = given_for(plan, form, plan.scenarios, 0), memory_of(plan, form)
    memory.known[:] = [[3, 9, 18], [4, 12, 14]]
    alpha, gain = memory.known + 1.0, np.array([0, 0.4, 1])
    np.testing.assert_allclose(
        np.stack(look_levels.matched(alpha, gain), axis=1),
        [look_levels.parameters(k, given, memory) for k in range(2)],
    )
    for k in range(2):
        a, b = look_levels.parameters(k, given, memory)
        mean, total = alpha[k] @ gain / alpha[k].sum(), alpha[k].sum()
        assert a / (a + b) == pytest.approx(mean)
        variance = (alpha[k] @ gain**2 / total - mean**2) / (total + 1)
        assert a * b / (a + b) ** 2 / (a + b + 1) == pytest.approx(variance)
    drawn = stream(5, "levels").standard_gamma(alpha, size=(1_000_000, 2, 3))
    value = drawn @ gain / drawn.sum(axis=-1)
    shapes = np.array([look_levels.parameters(k, given, memory) for k in range(2)])
    betas = stream(6, "levels").beta(shapes[:, 0], shapes[:, 1], size=(1_000_000, 2))
    assert (betas[:, 0] > betas[:, 1]).mean() == pytest.approx((value[:, 0] > value[:, 1]).mean(), abs=0.003)


@pytest.mark.parametrize("policy", ["TS", "Uniform"])
def test_several_levels_are_read_as_live_trials_read_them(policy: str) -> None:
    """To 1e-5 whatever the draws, of which there is one: the error that is told is that of the live rule."""
    rng, space = stream(4, "levels"), {"proposals": 3, "outcomes": SEVERAL, "utility": [3, -2, 1]}
    tables: dict[str, Any] = {"space": space, "policy": {"kind": policy}, "stopping": _margins(0.4, 0.1)}
    plan = _plan(SEVERAL, {"outcome": [[0.2, 0.3, 0.5]] * 3}, 3, **tables)
    for units in (0, 1, 30, 400):
        known = rng.multinomial(units, [0.3, 0.3, 0.4], 3)
        cells = np.zeros((3, 3, 3), dtype=np.int64)
        cells[range(3), range(3)] = known
        live = comparison("intention to treat", evidence_of(plan, cells), plan.design.policy, rng, 1)
        less = [1 - live.exceeds(0, 1, margin) for margin in (0.4, 0.1)]
        right = [*live.largest([0, 1, 2]), live.exceeds(0, 1), *less, live.within([0, 1, 2], 0.4)]
        np.testing.assert_allclose(_asked(plan, known), right, atol=1e-5)


def _any_plan(rng: np.random.Generator, kind: str) -> Plan:
    """Two to four proposals with much of what a plan can say, in small numbers of units."""
    arms, looks = int(rng.integers(2, 5)), 3
    spread = {"number": 0.4, "count": 0.3, "time": 0.3}[kind]
    centre = 1 + spread * rng.normal(0, 1, arms)
    key = {"number": "mean", "count": "rate", "time": "hazard"}[kind]
    scenario: dict[str, Any] = {key: np.clip(centre, 0.3, 3).tolist(), "take_up": 0.8, "confounded": 0.1}
    outcome = {"number": {**NUMBER, "high": 8}, "count": COUNT, "time": {**TIME, "longest": 2}}[kind]
    stopping: dict[str, Any] = {
        "superiority": rng.uniform(0.8, 0.97, looks).tolist(),
        "inferiority": float(rng.uniform(0.01, 0.8 / arms)),
        "equivalence": {"probability": 0.7, "margin": float(rng.uniform(0.1, 0.4))},
    }
    if rng.random() < 0.5:
        stopping |= {"control": "0", "futility": {"probability": 0.8, "margin": 0.1}}
    return _plan(
        {**outcome, "better": str(rng.choice(["higher", "lower"]))},
        scenario if kind != "number" else {**scenario, "sd": 1},
        arms,
        looks={"at": np.cumsum(rng.integers(8, 40, looks)).tolist(), "lag": int(rng.integers(0, 10))},
        stopping=stopping,
        limits={"floor": 0.1, "rule": "proportional", "soften": "i/2n"},
    )


@pytest.mark.parametrize("kind", ["number", "count", "time"])
@pytest.mark.parametrize("plans", [3, pytest.param(60, marks=pytest.mark.long)])
def test_trials_end_as_in_other_words(monkeypatch: pytest.MonkeyPatch, kind: str, plans: int) -> None:
    """Trial by trial from the same draws, with probabilities from quadrature; uncompiled, which takes no time to build.

    Probabilities differ by up to 1e-5, which could turn one comparison in ten thousand; the seed is fixed.
    """
    monkeypatch.setattr(compile_cpu, "build", uncompiled)
    rng, ends = stream(2, "twin", kind), set[int]()
    for _ in range(plans):
        plan = _any_plan(rng, kind)
        found = operate(plan, replications=4, seed=2)["any"].kept
        for i in range(4):
            right = replay(plan, 2, i)
            ours = (int(found.status[i]), int(found.look[i]), int(found.chosen[i]), found.dropped[i].tolist())
            assert ours == tuple(right), (plan.content, i)
            ends.add(right.status)
    assert len(ends) > 1


BOTH = Goal(alpha=0.05, sided=2)


def _power(plan: Plan, trials: int, engine: EngineName = "auto") -> tuple[float, float]:
    """How often the second proposal is found superior, and four errors."""
    found = operate(plan, replications=trials, seed=3, engine=engine)["any"].superior(1)
    return found.mean, 4 * float(np.sqrt(0.25 / trials))


@pytest.mark.parametrize("take_up", [pytest.param(1.0, marks=pytest.mark.long), 0.7])
@pytest.mark.parametrize(
    ("trials", "engine"), [(2_500, "reference"), pytest.param(20_000, "cpu", marks=pytest.mark.long)]
)
def test_the_size_for_two_means_has_its_power(take_up: float, trials: int, engine: EngineName) -> None:
    """Half a standard deviation, two-sided 5 %: 128 where all take it. One run in 16,000 is beyond four errors.

    With a look alone the reference takes two seconds for it, and a kernel ten to be built.
    """
    size = two_means(0.5, take_up=take_up, goal=BOTH).whole
    scenario = {"mean": [0, 0.5], "sd": 1, "take_up": take_up}
    plan = _plan(NUMBER, scenario, looks={"at": [size]}, stopping={"superiority": 0.975})
    power, errors = _power(plan, trials, engine)
    assert (take_up, size) in ((1.0, 128), (0.7, 260))
    assert power == pytest.approx(0.8, abs=errors)


@pytest.mark.long
@pytest.mark.parametrize("take_up", [1.0, 0.7])
def test_sizes_for_counts_and_hazards_have_their_power(take_up: float) -> None:
    """By intention to treat, 20,000 trials each; of hazards where one in eight has an event, as few may here."""
    size = two_counts(1.0, 1.25, take_up=take_up, goal=BOTH).whole
    count = {"kind": "count", "most": 60, "better": "higher"}
    scenario = {"rate": [1.0, 1.25], "take_up": take_up}
    plan = _plan(count, scenario, looks={"at": [size]}, stopping={"superiority": 0.975})
    power, errors = _power(plan, 20_000)
    assert power == pytest.approx(0.8, abs=errors)
    needed, watch = events(0.7, take_up=take_up, goal=BOTH), 0.15
    share = 1 - np.exp(-watch * np.array([1, 0.7, 1]) @ [0.5, take_up / 2, (1 - take_up) / 2])
    time = {"kind": "time", "longest": watch, "step": 0.001}
    scenario = {"hazard": [1, 0.7], "take_up": take_up}
    looks = {"at": [int(np.ceil(needed.units / share))]}
    plan = _plan(time, scenario, looks=looks, stopping={"superiority": 0.975})
    power, errors = _power(plan, 20_000)
    assert power == pytest.approx(0.8, abs=errors)


ADAPTIVE: dict[str, Any] = {
    "looks": {"at": [60, 90, 120], "lag": 10},
    "limits": {"floor": 0.15, "rule": "proportional", "soften": 0.5},
    "stopping": {"superiority": 0.95, "inferiority": 0.05},
}
CENTRES: dict[str, tuple[Any, dict[str, Any]]] = {
    "number": (NUMBER, {"mean": [0, 0, 0], "sd": 1}),
    "count": (COUNT, {"rate": [1, 1, 1]}),
    "time": (TIME, {"median": [1, 1, 1]}),
    "level": (SEVERAL, {"outcome": [[0.2, 0.3, 0.5]] * 3}),
}


def _calibrated(kind: str, trials: int, target: float) -> None:
    """A threshold that keeps the error over nulls at full take-up and, confounded, at 70 %."""
    outcome, centre = CENTRES[kind]
    plan = _plan(outcome, {**centre, "role": "null"}, 3, **ADAPTIVE)
    if kind == "level":
        refused: dict[str, Any] = {**centre, "take_up": 0.7}
    else:
        plan = null_values(plan, [0.5])
        assert list(plan.scenarios) == ["any", "null 0.5"]
        refused = {**centre, "take_up": 0.7, "confounded": 0.2}
    scenarios = {**plan.content["scenarios"], "refused": {"role": "null", **refused}}
    found = calibrate(Plan.of({**plan.content, "scenarios": scenarios}), target, trials, 4)
    assert found.worst.mean < target + 4 * found.worst.error
    assert found.worst.mean > target - 6 * found.worst.error


@pytest.mark.parametrize(("kind", "worth"), [("number", 0.5), ("count", -0.5), ("time", 0.5 / np.log(2))])
def test_nulls_of_other_values_are_added_in_the_words_of_the_plan(kind: str, worth: float) -> None:
    """One more scenario, in which every proposal has this mean, rate or median and all take what they are offered."""
    outcome, centre = CENTRES[kind]
    plan = _plan(outcome, {**centre, "role": "null"}, 3, **ADAPTIVE)
    found = null_values(plan, [0.5])
    assert list(found.scenarios) == ["any", "null 0.5"]
    np.testing.assert_allclose(found.scenarios["null 0.5"].values, [worth] * 3, atol=1e-3)
    assert found.content["scenarios"]["null 0.5"] == {"role": "null", **centre, next(iter(centre)): [0.5] * 3}
    assert {**found.content, "scenarios": plan.content["scenarios"]} == plan.content


@pytest.mark.long
@pytest.mark.parametrize("kind", list(CENTRES))
def test_a_calibrated_threshold_keeps_the_error_of_each_kind(kind: str) -> None:
    """5 % over three nulls of 20,000 trials each."""
    _calibrated(kind, 20_000, 0.05)


@pytest.mark.parametrize(
    ("outcome", "written", "values"),
    [
        (NUMBER, {"mean": [0, 1], "sd": 1}, [0, 0.6]),
        ({**NUMBER, "better": "lower"}, {"mean": [0, 1], "sd": [1, 0.5]}, [0, -0.6]),
        ({"kind": "count", "most": 60}, {"rate": [1, 2]}, [-1, -1.6]),
        (COUNT, {"rate": [1, 2]}, [-1, -1.6]),
        (TIME, {"hazard": [1, 0.5]}, [1, 1.6]),
        (TIME, {"median": [np.log(2), 2 * np.log(2)]}, [1, 1.6]),
        (SEVERAL, {"outcome": [[0.2, 0.5, 0.3], [0, 0.5, 0.5]]}, [0.5, 0.62]),
        (NUMBER, {"outcome": {"kind": "normal", "mean": [0, 1], "sd": 1}}, [0, 0.6]),
    ],
)
def test_take_up_shrinks_what_a_proposal_is_worth(outcome: Any, written: dict[str, Any], values: list[float]) -> None:
    """At 60 % take-up 60 % of the difference; takers who fare otherwise with any action do not change that."""
    plain = _plan(outcome, {**written, "take_up": 0.6}).scenarios["any"]
    np.testing.assert_allclose(plain.values, values, atol=1e-4)
    if "outcome" not in written:
        apart = _plan(outcome, {**written, "take_up": 0.6, "confounded": 0.3}).scenarios["any"]
        np.testing.assert_allclose(apart.values, values, atol=1e-4)
        types = apart.environment.types
        assert types is not None
        seen = types.outcome[0] @ apart.environment.space.reward  # by type and action
        sign = 1 if outcome.get("better", "lower" if outcome["kind"] == "count" else "higher") == "higher" else -1
        np.testing.assert_allclose(seen[0] - seen[1], sign * 0.3, atol=1e-4)


@pytest.mark.parametrize(
    ("outcome", "written", "named"),
    [
        (NUMBER, {"mean": [0, 5.5], "sd": 1}, r"mean: got what is recorded as 5\.3\d+ for 5\.5"),
        (NUMBER, {"mean": [0, 1]}, "sd is missing"),
        (NUMBER, {"mean": [0, 1, 2], "sd": 1}, "mean"),
        (NUMBER, {"mean": [0, 1], "sd": [1, 1, 1]}, "sd"),
        (NUMBER, {"success": [0.1, 0.2]}, "success: got .* expected mean"),
        (NUMBER, {"mean": [0, 1], "sd": 1, "success": [0.1, 0.2]}, "keys: got mean, sd, success"),
        (NUMBER, {"sd": 1}, "keys: got sd, expected mean"),
        (COUNT, {"rate": [1, 1], "sd": 2}, "sd: got 2"),
        (COUNT, {"rate": [1, -1]}, "rate"),
        (COUNT, {"rate": [1, 9]}, "rate: got what is recorded as"),
        (COUNT, {"rate": [1, 1], "take_up": 0.5, "confounded": 3}, "confounded: got 3"),
        (TIME, {"hazard": [1, 1], "take_up": 0.5, "confounded": -3}, "confounded: got -3"),
        (TIME, {"hazard": [1, 0.9], "role": "null"}, "role: got 'null', where proposing is worth 0 .*, 1 1.1111"),
        (SEVERAL, {"success": [0.1, 0.2]}, "success: got .* expected outcome"),
        (SEVERAL, {"outcome": [[0.5, 0.5, 0]] * 2, "take_up": 0.5, "confounded": 0.1}, "confounded"),
        (SEVERAL, {"outcome": {"kind": "poisson", "rate": [1, 2]}}, "outcome.kind: got 'poisson'"),
        (NUMBER, {"compliance": [[1, 0], [0, 1]], "mean": [0, 1], "sd": 1}, "keys: got mean, sd"),
    ],
)
def test_what_cannot_be_is_refused_by_key_and_value(outcome: Any, written: dict[str, Any], named: str) -> None:
    with pytest.raises(SpecError, match=rf"plan: scenarios\.any\.{named}"):
        _plan(outcome, written)


@pytest.mark.parametrize(
    ("outcome", "likelihood", "named"),
    [
        ({**NUMBER, "utility": [[-6, 0], [0, 1]]}, {"kind": "normal"}, r"space\.outcomes\.utility"),
        (NUMBER, {"kind": "bootstrap"}, r"policy\.likelihood\.kind: got bootstrap"),
        (
            {"kind": "number", "low": 1, "high": 100, "scale": "log"},
            {"kind": "lognormal"},
            r"policy\.likelihood\.kind: got lognormal",
        ),
        (COUNT, {"kind": "poisson", "rate": 1, "weight": 0.2}, r"policy\.likelihood\.weight: got 0\.2"),
    ],
)
def test_readings_that_have_no_kernel_are_refused(outcome: Any, likelihood: dict[str, Any], named: str) -> None:
    family: dict[str, Any] = {"kind": "poisson", "rate": [1, 1]}
    if outcome["kind"] == "number":
        family = {"kind": "normal", "mean": [2, 2], "sd": 1}
    policy = {"kind": "TS", "likelihood": likelihood}
    with pytest.raises(SpecError, match=f"plan: {named}.*so far"):
        operate(_plan(outcome, {"outcome": family}, policy=policy), replications=5, engine="cpu")


def test_what_is_kept_of_units_says_what_they_are_worth() -> None:
    """A trial in which one proposal got nobody is followed by what the prior says of it."""
    table = np.array([[[2, 1300, 1300**2], [0, 0, 0]]])
    number = statistic_of(_plan(NUMBER, {"mean": [0, 0], "sd": 1}))
    np.testing.assert_allclose(number.rewards(table), [[2 * -6 + 13, 0]])
    np.testing.assert_allclose(number.means(table), [[0.5, 0.25]])
    time = statistic_of(_plan(TIME, {"hazard": [1, 1]}))
    np.testing.assert_allclose(time.rewards(np.array([[[3, 2, 4_500, 0], [1, 0, 4_000, 0]]])), [[45, 40]])
    count = statistic_of(_plan(COUNT, {"rate": [1, 1]}))
    np.testing.assert_allclose(count.means(np.array([[[4, 10, 20], [0, 0, 0]]])), [[-0.5, -1]])
    levels = statistic_of(_plan(SEVERAL, {"outcome": [[0.2, 0.3, 0.5]] * 2}))
    np.testing.assert_allclose(levels.rewards(np.array([[[1, 5, 2], [0, 0, 0]]])), [[4, 0]])
    np.testing.assert_array_equal(levels.units(np.array([[[1, 5, 2], [0, 0, 0]]])), [[8, 0]])
