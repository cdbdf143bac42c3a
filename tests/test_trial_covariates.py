"""Live trials with covariates: what is kept of them, what moves when they are corrected, and who is shown them."""

import json
import sqlite3
from contextlib import closing
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import Event, Evidence, Log, Profile, stream
from takeup.analysis import analyse
from takeup.analysis.replay import re_randomise
from takeup.errors import ConflictError, InputError, ReusedKeyError, StoreError
from takeup.live import Trial
from takeup.log import read_log
from takeup.policies.linear import LinTS
from takeup.specfile import SpecError
from takeup.store import Store
from takeup.trial import met
from takeup.trial.design import Design

COVARIATES: dict[str, dict[str, Any]] = {
    "state": {"kind": "category", "levels": ["alert", "drowsy", "unconscious"], "missing": "kept"},
    "age": {"kind": "measure", "low": 18, "high": 100, "unit": "years"},
    "software": {"kind": "measure", "low": 0, "high": 10, "step": 0.001},
}
SPEC: dict[str, Any] = {
    "name": "Clinic",
    "rehearsal": True,
    "seed": 7,
    "space": {
        "proposals": ["usual", "new"],
        "outcomes": ["died", "lived"],
        "covariates": COVARIATES,
        "interactions": [["state", "age"]],
    },
    "policy": {"kind": "LinTS"},
}
SOMEBODY = {"age": 63, "state": "drowsy", "software": 2.5}


def somebody(rng: np.random.Generator) -> dict[str, Any]:
    states = [*COVARIATES["state"]["levels"], None]
    return {
        "age": round(float(rng.uniform(18, 100)), 2),
        "state": states[rng.integers(4)],
        "software": float(rng.uniform(0, 10)),
    }


def spec(**changes: Any) -> dict[str, Any]:
    return {**SPEC, **changes}


def run(trial: Trial, many: int, seed: int = 1) -> None:
    rng = stream(seed, "clinic")
    for i in range(many):
        decision = trial.decide(f"{i}", covariates=somebody(rng))
        action = None if rng.random() < 0.2 else decision.proposal if rng.random() < 0.7 else "usual"
        outcome = None if rng.random() < 0.2 else ["died", "lived"][rng.integers(2)]
        if action is not None or outcome is not None:
            trial.report(decision, implemented=action, outcome=outcome)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    made = Trial.create(tmp_path / "clinic.db", SPEC)
    made.start()
    return made


class TestSpec:
    def test_its_text_is_a_design_again(self) -> None:
        design = Design.of(SPEC)
        again = Design.of_text(design.text)
        assert (again.text, again.space) == (design.text, design.space)
        assert design.space.covariates is not None
        assert design.space.covariates.names == ("age", "software", "state")

    def test_without_covariates_it_is_as_before(self) -> None:
        plain = Design.of(spec(space={"proposals": 2}, policy={"kind": "TS"}))
        assert set(json.loads(plain.text)["space"]) == {
            *("contexts", "implemented", "intended", "outcomes", "proposals", "utility"),
        }

    @pytest.mark.parametrize(
        ("covariates", "words"),
        [
            ({"age": {"kind": "measure", "low": 18}}, "space.covariates.age.high is missing"),
            ({"age": {"kind": "scale"}}, "space.covariates.age.kind: got 'scale', expected one of measure, category"),
            ({"sex": {"kind": "category", "levels": ["f"]}}, "space.covariates.sex.levels: got"),
            ({"age": {"kind": "measure", "low": 0, "high": 5, "stepp": 1}}, "did you mean step"),
            ({"age": 5}, "space.covariates.age: got 5, expected a table of keys and values"),
            ({"context": {"kind": "measure", "low": 0, "high": 5}}, "another name than context"),
        ],
    )
    def test_names_what_is_wrong(self, covariates: Any, words: str) -> None:
        with pytest.raises(SpecError, match=words):
            Design.of(spec(space={"proposals": 2, "covariates": covariates}))

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"space": {"proposals": 2}}, "learns from covariates, and the space has none"),
            ({"stopping": {"probability_best": 0.9, "reading": "policy"}}, "believes something of each unit"),
            ({"looks": {"first": 10, "every": 10, "last": 50}, "stopping": {"superiority": 0.9}}, "'patient'; LinTS"),
        ],
    )
    def test_refuses_what_does_not_go_with_covariates(self, changes: dict[str, Any], words: str) -> None:
        with pytest.raises(SpecError, match=words):
            Design.of(spec(**changes))


class TestDecide:
    def test_what_is_kept_has_the_same_features(self) -> None:
        """On the grid, so that the same is derived again from what is kept."""
        space, rng = Design.of(SPEC).space, stream(3)
        for _ in range(200):
            given = somebody(rng)
            text_ = met.kept(space, given)
            assert met.features_of(space, text_) == space.profile(given).features
            assert met.kept(space, met.values_of(text_)) == text_

    def test_the_evidence_is_that_of_its_decisions(self, trial: Trial) -> None:
        run(trial, 60)
        space = trial.design.space
        assert trial.evidence() == Evidence.of(space, decisions_of(trial))
        assert trial.audit().difference is None

    def test_the_policy_reads_them(self, trial: Trial) -> None:
        """The probabilities are LinTS's own for this unit, from evidence of which something is known."""
        run(trial, 40)
        space, unit = trial.design.space, space_profile(trial, SOMEBODY)
        known = [each for each in decisions_of(trial) if each.implemented != -1 or each.outcome != -1]
        wanted = LinTS().allocation(Evidence.of(space, known), unit, stream(1)).probability
        trial.decide("next", covariates=SOMEBODY)
        body = json.loads(trial.events(decision=41)[0].body)
        np.testing.assert_allclose(body["probability"], wanted, atol=1e-9)
        other = SOMEBODY | {"age": 20}
        trial.decide("another", covariates=other)
        assert json.loads(trial.events(decision=42)[0].body)["probability"] != body["probability"]

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            (SOMEBODY | {"age": 630}, "covariates.age: got 630 years, expected a number from 18 to 100"),
            (SOMEBODY | {"age": None}, "covariates.age: got None"),
            (SOMEBODY | {"age": float("nan")}, "covariates.age: got nan"),
            (SOMEBODY | {"age": 10**400}, "covariates.age: got 10000"),
            (SOMEBODY | {"age": True}, "covariates.age: got True"),
            (SOMEBODY | {"age": [63]}, r"covariates.age: got \[63\]"),
            (SOMEBODY | {"state": "asleep"}, "covariates.state: got 'asleep', expected one of alert, drowsy"),
            (SOMEBODY | {"sex": "f"}, "covariates.sex: got 'f', expected one of the keys age"),
            ({"age": 63, "state": None}, "covariates.software is missing"),
            ({}, "covariates.age is missing"),
            (None, "covariates is missing; expected a table with age, software, state"),
            ([63], r"covariates: got \[63\], expected a table"),
        ],
    )
    def test_what_is_wrong_is_refused_before_anything_is_written(self, trial: Trial, given: Any, words: str) -> None:
        before = trial.progress().sequence
        with pytest.raises(InputError, match=words):
            trial.decide("somebody", covariates=given)
        with pytest.raises(InputError, match=words):
            trial.decide_many([{"unit": "a", "covariates": SOMEBODY}, {"unit": "b", "covariates": given}])
        with pytest.raises(InputError, match=words):
            trial.fallback("somebody", "new", covariates=given)
        assert trial.progress().sequence == before

    def test_a_trial_without_covariates_takes_none(self, tmp_path: Path) -> None:
        plain = Trial.create(tmp_path / "plain.db", spec(space={"proposals": 2}, policy={"kind": "TS"}))
        plain.start()
        with pytest.raises(InputError, match="this trial has no covariates"):
            plain.decide("somebody", covariates={"age": 63})
        decision = plain.decide("somebody")
        with pytest.raises(InputError, match="this trial has no covariates"):
            plain.report(decision, covariates={"age": 63}, reason="typed")

    def test_asked_again_it_gives_the_same_answer_or_says_what_differs(self, trial: Trial) -> None:
        first = trial.decide("somebody", covariates=SOMEBODY, key="k")
        assert trial.decide("somebody", covariates=SOMEBODY | {"age": 63.2}) == first
        with pytest.raises(ConflictError, match="has decision 1, with age 63 and not 64; report covariates"):
            trial.decide("somebody", covariates=SOMEBODY | {"age": 64})
        with pytest.raises(ReusedKeyError):
            trial.decide("somebody", covariates=SOMEBODY | {"age": 64}, key="k")
        twice = [{"unit": "twice", "covariates": each} for each in (SOMEBODY, SOMEBODY | {"age": 64})]
        with pytest.raises(ConflictError, match="twice, with different covariates"):
            trial.decide_many(twice)

    def test_fallbacks_and_the_past_have_them(self, emptied: str) -> None:
        past = {
            "unit": ["a", "b", "c"],
            "assigned": ["usual", "new", "new"],
            "outcome": ["died", "lived", None],
            "age": [50, 61.2, 70],
            "software": [1, 2, 3],
            "state": ["alert", None, "drowsy"],
        }
        trial = Trial.create(emptied, SPEC, past=past)
        trial.start()
        trial.fallback("d", "new", covariates=SOMEBODY)
        trial.fallback("d", "usual", covariates=SOMEBODY)
        trial.report(unit="d", outcome="lived")
        trial.decide("e", covariates=SOMEBODY)
        assert trial.evidence() == Evidence.of(trial.design.space, decisions_of(trial))
        assert trial.audit().difference is None
        trial.report(unit="a", covariates={"age": 51}, reason="typed wrongly")
        assert trial.audit().difference is None
        log = trial.log()
        trial.close()
        assert [int(each) for each in log.source] == [3, 3, 3, 2, 0]  # a covariate that is called software or not


class TestCorrections:
    def test_move_the_sums_and_leave_the_proposal(self, trial: Trial) -> None:
        run(trial, 20)
        made = trial.events(decision=3)[0].body
        receipt = trial.report(3, covariates={"age": 44, "state": None}, reason="typed wrongly")
        assert receipt.corrected == ("covariates",)
        assert trial.events(decision=3)[0].body == made
        said = json.loads(trial.events(decision=3)[-1].body)
        assert said["covariates"] == {"age": 44, "state": None}
        assert set(said["before"]["covariates"]) <= {"age", "state"}
        assert trial.evidence() == Evidence.of(trial.design.space, decisions_of(trial))
        assert trial.audit().difference is None

    def test_need_a_reason_and_are_checked(self, trial: Trial) -> None:
        trial.decide("somebody", covariates=SOMEBODY)
        before = trial.progress().sequence
        with pytest.raises(ConflictError, match="age of decision 1 was reported as 63; a correction needs a reason"):
            trial.report(1, covariates={"age": 64})
        for wrong, words in (({"age": 640}, "got 640 years"), ({"agee": 64}, "did you mean age"), ({}, "got {}")):
            with pytest.raises(InputError, match=words):
                trial.report(1, covariates=wrong, reason="typed wrongly")
        assert trial.progress().sequence == before
        trial.report(1, covariates={"age": 63})
        assert trial.progress().corrections == 0

    def test_any_order_of_the_same_reports_gives_the_same_evidence(self, tmp_path: Path) -> None:
        reports: list[dict[str, Any]] = [
            {"implemented": "new"},
            {"outcome": "lived"},
            {"covariates": {"age": 70}, "reason": "typed wrongly"},
            {"covariates": {"state": None}, "reason": "not seen"},
        ]
        found = []
        with Store(tmp_path / "orders.db") as store:
            for i, order in enumerate(list(permutations(reports))[::3]):
                trial = Trial.create(store, SPEC, trial=f"order-{i}")
                trial.start()
                trial.decide("somebody", covariates=SOMEBODY)
                for each in order:
                    trial.report(1, **each)
                assert trial.audit().difference is None
                found.append(trial.evidence())
            (decided,), space = decisions_of(trial), trial.design.space
        assert all(each == found[0] for each in found)
        assert decided.features == space.profile(SOMEBODY | {"age": 70, "state": None}).features

    def test_with_an_outcome_window(self, tmp_path: Path) -> None:
        now = [1_000_000]
        trial = Trial.create(tmp_path / "clinic.db", spec(window="1 day"), clock=lambda: now[0])
        trial.start()
        trial.decide("somebody", covariates=SOMEBODY)
        trial.report(1, outcome="lived")
        trial.report(1, covariates={"age": 70}, reason="typed wrongly")
        now[0] += 2 * 86_400 * 1_000_000
        trial.tick()
        assert trial.evidence().least_squares.summed(-1)[0].count.sum() == 1
        trial.report(1, covariates={"age": 71}, reason="typed wrongly")
        assert trial.audit().difference is None


class TestOthers:
    @pytest.mark.parametrize(
        "policy",
        [
            {"kind": "TS"},
            {"kind": "TSObs"},
            {"kind": "LinUCB"},
            {"kind": "Uniform"},
            {"kind": "Forgetting", "base": {"kind": "LinTS"}, "half_life": 10, "epoch": 4},
            {"kind": "Forgetting", "base": {"kind": "TS"}, "half_life": 10, "epoch": 4},
        ],
        ids=str,
    )
    def test_any_live_policy_takes_part(self, tmp_path: Path, policy: dict[str, Any]) -> None:
        trial = Trial.create(tmp_path / "clinic.db", spec(policy=policy))
        trial.start()
        run(trial, 15)
        trial.report(3, covariates={"age": 44}, reason="typed wrongly")
        assert trial.audit().difference is None
        trial.summary()

    @pytest.mark.parametrize("policy", [{"kind": "TS"}, {"kind": "TSObs"}])
    def test_a_policy_without_covariates_decides_as_in_a_trial_without(
        self, tmp_path: Path, policy: dict[str, Any]
    ) -> None:
        """To the bit: it is shown the same."""
        bare = {name: value for name, value in SPEC["space"].items() if name not in ("covariates", "interactions")}
        both = []
        with Store(tmp_path / "both.db") as store:
            for name, space in (("with", SPEC["space"]), ("without", bare)):
                trial = Trial.create(store, spec(space=space, policy=policy), trial=name)
                trial.start()
                for i in range(20):
                    who = {"covariates": SOMEBODY | {"age": 20 + i}} if name == "with" else {}
                    decision = trial.decide(f"{i}", **who)  # type: ignore[arg-type]  # a table of tables
                    trial.report(decision, implemented="new", outcome=["died", "lived"][i % 3 == 0])
                both.append(trial.log())
        np.testing.assert_array_equal(both[0].probability, both[1].probability)
        np.testing.assert_array_equal(both[0].proposal, both[1].proposal)

    def test_exports_have_a_column_each_and_are_read_back(self, trial: Trial, tmp_path: Path) -> None:
        run(trial, 10)
        for name in ("e.csv", "e.jsonl", "e.parquet"):
            trial.export(tmp_path / name)
            log = read_log(tmp_path / name)
            assert isinstance(log, Log)
            np.testing.assert_array_equal(log.proposal, trial.log().proposal)
        first = json.loads((tmp_path / "e.jsonl").read_text().splitlines()[0])
        made = json.loads(trial.events(decision=1)[0].body)["covariates"]
        assert {name.removeprefix("covariates."): each for name, each in first.items() if "covariates." in name} == made
        trial.export(tmp_path / "blinded.jsonl", blinded=True)
        assert "covariates.age" in (tmp_path / "blinded.jsonl").read_text()

    def test_a_database_that_holds_others_is_refused_and_found(self, trial: Trial, tmp_path: Path) -> None:
        run(trial, 3)
        trial.close()
        for forged in ('{"age":64}', None, "5", '{"age":63, "software":2.5,"state":"drowsy"}', "{"):
            with closing(sqlite3.connect(tmp_path / "clinic.db")) as connection, connection:
                connection.execute("UPDATE decisions SET covariates = ? WHERE number = 1", (forged,))
            with Trial.open(tmp_path / "clinic.db") as again:
                difference = again.audit().difference
                assert difference is not None
                assert "decisions" in difference.where
                with pytest.raises(StoreError, match="no log can lead to"):
                    again.report(1, outcome="lived", reason="again")


def decisions_of(trial: Trial) -> list[Event]:
    """The decisions as the log of events tells them, by another way than the book's: the last word on each counts."""
    space = trial.design.space
    assert space.covariates is not None
    said: dict[int, dict[str, Any]] = {}
    for logged in trial.events(limit=10_000):
        body = json.loads(logged.body)
        if body["kind"] in ("decided", "taken over"):
            said[body["number"]] = body
        elif body["kind"] == "reported":
            known = said[body["decision"]]
            known |= {name: body[name] for name in ("implemented", "outcome") if name in body}
            known["covariates"] = known["covariates"] | body.get("covariates", {})
    return [
        Event(
            0,
            space.index("proposal", each["proposal"]),
            space.index("implemented", each["implemented"]) if "implemented" in each else -1,
            space.outcome.code(each["outcome"]) if "outcome" in each else -1,
            features=space.covariates.features(each["covariates"]),
        )
        for each in said.values()
    ]


def space_profile(trial: Trial, covariates: dict[str, Any]) -> Profile:
    return trial.design.space.profile(covariates)


@pytest.mark.parametrize("kind", [pytest.param("TS", marks=pytest.mark.long), "LinTS"])
def test_readings_that_need_no_covariates_work(tmp_path: Path, kind: str) -> None:
    trial = Trial.create(tmp_path / "clinic.db", spec(policy={"kind": kind}))
    trial.start()
    run(trial, 30)
    found = analyse(trial.log(), plan=trial.design, own=trial.design, replays=20)
    assert len(found.log) == 30


@pytest.mark.parametrize(
    ("kind", "words"), [("TS", ""), ("LinTS", "learns from covariates, and replays propose by context alone")]
)
def test_replays_of_a_policy_that_learns_from_covariates_are_refused(tmp_path: Path, kind: str, words: str) -> None:
    trial = Trial.create(tmp_path / "clinic.db", spec(policy={"kind": kind}))
    trial.start()
    run(trial, 30)
    refused = re_randomise(trial.log(), trial.design, "new", "usual", replays=20).refused
    assert words in refused
    assert bool(words) == bool(refused)
