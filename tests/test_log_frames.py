"""Logs from frames of somebody else's trial: what is read, what is inferred and said, and what is refused."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from takeup import UNSEEN, Count, InputError, LabelError, Log, Number, Space, Time
from takeup.frames.columns import Frame

ROWS: dict[str, list[Any]] = {
    "patient": ["p1", "p2", "p3", "p4", "p5", "p6"],
    "arm": ["usual", "new", "new", "usual", "new", "usual"],
    "got": ["usual", "usual", "new", None, "new", ""],
    "site": ["Bonn", "Bonn", "Kiel", "Kiel", "Kiel", "Bonn"],
    "well": [0, 1, 1, None, 0, 1],
    "p": [0.5, 0.4, 0.4, 0.75, 0.25, 0.5],
}


class PandasLike:
    """A frame as pandas has it: an index of columns, NaN where a number is missing, NaT and NA elsewhere."""

    class NAType:
        """What is missing among texts; it can be compared with nothing."""

        def __eq__(self, other: object) -> bool:
            raise TypeError("boolean value of NA is ambiguous")

        __hash__ = object.__hash__

    class Series:
        """A column."""

        def __init__(self, values: list[Any]) -> None:
            self.values = values

        def tolist(self) -> list[Any]:
            return self.values

    def __init__(self, rows: Mapping[str, list[Any]]) -> None:
        self.rows = rows
        self.columns = np.array(list(rows), dtype=object)

    def __getitem__(self, name: str) -> "PandasLike.Series":
        values = self.rows[name]
        if any(isinstance(value, str) for value in values):
            return self.Series([self.NAType() if value is None else value for value in values])
        return self.Series([float("nan") if value is None else float(value) for value in values])


@pytest.mark.parametrize("made", [pl.DataFrame, PandasLike, dict])
def test_a_frame_is_read_row_by_row(made: Any) -> None:
    log = Log.from_frame(
        made(ROWS), assigned="arm", taken="got", outcome="well", context="site", probability="p", unit="patient"
    )
    assert log.space == Space(["usual", "new"], contexts=["Bonn", "Kiel"], outcomes=["0", "1"])
    assert log.proposal.tolist() == [0, 1, 1, 0, 1, 0]
    assert log.implemented.tolist() == [0, 0, 1, UNSEEN, 1, UNSEEN]
    assert log.outcome.tolist() == [0, 1, 1, UNSEEN, 0, 1]
    assert log.context.tolist() == [0, 0, 1, 1, 1, 0]
    assert log.unit is not None
    assert log.unit.tolist() == ROWS["patient"]
    np.testing.assert_array_equal(log.probability_of_proposal, ROWS["p"])
    np.testing.assert_array_equal(log.probability.sum(axis=1), 1.0)
    assert not log.estimated
    assert log.inferred == (
        "Proposals, usual first, which is the control by its name: usual, new.",
        "Contexts: Bonn, Kiel.",
        "Outcomes are levels, from worst to best: 0 counts as 0, 1 counts as 1.",
    )


def test_probabilities_that_nobody_wrote_down_are_shares_and_said_to_be() -> None:
    log = Log.from_frame(pl.DataFrame(ROWS), assigned="arm", outcome="well")
    assert log.estimated
    assert log.fixed
    np.testing.assert_allclose(log.probability, 0.5)
    assert "were not given" in log.inferred[-1]
    within = Log.from_frame(pl.DataFrame(ROWS), assigned="arm", outcome="well", context="site")
    np.testing.assert_allclose(within.probability[:, 0], [2 / 3, 2 / 3, 1 / 3, 1 / 3, 1 / 3, 2 / 3])
    assert "in each context" in within.inferred[-1]
    lacking = ROWS | {"site": ["Bonn", "Kiel", "Kiel", "Kiel", "Kiel", "Bonn"]}
    without = Log.from_frame(pl.DataFrame(lacking), assigned="arm", outcome="well", context="site")
    usual = [1.0 if site == "Bonn" else 0.25 for site in lacking["site"]]
    np.testing.assert_allclose(without.probability, np.stack([usual, np.subtract(1, usual)], axis=-1))


@pytest.mark.parametrize(
    "probability",
    [
        {"usual": 0.25, "new": 0.75},
        {"usual": "p usual", "new": "p new"},
        ["p new", "p usual"],
        "own",
    ],
)
def test_the_four_ways_to_give_the_same_probabilities(probability: Any) -> None:
    own = [0.25 if arm == "usual" else 0.75 for arm in ROWS["arm"]]
    frame = pl.DataFrame(ROWS | {"p usual": [0.25] * 6, "p new": [0.75] * 6, "own": own})
    space = Space(["new", "usual"])
    log = Log.from_frame(frame, assigned="arm", outcome="well", probability=probability, space=space)
    np.testing.assert_array_equal(log.probability, np.tile([0.75, 0.25], (6, 1)))
    assert not log.estimated


def test_one_number_is_the_share_that_all_proposals_had() -> None:
    log = Log.from_frame(pl.DataFrame(ROWS), assigned="arm", outcome="well", probability=0.5)
    assert np.array_equal(log.probability, np.full((6, 2), 0.5))
    assert log.fixed
    assert not log.estimated
    with pytest.raises(InputError, match=r"0\.3.*0\.5, the share of each of 2.*give a share for each of new, usual"):
        Log.from_frame(pl.DataFrame(ROWS), assigned="arm", outcome="well", probability=0.3)


def test_labels_of_probabilities_are_the_order_of_proposals() -> None:
    shares = {"usual": 0.5, "new": 0.3, "other": 0.2}
    log = Log.from_frame(pl.DataFrame(ROWS), assigned="arm", outcome="well", probability=shares)
    assert log.space.proposals == ("usual", "new", "other")


def test_one_column_is_enough_for_three_proposals_where_randomisation_was_fixed() -> None:
    frame: dict[str, list[Any]] = {"z": ["a", "b", "c", "b"], "y": [0, 1, 1, 0], "p": [0.2, 0.3, 0.5, 0.3]}
    log = Log.from_frame(frame, assigned="z", outcome="y", probability="p")
    np.testing.assert_array_equal(log.probability, np.tile([0.2, 0.3, 0.5], (4, 1)))
    with pytest.raises(InputError, match=r"b has 0\.3 to 0\.4; give a column for each"):
        Log.from_frame(frame | {"p": [0.2, 0.3, 0.5, 0.4]}, assigned="z", outcome="y", probability="p")


@pytest.mark.parametrize(
    ("values", "outcome", "codes"),
    [
        ([1, 0, 1, None], Space(2).outcome, [1, 0, 1, UNSEEN]),
        ([1.0, 0.0, 1.0, 0.0], Space(2).outcome, [1, 0, 1, 0]),
        (["1.0", "0", "0.0", " "], Space(2).outcome, [1, 0, 0, UNSEEN]),
        ([True, False, None, True], Space(2, outcomes=["false", "true"]).outcome, [1, 0, UNSEEN, 1]),
        (["Yes", "No", "Yes", "No"], Space(2, outcomes=["No", "Yes"]).outcome, [1, 0, 1, 0]),
        (["dead", "dead", None, "dead"], Space(2, outcomes=["dead", "alive"]).outcome, [0, 0, UNSEEN, 0]),
        ([3, 0, 6, 3], Space(2, outcomes=["0", "3", "6"], utility=[0, 3, 6]).outcome, [1, 0, 2, 1]),
        ([2, 1, 2, 1], Space(2, outcomes=["1", "2"], utility=[1, 2]).outcome, [1, 0, 1, 0]),
        ([120.5, 118, 119.25, 118], Number(118, 120.5, 0.01), [250, 0, 125, 0]),
        (["12", "7+", None, "7"], Time(12), [24, 15, UNSEEN, 14]),
    ],
)
def test_the_kind_of_outcome_follows_from_its_values(values: list[Any], outcome: Any, codes: list[int]) -> None:
    log = Log.from_frame({"z": [0, 1, 0, 1], "y": values}, assigned="z", outcome="y")
    assert log.space.outcome == outcome
    assert log.outcome.tolist() == codes


def test_numbers_with_many_digits_are_kept_on_a_grid_of_at_most_a_million_steps() -> None:
    values = np.random.default_rng(1).normal(120, 15, 500)
    log = Log.from_frame({"z": [0, 1] * 250, "y": values}, assigned="z", outcome="y")
    outcome = log.space.outcome
    assert isinstance(outcome, Number)
    assert 100_000 <= outcome.size <= 1_000_001
    assert np.abs(outcome.worths[log.outcome] - values).max() <= outcome.step / 2 * 1.001
    assert [outcome.code(value) for value in values] == log.outcome.tolist()


def test_levels_in_words_are_named_from_worst_to_best() -> None:
    frame = {"z": [0, 1, 0, 1], "y": ["poor", "fair", "good", None]}
    with pytest.raises(InputError, match="give levels=, from worst to best"):
        Log.from_frame(frame, assigned="z", outcome="y")
    log = Log.from_frame(frame, assigned="z", outcome="y", levels=["poor", "fair", "good"])
    assert log.outcome.tolist() == [0, 1, 2, UNSEEN]
    assert log.space.utility == (0, 1, 2)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ([0, 1, 1, 0], Space(2, outcomes=["1", "0"]).outcome),
        (["no", "yes", "yes", "no"], Space(2, outcomes=["yes", "no"]).outcome),
        ([3, 0, 6, 3], Space(2, outcomes=["6", "3", "0"], utility=[-6, -3, 0]).outcome),
        ([120.5, 118, 119.25, 118], Number(118, 120.5, 0.01, better="lower")),
        (["12", "7+", None, "7"], Time(12, better="lower")),
    ],
)
def test_lower_is_better_where_somebody_says_so(values: list[Any], outcome: Any) -> None:
    log = Log.from_frame({"z": [0, 1, 0, 1], "y": values}, assigned="z", outcome="y", better="lower")
    assert log.space.outcome == outcome
    higher = Log.from_frame({"z": [0, 1, 0, 1], "y": values}, assigned="z", outcome="y", better="higher")
    usual = Log.from_frame({"z": [0, 1, 0, 1], "y": values}, assigned="z", outcome="y")
    assert higher.space == usual.space
    if log.space.outcome.valued:  # what is worth more in one is worth less in the other
        down, up = (each.space.reward[each.outcome[log.outcome >= 0]] for each in (log, usual))
        np.testing.assert_allclose(np.diff(down), -np.diff(up))


@pytest.mark.parametrize(
    ("levels", "worth"),
    [(["0", "1"], (0, 1)), (["1", "0"], (0, 1)), (["2", "1", "0"], (-2, -1, 0)), (["1", "2", "0"], (0, 1, 2))],
)
def test_the_order_of_levels_counts_when_they_are_numbers_too(levels: list[str], worth: tuple[float, ...]) -> None:
    frame = {"z": [0, 1, 0, 1], "y": [0, 1, 1, 0]}
    log = Log.from_frame(frame, assigned="z", outcome="y", levels=levels)
    assert (log.space.outcomes, log.space.utility) == (tuple(levels), worth)
    assert [log.space.outcomes[i] for i in log.outcome] == ["0", "1", "1", "0"]


def test_words_that_say_what_is_good_have_no_better_end() -> None:
    for frame, more in (
        ({"z": [0, 1], "y": ["dead", "alive"]}, {}),
        ({"z": [0, 1], "y": [0, 1]}, {"levels": ["0", "1"]}),
    ):
        with pytest.raises(
            InputError, match=r"better: got 'lower', expected nothing beside levels in words; .* levels="
        ):
            Log.from_frame(frame, assigned="z", outcome="y", better="lower", **more)  # type: ignore[arg-type]  # mixed
    with pytest.raises(InputError, match="better: got 'down', expected one of higher, lower"):
        Log.from_frame({"z": [0, 1], "y": [0, 1]}, assigned="z", outcome="y", better="down")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InputError, match="at least two different levels"):
        Log.from_frame({"z": [0, 1], "y": [0, 1]}, assigned="z", outcome="y", levels=["1"])


@pytest.mark.parametrize(
    ("arms", "proposals"),
    [
        (["drug", "Usual care"], ("Usual care", "drug")),
        (["active", "PLACEBO", "both"], ("PLACEBO", "active", "both")),
        (["arm_control", "arm"], ("arm_control", "arm")),
        (["drug", "usual", "usual and drug"], ("drug", "usual", "usual and drug")),
        (["controlled release", "tablets"], ("controlled release", "tablets")),
        (["b", "a"], ("a", "b")),
    ],
)
def test_the_control_is_known_by_its_name_if_one_alone_has_it(arms: list[str], proposals: tuple[str, ...]) -> None:
    log = Log.from_frame({"z": arms, "y": [0] + [1] * (len(arms) - 1)}, assigned="z", outcome="y")
    assert log.space.proposals == proposals
    assert ("control by its name" in log.inferred[0]) == (proposals != tuple(sorted(proposals, key=str.casefold)))


def test_labels_that_differ_in_case_or_blanks_are_one_and_said_to_be() -> None:
    frame = {
        "z": ["Drug", "Drug", "drug ", "usual", "usual", "DRUG"],
        "a": ["drug", "USUAL", "drug", "usual", None, "Drug"],
        "x": ["Bonn", "bonn", "Bonn", "Kiel", "Kiel", "Bonn"],
        "y": ["Well", "well", "ill", "ill", "well", "well"],
    }
    log = Log.from_frame(frame, assigned="z", taken="a", outcome="y", context="x")
    assert log.space == Space(["usual", "Drug"], contexts=["Bonn", "Kiel"], outcomes=["ill", "well"])
    assert log.proposal.tolist() == [1, 1, 1, 0, 0, 1]
    assert log.implemented.tolist() == [1, 0, 1, 0, UNSEEN, 1]
    assert "In the column z, 'drug ' (1) and 'DRUG' (1) is read as Drug." in log.inferred
    assert "In the column a, 'drug' (2) is read as Drug." in log.inferred
    space = Space(["USUAL", "drug"], contexts=["Kiel", "Bonn"], outcomes=["ILL", "WELL"])
    known = Log.from_frame(frame, assigned="z", taken="a", outcome="y", context="x", space=space)
    assert known.proposal.tolist() == [1, 1, 1, 0, 0, 1]
    assert known.outcome.tolist() == [1, 1, 0, 0, 1, 1]
    apart = Log.from_frame({"z": ["a", "A"], "y": [0, 1]}, assigned="z", outcome="y", space=Space(["A", "a"]))
    assert apart.proposal.tolist() == [1, 0]


def test_a_name_that_two_columns_have_is_refused() -> None:
    twice = PandasLike({"z": [0, 1], "y": [0, 1]})
    twice.columns = np.array(["z", "y", "y"], dtype=object)
    with pytest.raises(InputError, match="outcome: got 'y', expected the name of one column; 2 are called so"):
        Log.from_frame(twice, assigned="z", outcome="y")


def test_several_columns_cross_to_contexts_and_those_not_recorded_are_one_of_their_own() -> None:
    frame = pl.DataFrame(ROWS | {"sex": ["f", "m", None, "f", "f", "m"]})
    log = Log.from_frame(frame, assigned="arm", outcome="well", context=["site", "sex"])
    names = ("site Bonn, sex f", "site Bonn, sex m", "site Kiel, sex f", "not recorded")
    assert log.space.contexts == names
    assert log.context.tolist() == [0, 1, 3, 2, 2, 1]
    assert "those of 1 are not recorded" in log.inferred[1]


def test_actions_by_other_names_than_proposals_are_matched_by_what_most_did() -> None:
    frame = {"z": ["drug"] * 4 + ["usual"] * 4, "a": [1, 1, 1, 0, 0, 0, 0, 1], "y": [0, 1] * 4}
    log = Log.from_frame(frame, assigned="z", outcome="y", taken="a")
    assert log.space.implemented == ("0", "1")
    assert (log.space.proposals, log.space.intended) == (("usual", "drug"), (0, 1))
    assert "usual: 0, drug: 1" in log.inferred[2]
    police = {"z": ["arrest", "advise"], "a": ["arrest", "separate"], "y": [0, 1]}
    other = Log.from_frame(police, assigned="z", outcome="y", taken="a")
    assert other.space.implemented == ("advise", "arrest", "separate")


@pytest.mark.parametrize(
    ("changed", "options", "error", "says"),
    [
        (
            {},
            {"outcome": "wel"},
            InputError,
            "outcome: got 'wel', expected one of the columns patient, arm.*did you mean well",
        ),
        ({"arm": ["usual", None] * 3}, {}, InputError, "assigned: row 2, column 'arm' is missing"),
        ({"arm": ["usual", "nwe"] * 3}, {}, LabelError, "row 2, column 'arm': got 'nwe'.*one of usual, new.*mean new"),
        ({"got": ["usual", "none"] * 3}, {}, LabelError, "taken: row 2, column 'got': got 'none'"),
        ({"well": [0, 7] * 3}, {}, LabelError, "outcome: row 2, column 'well': got 7"),
        ({"site": ["Bonn", None] * 3}, {}, InputError, "context: row 2, column 'site' is missing"),
        ({"p": [0.5, 1.5] * 3}, {}, InputError, "probability: row 2, column 'p': got 1.5"),
        ({"p": [0.5, None] * 3}, {}, InputError, "probability: row 2, column 'p' is missing"),
        ({"p": [0.5, 0.0] * 3}, {}, InputError, "0 of the proposal of decision 2"),
        ({}, {"levels": ["0", "1"]}, InputError, "nothing beside space="),
        ({}, {"better": "lower"}, InputError, "better: got 'lower', expected nothing beside space="),
        ({}, {"taken": "arm"}, InputError, "taken: got 'arm', expected a column of its own; .* for assigned="),
        ({}, {"context": ["site", "site"]}, InputError, "context: got 'site', expected a column of its own"),
        ({}, {"probability": {"usual": 0.5, "new": 0.6}}, InputError, "sum to 1"),
        ({}, {"probability": {"usual": 0.5}}, InputError, "each of usual, new"),
        ({}, {"probability": ["p"]}, InputError, "a column for each of usual, new"),
    ],
)
def test_what_is_refused_names_row_and_column(
    changed: dict[str, list[Any]], options: dict[str, Any], error: type[InputError], says: str
) -> None:
    space = Space(["usual", "new"], contexts=["Bonn", "Kiel"], outcomes=["0", "1"])
    columns: dict[str, Any] = {
        "assigned": "arm",
        "taken": "got",
        "outcome": "well",
        "context": "site",
        "probability": "p",
    }
    with pytest.raises(error, match=says):
        Log.from_frame(pl.DataFrame(ROWS | changed), **(dict[str, Any](columns, space=space) | options))


def test_what_cannot_be_inferred_is_refused() -> None:
    for frame, says in (
        ({"z": [1, 1], "y": [0, 1]}, "at least two different labels"),
        ({"z": [0, 1], "y": [None, None]}, "nothing in the column 'y'"),
        ({"z": [0, 1], "y": [5, 5]}, "different outcomes"),
        ({"z": [], "y": []}, "no rows"),
        ({"z": [0, 1], "y": [[0], [1]]}, "lists in the column"),
    ):
        with pytest.raises(InputError, match=says):
            Log.from_frame(frame, assigned="z", outcome="y")


SPACES = (
    Space(["usual", "new"], outcomes=["ill", "well"]),
    Space(3, ["none", "0", "1", "2"], contexts=["a", "b"], outcomes=3, utility=[0, 1, 5]),
    Space(2, contexts=2, outcomes=Number(60, 220, 0.5)),
    Space(2, outcomes=Time(90, "days")),
    Space(2, outcomes=Count(20, "days", 30)),
)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from(SPACES))
def test_a_log_written_as_a_frame_is_read_back(data: st.DataObject, space: Space) -> None:
    contexts, proposals, actions, outcomes = space.shape
    n = data.draw(st.integers(1, 12))

    def some(least: int, many: int) -> list[int]:
        return data.draw(st.lists(st.integers(least, many - 1), min_size=n, max_size=n))

    x, z, a, y = some(0, contexts), some(0, proposals), some(UNSEEN, actions), some(UNSEEN, outcomes)
    p = np.random.default_rng(data.draw(st.integers(0, 99))).dirichlet([1.0] * proposals, n)
    frame: Frame = {f"p{i}": p[:, i] for i in range(proposals)} | {
        "x": [space.contexts[i] for i in x],
        "z": [space.proposals[i] for i in z],
        "a": [None if i == UNSEEN else space.implemented[i] for i in a],
        "y": [None if i == UNSEEN else data.draw(_written(space, i)) for i in y],
    }
    columns = {label: f"p{i}" for i, label in enumerate(space.proposals)}
    log = Log.from_frame(frame, assigned="z", taken="a", outcome="y", context="x", probability=columns, space=space)
    assert [log.context.tolist(), log.proposal.tolist(), log.implemented.tolist(), log.outcome.tolist()] == [x, z, a, y]
    np.testing.assert_array_equal(log.probability, p)


def _written(space: Space, code: int) -> "st.SearchStrategy[Any]":
    """An outcome as a cell may have it: flat, or that as a text."""
    flat = space.outcome.flat(code)
    return st.sampled_from([flat, str(flat), json.loads(json.dumps(flat))])


def test_counts_over_an_exposure_are_read_from_one_column_or_two() -> None:
    """3 in 1.37 years, however that is written; nothing where one of the two is missing."""
    rows: dict[str, list[Any]] = {
        "arm": ["usual", "new", "usual", "new", "new"],
        "events": [3, 0, 2, None, 1],
        "years": [1.37, 2, 0.5, 1, None],
        "rate": ["3/1.37", "0/2", "2/0.5", None, None],
        "words": ["3 in 1.37 years", "0 in 2 years", " 2 in 0.5 years", "", ""],
    }
    outcome = Count(3, exposure="years", longest=2.0, step=0.01)
    logs = [Log.from_frame(rows, assigned="arm", outcome="events", exposure="years")]
    logs += [Log.from_frame(rows, assigned="arm", outcome=name) for name in ("rate", "words")]
    logs += [Log.from_frame(rows, assigned="arm", outcome="words", space=Space(["usual", "new"], outcomes=outcome))]
    for log in logs:
        texts = ["" if code == UNSEEN else log.space.outcome.flat(code) for code in log.outcome.tolist()]
        assert texts == ["3/1.37", "0/2", "2/0.5", "", ""]
    assert [log.space.outcome for log in logs] == [outcome, replace(outcome, exposure="units"), outcome, outcome]
    sentence = "counts of at most 3 over exposures of at most 2 years, kept in steps of 0.01, and fewer are better."
    assert sentence in " ".join(logs[0].inferred)
    with pytest.raises(InputError, match="exposure: row 2, column 'years': got 0, expected an exposure above 0"):
        Log.from_frame(rows | {"years": [1, 0, 1, 1, 1]}, assigned="arm", outcome="events", exposure="years")


def test_a_rare_label_nearly_like_a_common_one_is_named_and_stays() -> None:
    arms = ["usual", "drug A"] * 50
    took = ["usaul", *arms[1:]]
    log = Log.from_frame({"arm": arms, "got": took, "y": [0, 1] * 50}, assigned="arm", taken="got", outcome="y")
    assert log.space.implemented == ("usual", "drug A", "usaul")
    (said,) = [each for each in log.inferred if "usaul' (1)" in each]
    assert "is a label of its own, and spelled nearly like usual (49)" in said
    others = ["drug B", *arms[1:]], ["usual 100 mg"] * 99 + ["usual 200 mg"]
    for label in others:
        fine = Log.from_frame({"arm": arms, "got": label, "y": [0, 1] * 50}, assigned="arm", taken="got", outcome="y")
        assert not [each for each in fine.inferred if "nearly like" in each]


def test_a_column_of_identifiers_is_no_context() -> None:
    rows = {"arm": ["usual", "new"] * 30, "y": [0, 1] * 30, "id": list(range(60))}
    with pytest.raises(InputError, match=r"context: got 60 different values in 60 rows .* is named with unit="):
        Log.from_frame(rows, assigned="arm", outcome="y", context="id")
    log = Log.from_frame(rows | {"id": [i // 2 for i in range(60)]}, assigned="arm", outcome="y", context="id")
    assert ", and 10 more" in next(each for each in log.inferred if each.startswith("Contexts"))
