"""Logs carry covariates: from frames, files, exports, live trials and simulations, and back."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from takeup import TS, Category, CovariateEnvironment, Event, Evidence, LinTS, Log, Measure, Space, simulate, stream
from takeup.errors import InputError, LabelError
from takeup.live import Trial
from takeup.log import read_log
from takeup.populations import Independent, Logit
from takeup.simulation.reporting import Reporting

FRAME: dict[str, list[Any]] = {
    "arm": ["usual", "new"] * 30,
    "well": [0, 1, 1, 0] * 15,
    "age": [float(year) for year in range(20, 80)],
    "sex": ["m", "f", "M "] * 20,
    "scale": [1, 2, None] * 20,
}
ASKED = ["age", "sex", "scale"]


def log_of(frame: dict[str, list[Any]] = FRAME, **more: Any) -> Log:
    return Log.from_frame(frame, assigned="arm", outcome="well", **({"covariates": ASKED} | more))


def test_what_is_not_said_is_inferred_and_said() -> None:
    log = log_of()
    kinds = {"age": Measure(20, 79), "sex": Category(["f", "m"]), "scale": Category(["1", "2"], missing="kept")}
    assert log.space.covariates == Space(2, covariates=kinds).covariates
    said = " ".join(log.inferred)
    assert "age is a measure from 20 to 79 in steps of 1, which is what was seen" in said
    assert "sex is one of f, m, f being what the others are compared with" in said
    assert "missing of 20, which is kept as a feature of its own" in said
    assert "'M ' (20) is read as m" in said
    assert log.features is not None
    first, last = log.features[0].tolist(), log.features[59].tolist()
    assert (first, last) == ([1000, 0, 1000, 0, 0], [1000, 1000, 1000, 0, 1000])


def test_what_is_said_settles_it() -> None:
    kinds = {"age": Measure(0, 100), "scale": {"kind": "measure", "low": 0, "high": 2, "missing": "kept"}, "sex": None}
    log = log_of(covariates=kinds)
    assert log.features is not None
    assert log.features[1].tolist() == [1000, 210, 1000, 0, 0]
    again = log_of(covariates=None, space=log.space)
    assert np.array_equal(again.features, log.features)  # type: ignore[arg-type]
    assert not [each for each in again.inferred if "Covariates" in each]


@pytest.mark.parametrize(
    ("changes", "more", "words"),
    [
        ({}, {"covariates": ["agee"]}, "covariates: got 'agee', expected one of the columns .* did you mean age"),
        ({}, {"covariates": ["arm"]}, "a column of its own; the same column is named for assigned="),
        ({}, {"covariates": {"age": Measure(30, 100)}}, "covariates: row 1, column 'age': got 20.0, expected a number"),
        ({}, {"covariates": {"scale": Category(["1", "2"])}}, "covariates: row 3, column 'scale' is missing"),
        ({"age": ["?", *FRAME["age"][1:]]}, {"covariates": ["age"]}, "60 different values in 60 rows.*'\\?' is no num"),
        ({"age": [1] * 60}, {"covariates": ["age"]}, "1 different values in the column 'age'"),
        ({}, {"space": Space(["usual", "new"], outcomes=["0", "1"])}, "nothing beside space=, which has none"),
        ({"arm": ["x", "y"] * 30, "context": ["a"] * 60}, {"covariates": ["context"]}, "1 different values"),
    ],
)
def test_what_cannot_be_is_named(changes: dict[str, Any], more: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        log_of(FRAME | changes, **more)


def test_a_label_that_there_is_not_is_named() -> None:
    with pytest.raises(LabelError, match="covariates: row 2, column 'sex': got 'f', expected one of m, x"):
        log_of(covariates={"sex": Category(["m", "x"])})


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_files_say_the_same_as_frames(tmp_path: Path, ending: str) -> None:
    import polars as pl

    frame, path = pl.DataFrame(FRAME), tmp_path / f"theirs.{ending}"
    writers: dict[str, Any] = {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}
    writers[ending](path)
    found = read_log(path, assigned="arm", outcome="well", covariates=ASKED)
    assert found.space == log_of().space
    assert np.array_equal(found.features, log_of().features)  # type: ignore[arg-type]


SPEC: dict[str, Any] = {
    "name": "Clinic",
    "rehearsal": True,
    "seed": 7,
    "space": {
        "proposals": ["usual", "new"],
        "outcomes": ["died", "lived"],
        "covariates": {
            "age": {"kind": "measure", "low": 18, "high": 100, "unit": "years"},
            "state": {"kind": "category", "levels": ["-alert", "drowsy"], "missing": "kept"},
            "lactate": {"kind": "measure", "low": 0, "high": 10, "step": 0.001, "missing": "kept"},
        },
        "interactions": [["age", "state"]],
    },
    "policy": {"kind": "LinTS"},
}


def lived(path: Path, many: int = 12) -> Trial:
    """A trial of which everything is known but the last two; the age of the first was corrected."""
    trial, rng = Trial.create(path, SPEC), stream(3, "units")
    trial.start()
    for i in range(many):
        state = [None, "-alert", "drowsy"][i % 3]
        known = {
            "age": int(rng.integers(18, 101)),
            "state": state,
            "lactate": None if i % 4 else float(rng.uniform(0, 9)),
        }
        made = trial.decide(f"unit {i}", covariates=known)
        if i < many - 2:
            trial.report(made, implemented=made.proposal, outcome=["died", "lived"][int(rng.integers(2))])
    trial.report(1, covariates={"age": 59}, reason="misread")
    return trial


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_live_trial_its_log_and_its_export_are_one(tmp_path: Path, ending: str) -> None:
    trial = lived(tmp_path / "clinic.db")
    log = trial.log()
    assert log.features is not None
    assert trial.design.space.covariates is not None
    assert trial.design.space.covariates.values(log.features[0])["age"] == 59
    assert Evidence.from_log(log) == trial.evidence()
    path = tmp_path / f"clinic.{ending}"
    trial.export(path)
    again = read_log(path)
    assert again.space == log.space
    assert np.array_equal(again.features, log.features)  # type: ignore[arg-type]
    assert np.array_equal(again.probability, log.probability)
    assert again.without_covariates().features is None


def test_an_export_of_a_version_that_wrote_no_kinds_is_read(tmp_path: Path) -> None:
    """What they are is inferred from the columns, and said."""
    trial, path = lived(tmp_path / "clinic.db", many=40), tmp_path / "clinic.csv"
    trial.export(path)
    with path.open(newline="") as opened:
        names, *rows = csv.reader(opened)
    place, of = names.index("space"), trial.design.space.without_covariates()
    rows[0][place] = json.dumps(of.described())
    with path.open("w", newline="") as opened:
        csv.writer(opened).writerows([names, *rows])
    log = read_log(path)
    assert log.space.covariates is not None
    assert log.space.covariates.names == ("age", "lactate", "state")
    assert log.space.without_covariates() == of
    assert any(each.startswith("Covariates: age is a measure") for each in log.inferred)


CLINIC = Space(2, covariates={"age": Measure(0, 10), "sex": Category(["f", "m"])})
TRUTH = CovariateEnvironment(
    CLINIC,
    Independent(CLINIC.covariates, {"age": np.full(11, 1 / 11), "sex": [0.5, 0.5]}),  # type: ignore[arg-type]
    compliance=Logit([[[0, 0, 0], [-2, 0, 1]], [[0, 0, 0], [3, -2, 0]]]),
    outcome=Logit.of_success([[2, -3, -1], [4, -6, -1]]),
)


@pytest.mark.parametrize("reporting", [Reporting(), Reporting(delay=3, batch=5)])
def test_simulations_record_who_came(reporting: Reporting) -> None:
    """A log leads to the very events that the policy learnt from: the same evidence makes the same proposals likely."""
    trace = simulate(TRUTH, [TS(), LinTS()], 60, range(98, 103), record="full", reporting=reporting)
    for replication in (98, 101):
        plain, log = (trace.log(name, replication=replication) for name in ("TS", "LinTS"))
        assert plain.space == CLINIC
        assert np.array_equal(plain.features, log.features)  # type: ignore[arg-type]  # all policies meet the same units
        assert log.features is not None
        t = 55
        events = [
            Event(
                0,
                int(log.proposal[i]),
                int(log.implemented[i]),
                int(log.outcome[i]) if log.outcome_by[i] <= t else -1,
                features=log.features[i].astype(np.int64),
            )
            for i in np.flatnonzero(log.implemented_by <= t)
        ]
        profile = CLINIC.profile(CLINIC.covariates.values(log.features[t]))  # type: ignore[union-attr]
        found = LinTS().allocation(Evidence.of(CLINIC, events), profile, stream(0)).probability
        assert np.allclose(found, log.probability[t], atol=1e-12)
    frame = trace.every_decision()
    mine = frame.filter((frame["policy"] == "LinTS") & (frame["replication"] == 101))
    assert mine["covariates.age"].to_list() == (10 * log.features[:, 1] / 1000).round().astype(int).tolist()  # type: ignore[index]


def test_simulated_units_are_those_that_were_met() -> None:
    """Units of which the outcome is certain by what is known of them have it."""
    sure = CovariateEnvironment(
        CLINIC, TRUTH.population, TRUTH.compliance, Logit.of_success([[-500, 0, 1000], [-500, 0, 1000]])
    )
    log = simulate(sure, TS(), 50, 120, record="full").log("TS", replication=113)
    assert log.features is not None
    assert np.array_equal(log.outcome, log.features[:, 2] // 1000)


def test_some_rows_keep_their_features() -> None:
    log = log_of()
    kept = log.only(log.proposal == 0)
    assert np.array_equal(kept.features, log.features[log.proposal == 0])  # type: ignore[index, arg-type]
