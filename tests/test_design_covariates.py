"""Plans of trials with covariates: what scenarios mean, and trials side by side as they would be lived."""

from dataclasses import replace
from decimal import Decimal
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import expit
from typer.testing import CliRunner

from kernel_runs import uncompiled
from takeup import Event, Evidence, Profile, specfile, stream
from takeup.cli import app
from takeup.design.analysed import analysed
from takeup.design.cost import expected_seconds, grain
from takeup.design.lines import intercept, offset
from takeup.design.operate import calibrate, operate
from takeup.design.plan import Plan
from takeup.design.reference import Trial as Simulated
from takeup.design.report import report
from takeup.design.results import Outcomes
from takeup.design.side_by_side import BLOCK, Block, wished
from takeup.design.sizing import size
from takeup.design.study import Study
from takeup.policies.limits import shared
from takeup.policies.linear import Lines
from takeup.populations import CovariateEnvironment, Linear
from takeup.populations.settling import settled
from takeup.simulation.kernels import compile_cpu
from takeup.specfile import SpecError
from takeup.trial import Book, Move, Report, perform
from takeup.trial.commands import decided_event
from takeup.trial.design import canonical
from takeup.trial.events import Looked
from takeup.trial.met import Met
from takeup.trial.proposal import Proposal
from takeup.trial.secret import Secret
from takeup.trial.steering import created_event

AGE: dict[str, Any] = {"kind": "measure", "low": 20, "high": 100, "unit": "years"}
STATE: dict[str, Any] = {"kind": "category", "levels": ["alert", "drowsy", "out"], "missing": "kept"}
WHO: dict[str, Any] = {"age": {"mean": 70, "sd": 15}, "state": {"alert": 0.6, "drowsy": 0.2, "missing": 0.2}}
PROGNOSTIC: dict[str, Any] = {"age": {"per": 10, "effect": -0.3}, "state": {"drowsy": -0.5, "missing": 0.25}}
MODIFIERS: dict[str, Any] = {"age": -0.04, "state": {"drowsy": 0.7}}
TAKING: dict[str, Any] = {"age": {"per": 10, "effect": 0.2}}
NULL: dict[str, Any] = {"role": "null", "success": [0.5, 0.5], "who": WHO, "prognostic": PROGNOSTIC}
APART: dict[str, Any] = {
    "success": [0.4, 0.6],
    "take_up": 0.7,
    "two_sided": 0.1,
    "who": "null",
    "prognostic": "null",
    "modifiers": MODIFIERS,
    "taking": TAKING,
}
PLAN: dict[str, Any] = {
    "name": "Clinic",
    "burn_in": 4,
    "space": {
        "proposals": ["usual", "new"],
        "outcomes": ["died", "lived"],
        "covariates": {"age": AGE, "state": STATE},
        "interactions": [["age", "state"]],
    },
    "policy": {"kind": "LinTS"},
    "limits": {"floor": 0.1},
    "looks": {"at": [15, 30], "update": "patient"},
    "stopping": {"superiority": 0.9, "reading": "adjusted"},
    "scenarios": {"null": NULL, "apart": APART},
}
FORGETS = {"kind": "Forgetting", "base": {"kind": "TS"}, "half_life": 8, "epoch": 3}
STATUSES = ("going on", "superior", "equivalent", "futile", "maximum")


def plan_of(**changes: Any) -> Plan:
    return Plan.of({**PLAN, **changes})


def with_scenario(**changes: Any) -> Plan:
    return plan_of(scenarios={"null": NULL, "other": {**APART, **changes}})


def people_of(plan: Plan, name: str = "apart") -> CovariateEnvironment:
    return plan.scenarios[name].people[0][1]


class TestScenarios:
    def test_rates_and_take_up_are_averages_and_effects_are_log_odds(self) -> None:
        """By hand: every age and state with its probability, and logits that differ as is written."""
        plan = plan_of()
        people, space = people_of(plan), plan.design.space
        ages = np.arange(20, 101)
        share = np.exp(-(((ages - 70) / 15) ** 2) / 2)
        share /= share.sum()
        rate = np.zeros((2, 2, 2))  # proposal, implemented, outcome
        success, taken = np.zeros(2), 0.0
        states = {"alert": (0.6, 0.0, 0.0), "drowsy": (0.2, -0.5, 0.7), None: (0.2, 0.25, 0.0)}
        first = people.value(space.profile({"age": 20, "state": "alert"}))
        assert first.shape == (2,)
        logits: dict[Any, list[float]] = {}
        for age, (state, (part, _, _)) in product(ages.tolist(), states.items()):
            unit = space.profile({"age": age, "state": state})
            p = share[age - 20] * part
            fared = people.outcome.probabilities(unit, space, "outcome")[0, 0]
            takes = people.compliance.probabilities(unit, space, "compliance")[0]
            success += p * fared[:, 1]
            taken += p * takes[1, 1]
            rate += p * takes[:, :, np.newaxis] * fared
            odds = np.log(fared[:, 1] / fared[:, 0])
            logits[age, state] = [*odds, np.log(takes[1, 1] / takes[1, 0])]
            assert takes[0, 1] == pytest.approx(0.1)
        np.testing.assert_allclose(success, [0.4, 0.6], atol=1e-9)
        assert taken == pytest.approx(0.7, abs=1e-9)
        np.testing.assert_allclose(plan.scenarios["apart"].environment.response[0], rate, atol=1e-9)
        for (age, state), found in logits.items():
            _, prognostic, modified = states[state]
            feature = round(1000 * (age - 20) / 80 + 1e-9) / 1000 * 80  # features are thousandths
            line = -0.03 * feature + prognostic
            new = line - 0.04 * feature + modified
            expected = [line, new, 0.02 * feature]
            np.testing.assert_allclose(np.subtract(found, logits[20, "alert"]), expected, atol=1e-6)

    def test_a_mean_is_an_average_too(self) -> None:
        outcomes = {"kind": "number", "low": 0, "high": 200, "better": "lower"}
        scenario = {"mean": [120, 110], "sd": 10, "who": WHO, "prognostic": {"age": 0.5}, "modifiers": {"age": 0.2}}
        plan = plan_of(space={**PLAN["space"], "outcomes": outcomes}, scenarios={"apart": scenario})
        np.testing.assert_allclose(plan.scenarios["apart"].values, [-120, -110], atol=1e-3)
        people, space = people_of(plan), plan.design.space
        low, high = (people.value(space.profile({"age": age, "state": "alert"})) for age in (60, 68))
        np.testing.assert_allclose(low - high, [4, 5.6], atol=0.02)

    def test_modifiers_may_be_of_one_action(self) -> None:
        by_name = with_scenario(modifiers={"new": MODIFIERS}).scenarios["other"]
        of_all = with_scenario().scenarios["other"]
        np.testing.assert_array_equal(by_name.environment.response, of_all.environment.response)

    def test_without_effects_a_scenario_means_what_it_means_without_covariates(self) -> None:
        """Confounded, two-sided and falling, too; of each phase the tables are those of the plain truth."""
        short = {"success": [0.4, 0.6], "take_up": {"from": 0.9, "to": 0.5}, "two_sided": 0.1, "confounded": 0.1}
        found = plan_of(scenarios={"any": {**short, "who": WHO}}).scenarios["any"]
        space = {key: value for key, value in PLAN["space"].items() if key in ("proposals", "outcomes")}
        plain = {**PLAN, "space": space, "policy": {"kind": "TS"}, "stopping": {}, "scenarios": {"any": short}}
        other = Plan.of(plain).scenarios["any"]
        np.testing.assert_allclose(found.values, other.values)
        assert [start for start, _ in found.people] == [start for start, _ in other.environment.phases]
        for (_, people), (_, truth) in zip(found.people, other.environment.phases, strict=True):
            unit = people.space.profile({"age": 50, "state": None})
            np.testing.assert_allclose(people.value(unit), truth.value()[0])

    def test_models_may_be_written_down(self) -> None:
        line = [0.5, -1.0, *[0.0] * 6]
        compliance = {"logit": [[[0.0] * 8, [-1.0] + [0.0] * 7], [[0.0] * 8, [2.0] + [0.0] * 7]]}
        outcome = {"logit": [[[0.0] * 8, line], [[0.0] * 8, [1.0, -2.0, *[0.0] * 6]]]}
        plan = plan_of(scenarios={"any": {"who": WHO, "compliance": compliance, "outcome": outcome}})
        unit = plan.design.space.profile({"age": 60, "state": "alert"})
        takes, fares = expit([-1.0, 2.0]), expit([0.5 - 0.5, 1.0 - 1.0])
        np.testing.assert_allclose(people_of(plan, "any").value(unit), (1 - takes) * fares[0] + takes * fares[1])

    def test_people_of_the_past_are_read_from_a_file(self, tmp_path: Path) -> None:
        """Beside the plan; the plan then lists them, and means the same wherever it is."""
        (tmp_path / "past.csv").write_text("id,age,state\n1,30,alert\n2,90,\n3,60,drowsy\n")
        content = {**PLAN, "scenarios": {"null": {**NULL, "who": "past.csv"}, "apart": APART}}
        (tmp_path / "plan.toml").write_text(specfile.toml(content))
        plan = Plan.load(tmp_path / "plan.toml")
        listed = plan.content["scenarios"]["null"]["who"]
        assert listed == [{"age": 30, "state": "alert"}, {"age": 90}, {"age": 60, "state": "drowsy"}]
        again = Plan.of(plan.content)
        found = again.scenarios["apart"].environment.response
        np.testing.assert_array_equal(plan.scenarios["apart"].environment.response, found)
        probability, unit = people_of(plan).population.atoms()
        assert probability.tolist() == [1 / 3] * 3
        assert plan.design.space.covariates is not None
        assert plan.design.space.covariates.values(np.asarray(unit.features)[1]) == {"age": 90, "state": None}

    def test_where_there_are_very_many_people_some_stand_for_all(self) -> None:
        fine = {"age": {**AGE, "step": 0.01}, "pressure": {"kind": "measure", "low": 60, "high": 260}}
        scenario = {"success": [0.4, 0.6], "who": {"age": {"mean": 70, "sd": 15}}, "prognostic": {"age": -0.03}}
        plan = plan_of(space={**PLAN["space"], "covariates": fine, "interactions": []}, scenarios={"any": scenario})
        np.testing.assert_allclose(plan.scenarios["any"].values, [0.4, 0.6], atol=1e-9)

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            (
                {"who": {"sex": {"f": 1}}},
                r"other\.who\.sex: got {'f': 1}, expected one of the keys age, state",
            ),
            ({"who": {"age": {"mean": 700, "sd": 1}}}, r"who\.age\.mean: got 700\.0, expected a number from 20 to 100"),
            ({"who": {"age": {"mean": 70}}}, r"who\.age\.sd is missing; expected a number"),
            ({"who": {"age": {"mean": 70, "sd": 0.1}}}, r"who\.age\.sd: got 0\.1, expected at least half a step"),
            ({"who": {"age": 3}}, r"who\.age\.distribution: got 3, expected a table such as"),
            ({"who": {"age": {"mean": 70, "sd": 9, "missing": 0.1}}}, r"who\.age\.missing: got 0\.1, expected nothing"),
            ({"who": {"state": {"alert": 0.5}}}, r"who\.state\.shares: got a sum of 0\.5, expected shares of alert"),
            ({"who": [{"age": 7}]}, r"who\[0\]\.covariates\.age: got 7"),
            ({"who": [{"state": "alert"}]}, r"who\[0\]\.covariates\.age: got None"),
            ({"who": []}, "who: got 0 people"),
            ({"who": "past.csv"}, "who: got 'past.csv', expected a table, or the name of a scenario"),
            ({"prognostic": {"age": {"per": 10}}}, r"prognostic\.age\.effect is missing; expected what `per` years"),
            ({"prognostic": {"age": {"per": 0, "effect": 1}}}, r"prognostic\.age\.per: got 0"),
            ({"prognostic": {"age": [1, 2]}}, r"prognostic\.age\.effect: got \[1, 2\], expected one number"),
            ({"prognostic": {"state": -0.5}}, r"prognostic\.state\.effect: got -0\.5, expected one of each level"),
            ({"prognostic": {"state": {"asleep": 1}}}, r"prognostic\.state\.asleep: got 1, expected one of the keys"),
            ({"modifiers": {"old": {"age": 1}}}, r"modifiers\.old: .* expected one of the keys age, state, usual, new"),
            ({"take_up": None, "two_sided": 0}, r"take_up is missing; expected the share of all who take"),
            ({"success": [0, 0.5]}, "expected rates above 0 and below 1, where covariates change them"),
            ({"confounded": 0.1}, "confounded: got 0.1, expected nothing beside prognostic"),
            ({"outcome": {"logit": []}}, "beside a model of outcome"),
            ({"role": "null"}, "expected values that are all the same in a null"),
        ],
    )
    def test_names_what_is_wrong(self, changes: dict[str, Any], told: str) -> None:
        with pytest.raises(SpecError, match=told):
            with_scenario(**changes)

    def test_without_covariates_nothing_is_said_of_them(self) -> None:
        content = {"space": {"proposals": 2}, "policy": {"kind": "TS"}, "stopping": {}}
        with pytest.raises(SpecError, match=r"scenarios\.null\.who: got something, expected nothing: the space has no"):
            plan_of(**content)

    def test_a_reading_that_adjusts_needs_a_policy_that_uses_covariates(self) -> None:
        with pytest.raises(SpecError, match="TS proposes without covariates, so that they leave nothing to adjust for"):
            plan_of(policy={"kind": "TS"})


@cache
def hundred() -> dict[str, Outcomes]:
    """A hundred trials of each scenario."""
    return operate(plan_of(), None, 100, 1)


class Seen(Block):
    """A block that remembers who came, and the probabilities of what they were proposed."""

    met: list[np.ndarray]

    def propose(self, t: int, unit: Profile) -> np.ndarray:
        everybody = np.zeros((BLOCK, unit.features.shape[-1]), dtype=np.int64)  # type: ignore[union-attr]
        everybody[self.on] = unit.features
        self.met = [*getattr(self, "met", []), everybody]
        return Block.propose(self, t, unit)


CASES: dict[str, dict[str, Any]] = {
    "adjusted": {},
    "a lag": {"looks": {"at": [15, 30], "update": "patient", "lag": 4}},
    "intention to treat": {"stopping": {"superiority": 0.9, "control": "usual"}},
    "forgetting": {"policy": {**FORGETS, "base": {"kind": "LinTS"}}},
    "compliers": {"stopping": {"superiority": 0.9, "control": "usual", "reading": "compliers"}},
}


@pytest.mark.parametrize("changes", CASES.values(), ids=CASES)
def test_what_a_simulation_went_through_ends_alike_and_at_the_same_look_where_it_is_lived(
    changes: dict[str, Any],
) -> None:
    """The same people are proposed the same, do the same and fare the same; the live looks are those of the plan."""
    plan = plan_of(**changes)
    block = Seen(plan, plan.reading, plan.scenarios["apart"], 3, 0)  # type: ignore[arg-type]
    courses = block.run()
    assert plan.design.space.covariates is not None
    ends = set()
    for row, course in enumerate(courses[:8]):
        secret = Secret(f"{5:064x}", "0" * 32)
        book = Book.begin(created_event("t", plan.design, secret, 0, None), secret)
        perform(Move(state="running"), book, 0)
        for t in range(course.randomised):
            known = plan.design.space.covariates.values(block.met[t][row])
            met = Met(0, canonical(plan.design.space.covariates.kept(known)))
            made = Proposal(int(course.units[t, 0]), (0.5, 0.5), (0.5, 0.5))
            book.append(decided_event(book, t + 1, (f"u{t}", ""), met, made, at=t))
        for t in range(course.randomised):
            _, a, y = course.units[t].tolist()
            perform(Report(decision=t + 1, implemented=a, outcome=y), book, 1000 + t)
        held = [entry.event for entry in book.changes.entries if isinstance(entry.event, Looked)]
        held = [each for each in held if each.ended is None or each.ended == each.look]
        found = course.output()
        assert (held[-1].look, held[-1].status) == (found.look + 1, STATUSES[int(found.status)])
        top = [c["probability"] for each in held for c in each.compared if c["rule"] == "superiority"]
        np.testing.assert_allclose(top, found.top[: len(top)], atol=1e-8)
        ends.add((held[-1].look, held[-1].status))
    assert len(ends) > 1


def test_the_policy_knows_what_is_known_when_a_unit_comes() -> None:
    """With a lag of 4 unit 20 is met with the first 16 outcomes, as a twin of one trial has them."""
    plan = plan_of(looks={"at": [40], "update": "patient", "lag": 4})
    block = Seen(plan, "adjusted", plan.scenarios["apart"], 3, 0)
    block.run(most=20)
    block.learn(16)
    twin = Evidence.empty(plan.design.space)
    course = block.courses[7]
    for t in range(16):
        z, a, y = course.units[t].tolist()
        twin = twin.record(Event(0, z, a, y, features=tuple(block.met[t][7].tolist())))
    np.testing.assert_array_equal(block.known(7).counts, twin.counts)


def test_probabilities_are_those_of_a_live_trial() -> None:
    """Counted in 20,000 draws of the noise: within 5 errors of what is exact, which errs once in 100,000 tests."""
    plan = plan_of(looks={"at": [40], "update": "patient"})
    block = Seen(plan, "adjusted", plan.scenarios["apart"], 3, 0)
    block.run(most=15)
    block.learn(15)
    unit = Profile(np.zeros(BLOCK, dtype=np.int64), block.met[0])
    beliefs = block.plan.design.policy.beliefs(block.state, unit, stream(1))
    assert isinstance(beliefs, Lines)
    ahead = beliefs.ahead(stream(2), 20_000)
    counted = wished(beliefs, np.ones((BLOCK, 2), dtype=bool), stream(3), 1_000)
    for row in range(0, BLOCK, 10):
        one = replace(block.state, counts=block.state.counts[row])
        alone = Profile(0, tuple(block.met[0][row].tolist()))
        exact = plan.design.policy.allocation(one, alone, stream(0)).probability
        assert ahead[row] == pytest.approx(exact[0], abs=5 * 0.5 / np.sqrt(20_000))
        assert counted[row, 0] == pytest.approx(exact[0], abs=0.15)
        share = block.shares(exact[np.newaxis], np.ones((1, 2), dtype=bool), 0.5)[0]
        np.testing.assert_allclose(share, shared(exact, (0, 1), plan.limits, 0.5), atol=1e-12)


@pytest.mark.parametrize(
    "changes",
    [
        {"limits": {}, "burn_in": 0},
        {"policy": {"kind": "LinUCB"}, "limits": {"floor": 0.2, "soften": "i/2n"}},
        {"stopping": {"superiority": 0.9, "control": "usual", "control_share": 0.4}},
    ],
)
def test_trials_depend_on_their_number_alone(changes: dict[str, Any]) -> None:
    """Trials 90 to 130 are of two blocks, whatever else is run beside them."""
    plan = plan_of(**{"looks": {"at": [9, 18], "update": "patient"}, **changes})
    whole, part = (operate(plan, ["apart"], numbers, 1)["apart"] for numbers in (range(200), range(90, 130)))
    for one, other in zip(whole.kept, part.kept, strict=True):
        np.testing.assert_array_equal(one[90:130], other)
    assert (operate(plan, ["apart"], range(90, 100), 2)["apart"].kept.statistic != part.kept.statistic[:10]).any()


def test_three_proposals_of_which_one_may_be_dropped() -> None:
    space = {**PLAN["space"], "proposals": ["usual", "new", "newer"]}
    stopping = {"superiority": 0.95, "inferiority": 0.1, "reading": "adjusted"}
    truth = {"success": [0.2, 0.5, 0.8], "take_up": 0.9, "who": WHO, "prognostic": PROGNOSTIC, "taking": TAKING}
    plan = plan_of(space=space, stopping=stopping, scenarios={"any": truth})
    found = operate(plan, None, 100, 1)["any"]
    dropped = found.kept.dropped
    assert (dropped[:, 0] > 0).sum() > (dropped[:, 2] > 0).sum()
    assert found.metrics()["by_unit"]["best"]["mean"] > 1 / 3


class TestByUnit:
    @pytest.mark.parametrize("trials", [20, pytest.param(200, marks=pytest.mark.long)])
    def test_a_policy_without_covariates_runs_on_the_kernel_with_what_is_expected_of_units(
        self, monkeypatch: pytest.MonkeyPatch, trials: int
    ) -> None:
        """What it proposes does not depend on the unit: the share with their best follows from how many had each.

        Few trials are run by Python.
        """
        if trials < 100:
            monkeypatch.setattr(compile_cpu, "build", uncompiled)
        plan = plan_of(policy={"kind": "TS"}, stopping={"superiority": 0.9}, looks={"at": [15, 30]})
        found = operate(plan, ["apart"], trials, 1)["apart"]
        assert found.engine == "cpu"
        people = people_of(plan)
        probability, unit = people.population.atoms()
        value = people.value(unit)
        best = probability @ (value == value.max(axis=-1, keepdims=True))
        by_unit = found.by_unit()
        assert by_unit is not None
        np.testing.assert_allclose(by_unit["best"], found.units @ best / found.size)
        np.testing.assert_allclose(by_unit["regret"], found.units @ people.regret())

    def test_a_policy_with_covariates_is_counted(self) -> None:
        """Unit by unit, from who came and what is worth what to each."""
        plan = plan_of()
        block = Seen(plan, "adjusted", plan.scenarios["apart"], 1, 0)
        courses = block.run()
        found = operate(plan, ["apart"], BLOCK, 1)["apart"]
        by_unit, people = found.by_unit(), people_of(plan)
        assert by_unit is not None
        for row in range(5):
            course = courses[row]
            features = np.array([block.met[t][row] for t in range(course.randomised)])
            value = people.value(Profile(np.zeros(course.randomised, dtype=np.int64), features))
            z = course.units[: course.randomised, 0]
            lost = value.max(axis=-1) - value[np.arange(z.size), z]
            assert by_unit["regret"][row] == pytest.approx(lost.sum(), abs=1e-4)
            assert by_unit["best"][row] == pytest.approx((lost == 0).mean())
            assert by_unit["inferior"][row] == (lost > 0).sum()


class TestForgetting:
    @pytest.mark.parametrize("update", ["look", "patient"])
    def test_the_policy_believes_from_what_is_left(self, update: str) -> None:
        """A twin that learns decisions as they are made, and hears of outcomes when they are known."""
        space = {"proposals": ["usual", "new"], "outcomes": ["died", "lived"]}
        looks = {"at": [12, 24], "update": update, "lag": 5}
        plan = plan_of(
            space=space, policy=FORGETS, looks=looks, stopping={}, scenarios={"any": {"success": [0.4, 0.6]}}
        )
        trial = Simulated(plan, "intention to treat", plan.scenarios["any"].environment, 1, 0)
        trial.run()
        twin: Any = plan.design.start
        events = [Event(0, z, a, y, number=t) for t, (z, a, y) in enumerate(trial.units.tolist())]
        hidden = [replace(each, implemented=-1, outcome=-1) for each in events]
        for each in hidden:
            twin = plan.design.policy.learn(twin, each, stream(0))
        for t in range(19):
            twin = plan.design.policy.report(twin, hidden[t], events[t], stream(0))
        found: Any = trial.state(19)
        np.testing.assert_array_equal(found.counts[..., :-1], twin.counts[..., :-1])
        assert (found.newest, found.length) == (twin.newest, twin.length)

    def test_a_plan_with_it_runs_and_tells_its_engine(self) -> None:
        space = {"proposals": ["usual", "new"], "outcomes": ["died", "lived"]}
        truth = {"any": {"success": [0.2, 0.8]}}
        plan = plan_of(
            space=space, policy=FORGETS, looks={"at": [15, 30]}, stopping={"superiority": 0.9}, scenarios=truth
        )
        found = operate(plan, None, 20, 1)["any"]
        assert (found.engine, grain(plan), expected_seconds(plan, 20)) == ("reference", 1, None)
        assert found.metrics()["power"]["mean"] > 0.5


@pytest.mark.parametrize("near", [0.5, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize("scale", [2.0, 1e-6])
def test_intercepts_are_the_same_however_a_machine_adds_up(near: float, scale: float) -> None:
    """Random numbers follow from all bits of a truth: sums in another order must not change it, near 0 and near 1."""
    rng = stream(5)
    for rate in (near * float(rng.uniform(0.1, 1)), 1 - near * float(rng.uniform(0.1, 1))):
        for _ in range(5):
            weight, scores = rng.dirichlet(np.ones(999)), rng.normal(scale=scale, size=999)
            found = intercept(rate, scores, weight, float(np.abs(scores).max()))
            for _ in range(5):
                order = rng.permutation(999)
                assert intercept(rate, scores[order], weight[order], float(np.abs(scores).max())) == found
            assert float(weight @ expit(found + scores)) == pytest.approx(rate, rel=1e-10)
            assert float(weight @ expit(-found - scores)) == pytest.approx(1 - rate, rel=1e-10)


@pytest.mark.parametrize("scale", [1.0, 1e7, 2e6, 1e-5, 3e-6])
@pytest.mark.parametrize("mean", [0.0, 1.3])
def test_means_begin_the_same_however_a_machine_adds_up(mean: float, scale: float) -> None:
    """Where half are as far above as the others below, too: what is left of the sum is rounding."""
    rng = stream(6)
    for _ in range(20):
        half, each = rng.dirichlet(np.ones(500)) / 2, rng.normal(scale=scale, size=500)
        weight, scores = np.append(half, half), np.append(each, -each)
        size = float(np.abs(scores).max())
        found = offset(mean * scale, scores, weight, size)
        assert found == pytest.approx(mean * scale, abs=1e-11 * size)
        for _ in range(5):
            order = rng.permutation(1000)
            assert repr(offset(mean * scale, scores[order], weight[order], size)) == repr(found)


def test_covariates_that_cancel_do_not_move_the_means_by_rounding() -> None:
    """Two measures whose effects cancel in all people together: in which order they are listed changes nothing."""
    measures = {name: {"kind": "measure", "low": 0, "high": 100} for name in ("this", "that")}
    rng = stream(7)
    people = [{"this": int(one), "that": int(other)} for one, other in rng.integers(101, size=(150, 2))]
    people += [{"this": each["that"], "that": each["this"]} for each in people]
    lines = {"prognostic": {"this": 0.053, "that": -0.053}, "mean": [0, 0.1], "sd": 1}
    space = {"proposals": 2, "outcomes": {"kind": "number", "low": -20, "high": 20}, "covariates": measures}
    found = []
    for _ in range(5):
        rng.shuffle(people)
        ((_, truth),) = plan_of(space=space, scenarios={"any": {"who": people, **lines}}).scenarios["any"].people
        assert isinstance(truth.outcome, Linear)
        found.append(np.asarray(truth.outcome.coefficients))
    np.testing.assert_array_equal(found[0][:, 0], [0, 0.1])
    assert len({each.tobytes() for each in found}) == 1


def test_numbers_are_settled_as_in_exact_decimals() -> None:
    """From 1e-12 to 1e12, to eleven digits of a scale up to a million times as large; 0.1 + 0.2 is 0.3."""
    rng = stream(8)
    for _ in range(2_000):
        number = float(10 ** rng.uniform(-12, 12) * rng.choice([-1, 1]))
        scale = abs(number) * float(10 ** rng.uniform(0, 6))
        last = Decimal(1).scaleb(Decimal(scale).adjusted() - 11)
        assert settled(number, scale) == float(Decimal(number).quantize(last))
    assert [settled(0.1 + 0.2, 1.0), settled(1e-17, 1.0), settled(3e-5, 1e-5)] == [0.3, 0, 3e-5]
    assert settled(0.123456789012345, 10.0) == settled(0.123456789012345, float(np.nextafter(10, 0))) == 0.1234567890
    assert [repr(settled(each, scale)) for each in (0.0, -0.0, -1e-30) for scale in (0.0, 1.0)] == ["0.0"] * 6


def test_a_threshold_is_found_as_for_others() -> None:
    found = calibrate(plan_of(), 0.2, replications=100, seed=1)
    assert 0.5 < found.threshold < 1
    assert found.worst.mean <= 0.2 + 2.5 * found.worst.error


@pytest.mark.long
def test_a_size_is_found_as_for_others() -> None:
    needed = size(plan_of(), 0.5, replications=400, seed=1, calibrate_to=0.1)
    assert needed.found.power.mean > 0.5 - 2 * needed.found.power.error
    assert needed.plan.looks.at[-1] > 30


def test_the_planned_analysis_weighs_by_the_logged_probabilities() -> None:
    (apart,) = analysed(plan_of(), ["apart"], 3, 1)
    np.testing.assert_allclose(apart.truth, np.diff(plan_of().scenarios["apart"].values)[0])
    assert np.isfinite(apart.value).all()


def test_the_command_says_how_well_proposals_suited_each_unit(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(specfile.toml(PLAN))
    told = CliRunner().invoke(app, ["design", str(path), "--replications", "100"])
    assert told.exit_code == 0, told.output
    assert "Each unit, by its covariates" in told.output
    figures = Study(plan_of(), 1, hundred()).plain()["scenarios"][0]["metrics"]
    assert set(figures["by_unit"]) == {"best", "inferior", "regret"}
    expected = expected_seconds(plan_of(), 1_000)
    assert expected is not None
    assert expected > 0


def test_the_report_says_what_is_known_before_and_what_is_read() -> None:
    plan = plan_of()
    page = report(plan, {"null": hundred()["null"]})
    assert "Known of each before is age, state; proposals depend on it." in page
    assert "at equal covariates" in page.replace("\n", " ")


CLINIC: dict[str, Any] = {
    "name": "Clinic",
    "burn_in": 20,
    "space": {
        "proposals": ["usual care", "new drug"],
        "outcomes": ["died", "lived"],
        "covariates": {"age": AGE, "state": {"kind": "category", "levels": ["alert", "drowsy"]}},
    },
    "policy": {"kind": "LinTS"},
    "limits": {"floor": 0.1},
    "looks": {"at": [100, 200], "update": "patient"},
    "stopping": {"superiority": 0.994, "reading": "adjusted"},
}
PEOPLE = {"age": {"mean": 65, "sd": 12}, "state": {"alert": 0.7, "drowsy": 0.3}}
STRONG = {"age": {"per": 10, "effect": -0.5}, "state": {"drowsy": -1}}
NULLS: dict[str, dict[str, Any]] = {
    "no effects": {"role": "null", "success": [0.5, 0.5], "who": PEOPLE},
    "prognostic": {"role": "null", "success": [0.5, 0.5], "who": PEOPLE, "prognostic": STRONG},
    "modified": {
        "role": "null",
        "success": [0.5, 0.5],
        "who": PEOPLE,
        "prognostic": STRONG,
        "modifiers": {"age": {"per": 10, "effect": -0.5}},
    },
}


@pytest.mark.long
def test_a_calibrated_threshold_of_the_adjusted_reading_keeps_its_error_under_allocation_by_covariates() -> None:
    """At 0.994, which `calibrate` found for 0.05; 4,000 trials of each null had .041, .046 and .045.

    2,000 others of each are within three errors of 0.05: were it 0.05, one would be beyond in 700 tests of each. The
    plain reading errs in .34 of 1,000 at 0.975, where even allocation errs in .084; here in more than .2 of 500.
    """
    found = operate(Plan.of({**CLINIC, "scenarios": NULLS}), None, 2_000, 7)
    errors = {name: each.claimed.mean() for name, each in found.items()}
    assert max(errors.values()) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2_000), errors
    plain = Plan.of({**CLINIC, "stopping": {"superiority": 0.975}, "scenarios": NULLS})
    assert operate(plain, ["modified"], 500, 7)["modified"].claimed.mean() > 0.2
