"""Specs of trials: what a file can say, what is refused, and that the seed stays hidden."""

import hashlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from plans import told
from takeup.errors import InputError
from takeup.policies import registered
from takeup.policies.base import Registered, is_live
from takeup.policies.description import describe
from takeup.policies.meeting import uses_covariates
from takeup.specfile import SpecError, toml
from takeup.trial import Design, TrialSpec, load
from takeup.trial.secret import Secret
from takeup.trial.spec import parse

GOOD = """
name = "Stroke"
burn_in = 20
window = "90 days"
compliance = "sometimes"
draws = 500
rehearsal = true
seed = 7

[space]
proposals = ["usual care", "new drug"]
implemented = ["usual care", "new drug", "both"]
contexts = ["young", "old"]
outcomes = ["died", "ill", "well"]
utility = [0.0, 0.4, 1.0]

[policy]
kind = "TSObs"
beta = [[4, 1, 1], [1, 4, 1]]

[limits]
floor = 0.1
ceiling = { "new drug" = 0.8 }

[stopping]
probability_best = 0.99
maximum = 1000

[fallback]
"usual care" = 0.25
"new drug" = 0.75
"""


def test_a_file_says_it_all(tmp_path: Path) -> None:
    file = tmp_path / "trial.toml"
    file.write_text(GOOD)
    spec = load(file)
    design = Design.of(spec, file.name)
    assert design.window == 90 * 86_400 * 1_000_000
    assert design.fallback == (0.25, 0.75)
    assert design.limits.project([0.0, 1.0]).tolist() == pytest.approx([0.2, 0.8])
    assert design.space.intended == (0, 1)
    as_json = tmp_path / "trial.json"
    as_json.write_text(json.dumps(spec.model_dump(mode="json")))
    assert Design.of(load(as_json)).text == design.text


def test_a_spec_without_the_tables_of_a_plan_keeps_its_text() -> None:
    """The hash is that of the version before: what was stored is hashed in the log, and must come out the same."""
    text = Design.of(parse(tomllib.loads(GOOD))).text
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "03334062cf926c29"


def test_what_will_be_reported_keeps_its_text_where_nothing_newer_is_said() -> None:
    """The keys of the version that had [analysis] first; those that came later are in it where they are given."""
    old = {"reading": "intention to treat", "contrast": "difference", "confidence": 0.95, "sided": 2}
    for given, kept in (({}, old), ({"test": "betting"}, {**old, "test": "betting"})):
        design = Design.of({**PLAN, "analysis": given})
        assert json.loads(design.text)["analysis"] == kept
        assert Design.of_text(design.text).text == design.text


PLAN: dict[str, Any] = {
    "name": "t",
    "space": {"proposals": ["usual", "new", "newest"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.1, "rule": "proportional", "soften": [0.5, 0.7]},
    "looks": {"at": [20, 40], "lag": 5},
    "stopping": {
        "superiority": 0.98,
        "futility": {"probability": 0.9, "margin": 0.1},
        "control": "usual",
        "control_share": "sqrt",
    },
    "scenarios": {"null": {"role": "null", "success": [0.3, 0.3, 0.3]}},
    "analysis": {"reading": "compliers", "sided": 1},
}


def test_a_plan_is_the_spec_of_a_trial() -> None:
    """What is stored gives the same design, with its looks, its rules, and how often it errs."""
    design = Design.of(parse(told(PLAN)))
    assert design.looks is not None
    assert design.rules.superiority is not None
    assert design.soften is not None
    assert (design.looks.at.tolist(), design.looks.lag) == ([20, 40], 5)
    assert design.rules.superiority.tolist() == [0.98, 0.98]
    assert (design.rules.control, design.control_share, design.soften.tolist()) == (0, "sqrt", [0.5, 0.7])
    assert design.limits.project([0.0, 0.2, 0.8]) == pytest.approx([0.1, 0.18, 0.72])
    again = Design.of_text(design.text)
    assert again.text == design.text
    assert again.spec.stopping.error is not None
    assert again.spec.stopping.error.found == 0.0493
    assert (again.spec.analysis, again.spec.scenarios) == (design.spec.analysis, PLAN["scenarios"])


def _moved(*more: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A bounded reading whose weights are wrong in one way."""
    right = {"one": "new", "other": "usual", "proposed": "new", "implemented": "usual", "weight": -0.3}
    moved = [{**right, **changed}, *({**right, **each} for each in more)]
    return {"stopping": {"control": "usual", "reading": {"bounded": 0.05, "moved": moved}}}


def test_a_bounded_reading_without_weights_keeps_its_text_and_one_with_them_has_them() -> None:
    for reading in ({"bounded": 0.05}, {"bounded": 0.05, "moved": []}, _moved()["stopping"]["reading"]):
        design = Design.of(parse({**PLAN, "stopping": {"control": "usual", "reading": reading}}))
        assert json.loads(design.text)["stopping"]["reading"] == reading
        assert Design.of_text(design.text).text == design.text


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"looks": None}, "stopping.superiority: got 0.98, expected nothing without looks"),
        ({"looks": None, "stopping": {"reading": "compliers"}}, "stopping.reading: got 'compliers'"),
        ({"looks": None, "stopping": {}}, "limits.soften: got [0.5, 0.7], expected 1, or looks"),
        ({"space": {"proposals": 3, "contexts": 2}}, "looks.at: got 2 contexts"),
        ({"scenarios": {"null": 3}}, "scenarios.null: got 3, expected a table"),
        ({"scenarios": {"null": {"success": [float("nan")]}}}, "scenarios: got"),
        ({"scenarios": {"null": {"\ud800": 1}}}, "scenarios: got"),
        ({"stopping": {"error": {"target": 0.05}}}, "stopping.error.found is missing"),
        (_moved(one="old"), "stopping.reading.moved.0.one: got 'old', expected one of usual, new, newest"),
        (_moved(other="new"), "stopping.reading.moved.0.other: got 'new', expected one of usual, newest"),
        (_moved(proposed="usual"), "stopping.reading.moved.0.proposed: got 'usual', expected one of new, newest"),
        (_moved(implemented="x"), "stopping.reading.moved.0.implemented: got 'x', expected one of usual, new, newest"),
        (_moved(weight=float("nan")), "stopping.reading.moved.0.weight: got nan, expected a number that is finite"),
        (_moved(weigth=0.5), "stopping.reading.moved.0.weigth: got 0.5, expected one of the keys one, other, proposed"),
        (_moved({}), "stopping.reading.moved.1: got {'one': 'new', 'other': 'usual', 'proposed': 'new',"),
        (_moved({"one": "usual", "other": "new"}), "stopping.reading.moved.1: got {'one': 'usual', 'other': 'new'"),
        (
            {**_moved(), "space": {"proposals": ["usual", "new", *"abcdefghijklmnopqrstuvwxyzABCD"]}, "limits": {}},
            "stopping.reading: got one for 32 proposals and 32",
        ),
        ({"analysis": {"contrast": "quotient"}}, "analysis.contrast: got 'quotient'"),
        ({"analysis": {"reading": "compliers", "contrast": "ratio"}}, "analysis.contrast: got 'ratio', expected 'diff"),
        ({"analysis": {"test": "t"}}, "analysis.test: got 't'"),
        ({"analysis": {"any_time": 1}}, "analysis.any_time: got 1"),
        ({"analysis": {"confidence": 95}}, "analysis.confidence: got 95"),
    ],
)
def test_tables_of_a_plan_are_refused_by_key_and_value(tables: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(f"spec: {message}")):
        Design.of(parse({name: table for name, table in {**PLAN, **tables}.items() if table is not None}))


@pytest.mark.parametrize(
    "changed",
    [
        {"stopping": {"superiority": 0.97}},
        {"stopping": {"futility": None}},
        {"looks": {"at": [20, 41], "lag": 5}},
        {"limits": {"floor": 0.05}},
        {"policy": {"kind": "TS", "alpha": 2}},
        {"scenarios": {"null": {"role": "null", "success": [0.3, 0.3, 0.4]}}},
        {"scenarios": {}},
        {"burn_in": 5},
    ],
    ids=str,
)
def test_an_error_is_told_of_the_rule_that_it_was_found_for(changed: dict[str, Any]) -> None:
    """Whoever changes the rule finds out again how often it errs, or says nothing of it; what has begun goes on."""
    content = told(PLAN)
    other = content | changed | {"stopping": {**content["stopping"], **changed.get("stopping", {})}}
    with pytest.raises(SpecError, match=r"stopping\.error\.digest: .* scenario 'null' are others .* --calibrate again"):
        Design.of(other)
    assert Design.of(other, new=False).spec.stopping.error is not None


@pytest.mark.parametrize("deep", [19, 300, 900])
def test_scenarios_that_are_too_deep_are_refused(deep: int) -> None:
    """Twenty within each other at most, the scenarios themselves among them; pydantic and JSON fail at some hundred."""
    inner: Any = 1
    for number in range(deep):
        inner = {"a": inner} if number % 2 else [inner]
    with pytest.raises(SpecError, match=r"spec: scenarios: got .*, expected tables and lists at most 20 deep"):
        Design.of({**PLAN, "scenarios": {"null": {"a": inner}}})
    shallow = {"null": {"a": json.loads("[" * 18 + "]" * 18)}}
    assert Design.of({**PLAN, "scenarios": shallow}).spec.scenarios == shallow


def test_the_same_rule_in_other_words_has_the_same_digest() -> None:
    """Defaults that are filled in, whole numbers with a point, another name, more scenarios, TOML and JSON."""
    plan = told({**PLAN, "limits": {"floor": 0.1}})
    full: dict[str, Any] = json.loads(Design.of(plan).text)
    null = {"role": "null", "success": [0.3, 0.3, 0.3]}
    said = {**plan, "name": "u", "draws": 1_000.0, "scenarios": {"null": null, "more": {"success": [0.1, 0.2, 0.3]}}}
    listed = {**plan, "looks": {"first": 20, "every": 20, "last": 40, "lag": 5.0}}
    for each in (full, said, listed, tomllib.loads(toml(full)), json.loads(json.dumps(plan))):
        assert Design.of(each).digest("null") == plan["stopping"]["error"]["digest"]


def test_the_stored_spec_is_complete_and_gives_the_same_design() -> None:
    design = Design.of(parse({"name": "t", "space": {"proposals": 2}, "policy": {"kind": "TSLat"}}))
    stored = json.loads(design.text)
    assert stored["policy"]["max_evaluations"] > 0
    assert stored["space"]["intended"] == [0, 1]
    assert Design.of_text(design.text).text == design.text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "Stroke"', "", "trial.toml: name is missing; expected a value"),
        ('window = "90 days"', 'window = "90 moons"', "trial.toml: window: got '90 moons'"),
        ('window = "90 days"', "window = 0", "trial.toml: window: got 0"),
        ("burn_in = 20", "burnin = 20", "trial.toml: burnin: got 20, expected one of the keys name, "),
        ("burn_in = 20", "burnin = 20", "; did you mean burn_in?"),
        (
            "floor = 0.1",
            "flor = 0.1",
            "flor: got 0.1, expected one of the keys floor, ceiling, rule, soften",
        ),
        (
            "floor = 0.1",
            'floor = "a lot"',
            "got 'a lot', expected a number, or a table of keys and values",
        ),
        ("floor = 0.1", 'floor = { "new drug" = 7 }', "limits.floor.new drug: got 7, expected less than or equal to 1"),
        ("burn_in = 20", "quux = 20", "decisions, fallback, anchored, fallback_limits, edge, rehearsal, words, seed"),
        ("seed = 7", "seed = -7", "trial.toml: seed: got -7"),
        ("utility = [0.0, 0.4, 1.0]", "utility = [1.0, 1.0, 1.0]", "trial.toml: space.utility"),
        ('kind = "TSObs"', 'kind = "UCB"', "trial.toml: policy.kind: got 'UCB'"),
        (
            'kind = "TSObs"\nbeta = [[4, 1, 1], [1, 4, 1]]',
            'kind = "WarmTSLat"',
            "trial.toml: policy.kind: got TS-Lat-0",
        ),
        ("[[4, 1, 1], [1, 4, 1]]", "[[4, 1], [1, 4]]", "trial.toml: policy.beta"),
        ('compliance = "sometimes"', 'compliance = "never"', "TS-Obs learns from decisions whose compliance is seen"),
        ('compliance = "sometimes"', 'compliance = "rarely"', "trial.toml: compliance: got 'rarely'"),
        ("floor = 0.1", "floor = 0.6", "trial.toml: limits: the floors sum to 1.2, more than 1; lower them"),
        ('"new drug" = 0.8 }', '"old drug" = 0.8 }', "trial.toml: limits.ceiling: got 'old drug'"),
        ("probability_best = 0.99", "probability_best = 0.3", "trial.toml: stopping.probability_best: got 0.3"),
        ('"usual care" = 0.25\n', "", "trial.toml: fallback.fallback: got nothing for usual care"),
        ('"usual care" = 0.25', '"usual care" = 0.5', "trial.toml: fallback.probabilities"),
    ],
)
def test_errors_name_file_key_and_value(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    file = tmp_path / "trial.toml"
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(SpecError) as error:
        Design.of(load(file), file.name)
    assert message in str(error.value)


@pytest.mark.parametrize("policy", [each for each in registered() if each.live], ids=lambda each: each.name)
def test_policies_that_need_compliance_are_refused_where_it_is_never_seen(policy: Registered) -> None:
    """Credit for what was done and two stages among them: such a trial could never learn."""
    known = {"covariates": {"age": {"kind": "measure", "low": 18, "high": 100}}} if uses_covariates(policy) else {}
    spec = {"name": "t", "space": {"proposals": 2, **known}, "policy": describe(policy), "compliance": "never"}
    if policy.compliance == "needed":
        with pytest.raises(InputError, match="learns from decisions whose compliance is seen"):
            Design.of(parse(spec))
    else:
        design = Design.of(parse(spec))
        assert is_live(design.policy, design.space)


@pytest.mark.parametrize("label", ["a\x00b", "a\nb", "\ud800", "x" * 201])
def test_labels_that_no_database_could_hold_are_refused(label: str) -> None:
    with pytest.raises(InputError):
        Design.of(parse({"name": "t", "space": {"proposals": ["a", label]}, "policy": {"kind": "TS"}}))


def test_a_space_that_is_too_large_is_refused() -> None:
    content: dict[str, Any] = {"name": "t", "space": {"proposals": 100, "contexts": 100}, "policy": {"kind": "TS"}}
    with pytest.raises(SpecError, match="at most 100000"):
        Design.of(parse(content))


def test_the_seed_is_in_neither_the_stored_spec_nor_any_representation() -> None:
    seed = "5eed" * 16
    spec = parse({"name": "t", "space": {"proposals": 2}, "policy": {"kind": "TS"}, "rehearsal": True, "seed": seed})
    secret = Secret.new(spec.seed)
    design = Design.of(spec)
    assert secret.seed == seed
    for shown in (repr(spec), repr(secret), str(secret), repr(design), design.text, secret.commitment):
        assert seed not in shown


@pytest.mark.requirement("R-2.8")
def test_seeds_are_random_and_commitments_are_salted() -> None:
    first, second = Secret.new(), Secret.new()
    assert first.seed != second.seed
    assert len(bytes.fromhex(first.seed)) == 32
    assert Secret.new(first.seed).commitment != first.commitment
    assert Secret.of_text(first.text) == first


def test_a_spec_from_python() -> None:
    spec = TrialSpec.model_validate({"name": "t", "space": {"proposals": ["a", "b"]}, "policy": {"kind": "TS"}})
    assert Design.of(spec).even == (0.5, 0.5)


def test_a_trial_that_has_begun_goes_on_though_it_would_not_be_begun_today() -> None:
    """What is checked when a spec is written is not checked again when it is read."""
    spec = parse({"name": "t", "space": {"proposals": 2}, "policy": {"kind": "UCBAT"}, "compliance": "always"})
    stored = Design.of(spec).text.replace('"compliance":"always"', '"compliance":"never"')
    assert Design.of_text(stored).spec.compliance == "never"
    with pytest.raises(InputError, match="compliance is never reported"):
        Design.of(parse(json.loads(stored)))
