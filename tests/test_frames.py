"""Spaces, evidence and priors from tables: what is read, from whatever holds it, what is said, and what is refused."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeup import TS, UNSEEN, Event, Evidence, InputError, LabelError, Log, Number, Prior, Space
from takeup.frames.inferring import CODES
from takeup.log import read_log

ROWS: dict[str, list[Any]] = {
    "arm": ["A", "B", "C", "A", "B", "C", "A", "B"],
    "got": ["A", "A", "C", None, "B", "", "B", "B"],
    "site": ["1", "2", "1", "2", "1", "2", "1", "2"],
    "severity": ["mild", "severe", "severe", "mild", "mild", "severe", "severe", "mild"],
    "well": [0, 1, 1, None, 0, 1, 1, 0],
}
COLUMNS: dict[str, Any] = {"assigned": "arm", "taken": "got", "outcome": "well", "context": ["site", "severity"]}


def held(how: str, rows: dict[str, list[Any]], folder: Path) -> Any:
    """The rows as somebody may hold them."""
    if how == "mapping":
        return rows
    if how == "polars":
        return pl.DataFrame(rows, strict=False)
    if how == "pandas":
        return pytest.importorskip("pandas").DataFrame(rows)
    path = folder / f"past.{how}"
    if how == "parquet":
        pl.DataFrame(rows, strict=False).write_parquet(path)
        return path
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(rows)
        writer.writerows(zip(*rows.values(), strict=True))
    return str(path)


@pytest.mark.parametrize("how", ["mapping", "polars", "pandas", "csv", "parquet"])
def test_one_table_is_one_space_one_log_and_one_evidence_whatever_holds_it(how: str, tmp_path: Path) -> None:
    frame = held(how, ROWS, tmp_path)
    space, log = Space.from_frame(frame, **COLUMNS), Log.from_frame(frame, **COLUMNS)
    evidence = Evidence.from_frame(frame, **COLUMNS)
    contexts = ["site 1, severity mild", "site 1, severity severe", "site 2, severity mild", "site 2, severity severe"]
    assert space == log.space == evidence.space == Space(["A", "B", "C"], contexts=contexts, outcomes=["0", "1"])
    assert evidence == Evidence.from_log(log)
    assert int(evidence.total) == len(ROWS["arm"])
    assert evidence.inferred == space.inferred == log.inferred[:-1]
    assert space.inferred == (
        "Proposals, in the order of their labels: A, B, C.",
        f"Contexts: {'; '.join(contexts)}.",
        "Outcomes are levels, from worst to best: 0 counts as 0, 1 counts as 1.",
    )


def test_evidence_is_what_a_person_counts_with_a_pencil() -> None:
    """Site 1: A taken as A, died; C as C, lived; B as B, died; A taken as B, lived. Site 2 likewise."""
    frame = {name: ROWS[name] for name in ("arm", "got", "site", "well")}
    evidence = Evidence.from_frame(frame, assigned="arm", taken="got", outcome="well", context="site")
    cells = {(0, 0, 0, 0), (0, 2, 2, 1), (0, 1, 1, 0), (0, 0, 1, 1), (1, 1, 0, 1), (1, 0, -1, -1), (1, 2, -1, 1)}
    cells.add((1, 1, 1, 0))
    assert evidence == Evidence.of(evidence.space, [Event(*cell) for cell in cells])


def test_what_is_inferred_is_where_a_person_looks() -> None:
    space = Space.from_frame(ROWS, **COLUMNS)
    assert "Proposals, in the order of their labels: A, B, C." in repr(space)
    assert "inferred" not in repr(Space(2))
    assert space == Space(space.proposals, contexts=space.contexts, outcomes=space.outcomes)
    assert hash(space) == hash(Space(space.proposals, contexts=space.contexts, outcomes=space.outcomes))
    both = Evidence.from_frame(ROWS, **COLUMNS) + Evidence.from_frame(ROWS, **COLUMNS)
    assert both.inferred == space.inferred


@settings(max_examples=30, deadline=None)
@given(st.permutations(range(8)))
def test_no_order_of_rows_matters(order: list[int]) -> None:
    shuffled = {name: [values[i] for i in order] for name, values in ROWS.items()}
    assert Space.from_frame(shuffled, **COLUMNS) == Space.from_frame(ROWS, **COLUMNS)
    assert Evidence.from_frame(shuffled, **COLUMNS) == Evidence.from_frame(ROWS, **COLUMNS)
    parts = [{name: values[some] for name, values in ROWS.items()} for some in (slice(3), slice(3, None))]
    space = Space.from_frame(ROWS, **COLUMNS)
    one, other = (Evidence.from_frame(part, **COLUMNS, space=space) for part in parts)
    assert one + other == Evidence.from_frame(ROWS, **COLUMNS)


def test_numbers_that_look_like_codes_are_labels_and_said_to_be() -> None:
    frame = {"arm": [2, 0, 1, 10, 0], "got": [2.0, 0.0, float("nan"), 10.0, 1.0], "well": [1, 0, 0, 1, 1]}
    evidence = Evidence.from_frame(frame, assigned="arm", taken="got", outcome="well")
    assert evidence.space.proposals == evidence.space.implemented == ("0", "1", "2", "10")
    assert CODES in evidence.inferred
    assert evidence.counts[0, 1, UNSEEN, 0] == 1
    named = Space(["control", "low", "high"], outcomes=["died", "lived"])
    coded = Evidence.from_frame({"arm": [0, 2], "well": [1, 0]}, assigned="arm", outcome="well", space=named)
    assert coded.counts[0, 0, UNSEEN, 1] == coded.counts[0, 2, UNSEEN, 0] == 1


@pytest.mark.parametrize("values", [list(range(30)) * 3, [f"patient {i}" for i in range(90)]])
def test_amounts_and_identifiers_are_no_arms(values: list[Any]) -> None:
    with pytest.raises(InputError, match=r"different values in 90 rows of the column 'dose'.*make a column of groups"):
        Space.from_frame({"dose": values, "well": [0, 1] * 45}, assigned="dose", outcome="well")


def test_a_row_may_stand_for_many_and_no_row_for_a_part_of_one() -> None:
    table = {"arm": ["A", "A", "B"], "well": [0, 1, 1], "n": [3, 2, 0]}
    evidence = Evidence.from_frame(table, assigned="arm", outcome="well", count="n")
    long = {"arm": ["A"] * 5, "well": [0, 0, 0, 1, 1]}
    assert evidence == Evidence.from_frame(long, assigned="arm", outcome="well", space=evidence.space)
    for wrong, told in ((0.5, "0.5"), (-1, "-1"), (None, None)):
        with pytest.raises(InputError, match=rf"row 2, column 'n'(: got {told}| is missing).*Prior with a discount"):
            Evidence.from_frame({**table, "n": [1, wrong, 1]}, assigned="arm", outcome="well", count="n")


def test_many_numbers_add_as_their_rows_do() -> None:
    space = Space(2, outcomes=Number(0, 10, step=0.5))
    table: dict[str, list[Any]] = {"arm": [0, 1, 0], "y": [2.5, 7, None], "n": [2, 3, 4]}
    rows = {
        name: [value for value, n in zip(table[name], table["n"], strict=True) for _ in range(n)]
        for name in ("arm", "y")
    }
    short = Evidence.from_frame(table, assigned="arm", outcome="y", count="n", space=space)
    assert short == Evidence.from_frame(rows, assigned="arm", outcome="y", space=space)


def test_labels_that_are_not_known_are_named_with_row_and_column() -> None:
    space = Space(["A", "B", "C"], outcomes=["0", "1"])
    with pytest.raises(LabelError, match=r"assigned: row 3, column 'arm': got 'C', expected one of A, B"):
        Evidence.from_frame(ROWS, assigned="arm", outcome="well", space=Space(["A", "B"]))
    with pytest.raises(LabelError, match=r"outcome: row 4, column 'well': got 7"):
        Evidence.from_frame({**ROWS, "well": [0, 1, 1, 7, 0, 1, 1, 0]}, assigned="arm", outcome="well", space=space)
    with pytest.raises(LabelError, match=r"row 1, column 'arm': got '0'.*make the codes the labels"):
        Evidence.from_frame({"arm": ["0", "1"], "well": ["0", "1"]}, assigned="arm", outcome="well", space=space)
    with pytest.raises(InputError, match="did you mean arm"):
        Space.from_frame(ROWS, assigned="arms", outcome="well")
    with pytest.raises(InputError, match="a column of its own"):
        Space.from_frame(ROWS, assigned="arm", taken="arm", outcome="well")


def test_an_arm_that_the_past_did_not_have_is_no_reason_to_refuse_it() -> None:
    """Evidence needs no probabilities, and a log has none of an arm that was never assigned."""
    space = Space(["A", "B", "C", "D"])
    assert int(Evidence.from_frame(ROWS, assigned="arm", outcome="well", space=space).counts[0, 3].sum()) == 0
    with pytest.raises(InputError, match="D was never assigned"):
        Log.from_frame(ROWS, assigned="arm", outcome="well", space=space)


def test_a_past_trial_informs_the_next_one() -> None:
    space = Space(["A", "B", "C"])
    prior = Prior.from_frame(ROWS, assigned="arm", outcome="well", space=space, discount=0.5)
    by_hand = Prior.from_evidence(Evidence.from_frame(ROWS, assigned="arm", outcome="well", space=space), 0.5)
    np.testing.assert_array_equal(prior.proposed_outcomes, [[[0.5, 0.5], [1.0, 0.5], [0.0, 1.0]]])
    np.testing.assert_array_equal(prior.proposed_outcomes, by_hand.proposed_outcomes)
    assert TS().informed(prior) is not None


def test_takeups_own_export_is_not_read_as_somebody_elses(tmp_path: Path) -> None:
    file = tmp_path / "export.csv"
    file.write_text(
        "trial,decision,unit,context,decided_at,outcome_status,source,ARM,outcome\nt,1,p,0,,counted,policy,A,1\n"
    )
    with pytest.raises(InputError, match=r"an export of takeup.*read_log"):
        Evidence.from_frame(file, assigned="ARM", outcome="outcome")


def test_a_file_is_read_alike_by_both_of_its_readers(tmp_path: Path) -> None:
    path = held("csv", ROWS, tmp_path)
    one, other = read_log(path, **COLUMNS), Log.from_frame(path, **COLUMNS)
    assert one.inferred == other.inferred
    np.testing.assert_array_equal(one.outcome, other.outcome)
    (tmp_path / "twice.csv").write_text("arm,arm,well\nA,B,1\nB,A,0\n")
    with pytest.raises(InputError, match="2 are called so"):
        Space.from_frame(tmp_path / "twice.csv", assigned="arm", outcome="well")
