"""What a plan may name as its analysis: all of it gives an answer, the rest is refused with what to choose."""

from itertools import product
from typing import Any, get_args

import numpy as np
import pytest

from takeup import Log, stream
from takeup.analysis import analyse
from takeup.analysis.planned import planned_of
from takeup.analysis.readings import Readings
from takeup.specfile import SpecError
from takeup.trial.design import Design
from takeup.trial.planned_analysis import check_analysis, measures, problems
from takeup.trial.spec import AnalysisTable, Contrast

KINDS: dict[str, Any] = {
    "two levels": ["ill", "well"],
    "three levels": ["ill", "better", "well"],
    "number": {"kind": "number", "low": 0, "high": 10, "step": 1},
    "count": {"kind": "count", "most": 9},
    "rate": {"kind": "count", "most": 9, "exposure": "days", "longest": 3, "step": 1},
    "time": {"kind": "time", "longest": 30, "step": 1},
}
READINGS: list[Any] = ["intention to treat", "compliers", "per protocol", {"bounded": 0.1}, "policy"]
TESTS = [None, "re-randomisation", "conditional exact", "betting", "martingale score"]


def design_of(kind: str, **tables: Any) -> Design:
    space = {"proposals": ["usual", "new"], "outcomes": KINDS[kind]}
    space |= {"utility": [0, 1, 3]} if kind == "three levels" else {}
    return Design.of({"name": "t", "space": space, "policy": {"kind": "Uniform"}, **tables})


def ordinary(design: Design) -> Log:
    """120 people, evenly randomised, of whom a fifth refuse; those who take it have larger codes."""
    rng, n = stream(4, "ordinary", design.space.outcome.kind), 120
    z = rng.integers(0, 2, n)
    a = z * (rng.random(n) < 0.8)
    size = design.space.outcome.size
    y = np.minimum(rng.integers(0, max(2, size // 2), n) + a * (rng.random(n) < 0.5) * (size // 2), size - 1)
    return Log.of(design.space, z, [0.5, 0.5], implemented=a, outcome=y)


@pytest.mark.parametrize("kind", KINDS)
def test_what_may_be_planned_gives_an_answer_and_nothing_else_may(kind: str) -> None:
    """All combinations: the primary estimate is there exactly where nothing is wrong, and its interval is shown."""
    design = design_of(kind)
    log, allowed = ordinary(design), 0
    counted = product(("uniform", "stabilised", "batch"), ("complete", "weighted"))
    for reading, contrast, any_time, (weights, missing) in product(
        READINGS, get_args(Contrast), (False, True), list(counted)
    ):
        if contrast != "difference" and reading != "intention to treat":
            continue  # refused whatever the outcome is
        table = {"reading": reading, "contrast": contrast, "any_time": any_time, "weights": weights, "missing": missing}
        wrong = list(problems(design, AnalysisTable(**table)))
        assert all(key in table and len(words) > 20 for key, _, words in wrong)
        if wrong:
            continue
        planned = planned_of(log, design_of(kind, analysis=table))
        entry = Readings(log, planned).primary(1)
        assert entry is not None, table
        assert not np.isnan(entry.estimate.low), (table, entry.estimate.withheld)
        assert entry.estimate.any_time == any_time
        allowed += 1
    assert allowed == {"two levels": 19, "three levels": 9, "number": 9, "count": 10, "rate": 2, "time": 2}[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_test_that_may_be_planned_gives_a_p_value(kind: str) -> None:
    design, found = design_of(kind), set()
    log = ordinary(design)
    for test, sided in product(TESTS, (1, 2)):
        table = {"test": test, "sided": sided}
        if list(problems(design, AnalysisTable(**table))):  # type: ignore[arg-type]  # names of tests
            continue
        planned = design_of(kind, analysis=table)
        tested = Readings(log, planned_of(log, planned)).planned_test(1, planned, 50, 0)
        assert (tested is None) == (test is None)
        if tested is not None:
            assert not tested.refused, table
            assert 0 < tested.p <= 1
            assert tested.two_sided == (sided == 2)
            found.add((test, sided))
    both = {(test, sided) for test in ("re-randomisation", "martingale score") for sided in (1, 2)}
    exact = {("conditional exact", 1), ("conditional exact", 2)}
    right = {"two levels": both | exact, "rate": set(), "time": set()}.get(kind, both)
    assert found == right | {("betting", 2)}


@pytest.mark.parametrize(
    ("table", "more", "words"),
    [
        ({"reading": "compliers", "any_time": True}, {}, r"analysis\.any_time: got True, expected false, or reading"),
        ({"reading": "policy"}, {}, r"analysis\.reading: got 'policy', expected 'intention to treat', 'compliers'"),
        ({"reading": "compliers"}, {"compliance": "never"}, "as compliance is never reported"),
        ({"contrast": "hazard ratio"}, {}, "'difference' or 'ratio' or 'odds ratio', as an outcome is a level"),
        ({"test": "betting", "sided": 1}, {}, "betting looks on both sides"),
        ({"test": "re-randomisation"}, {"policy": {"kind": "TSObs"}}, "TS-Obs reads what was implemented"),
        ({"test": "re-randomisation"}, {"space": {"proposals": 3}}, "replays speak of all proposals together"),
        ({"test": "conditional exact"}, {"policy": {"kind": "TopTwo"}}, "it is for TS and Uniform"),
        ({"weights": "batch", "missing": "weighted"}, {}, "weights = 'stabilised'"),
        ({"weights": "batch", "reading": "compliers"}, {}, "'uniform'; others are of reading"),
    ],
)
def test_a_plan_without_an_answer_is_refused_with_what_to_choose(
    table: dict[str, Any], more: dict[str, Any], words: str
) -> None:
    """Where it is written down; a trial that has begun with it is read, and says why there is no answer."""
    with pytest.raises(SpecError, match=words):
        design_of("two levels", analysis=table, **more)
    stored = Design.of(
        {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}, "analysis": table, **more}, new=False
    )
    log = Log.of(stored.space, [0, 1], stored.even, outcome=[0, 1])
    assert planned_of(log, stored).refused
    check_analysis(design_of("two levels"))


def test_replays_of_three_proposals_are_told_once_and_are_no_planned_conclusion() -> None:
    """Also of a trial that was begun with such a plan."""
    space = {"proposals": 3, "contexts": 2}
    table = {"name": "t", "space": space, "burn_in": 6, "policy": {"kind": "TS"}, "analysis": {"test": TESTS[1]}}
    stored, who = Design.of(table, new=False), [0, 0, 0, 1, 1, 1]
    log = Log.of(stored.space, [0, 1, 2, 0, 1, 2], stored.even, context=who, outcome=[0, 1, 1, 0, 0, 1])
    found = analyse(log, plan=stored, replays=19)
    (told,) = [each for each in found.tests if each.tested.test == TESTS[1]]
    assert (told.kind, told.tested.contrast) == ("explored", "any difference between proposals")
    assert not told.tested.refused
    assert not any(each.what == TESTS[1] for each in found.left_out)
    assert all(Readings(log, found.planned).planned_test(one, stored, 19, 0) is None for one in (1, 2))


def test_measures_are_those_that_an_outcome_has() -> None:
    spaces = {kind: design_of(kind).space for kind in KINDS}
    assert measures(spaces["two levels"].outcome) == ("difference", "ratio", "odds ratio")
    assert measures(spaces["three levels"].outcome) == ("difference",)
    worth = Design.of({"name": "t", "space": {"proposals": 2, "utility": [-1, 2]}, "policy": {"kind": "TS"}})
    assert measures(worth.space.outcome) == ("difference",)
