"""The head of a trial's page: the planned reading, or what may be read in its place, and how far it can be trusted."""

from typing import Any

import numpy as np
import pytest

from takeup import Log, stream
from takeup.analysis.analyse import analyse
from takeup.analysis.headline import RUNS, answers, beside, headline, unplanned
from takeup.analysis.readings import Readings
from takeup.analysis.report import _planned
from takeup.analysis.taken import compared_with
from takeup.analysis.telling import p_value
from takeup.space import UNSEEN
from takeup.trial.design import Design

SLOW = ("re-randomisation", "conditional exact")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tipping points and bounds, which take half of an analysis and are no part of what leads."""
    monkeypatch.setattr(Readings, "tipping", lambda self, one: None)
    monkeypatch.setattr(Readings, "bounds", lambda self, one: [])


ARMS = ("usual", "new", "newer", "newest", "other")


def trial(arms: int = 2, **analysis: Any) -> tuple[Log, Design]:
    """200 people, evenly randomised, a fifth of whom do not do as they are told."""
    more = {"analysis": analysis} if analysis else {}
    spec = {"name": "t", "space": {"proposals": list(ARMS[:arms])}, "policy": {"kind": "Uniform"}, **more}
    design, rng = Design.of(spec, new=False), stream(5, "headline", arms)
    z = rng.integers(arms, size=200)
    a = np.where(rng.random(200) < 0.8, z, 0)
    y = rng.random(200) < 0.3 + 0.4 * (a > 0)
    return Log.of(design.space, z, np.full((200, arms), 1 / arms), implemented=a, outcome=y.astype(int)), design


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("analysis", "finished", "starts", "ends"),
    [
        ({}, True, "By intention to treat, which leads by convention: Offering new", "drift, at one look."),
        (
            {},
            False,
            "The trial still runs. By intention to treat, which leads by convention: Offering new",
            "at any number of looks.",
        ),
        ({"any_time": True}, True, "By intention to treat, as planned: Offering new", "at any number of looks."),
        ({"contrast": "ratio"}, True, "By intention to treat, the ratio, as planned: Offering", "at one look."),
        (
            {"contrast": "ratio"},
            False,
            f"{RUNS} Planned is the ratio by intention to treat, which has no interval that holds while the trial",
            "at any number of looks.",
        ),
        (
            {"any_time": False},
            False,
            f"{RUNS} Planned is intention to treat at its end. By intention to treat, at any time: Offering new",
            "at any number of looks.",
        ),
        ({"reading": "compliers"}, True, "The complier effect, as planned: For those who take it", "at one look."),
        (
            {"reading": "policy"},
            True,
            "Planned is the policy's own model, which has no interval that survives adaptation. By intention to treat:",
            "at one look.",
        ),
    ],
)
def test_what_leads(analysis: dict[str, Any], finished: bool, starts: str, ends: str) -> None:
    log, design = trial(**analysis)
    (said,) = headline(log, design, finished=finished)
    assert said.startswith(starts)
    assert said.endswith(ends)
    assert answers(analyse(log, own=design, finished=finished, leave_out=SLOW))[0] == said


def test_naive_readings_are_called_so() -> None:
    log, design = trial(reading="per protocol")
    (said,) = headline(log, design, finished=True)
    assert said.startswith("Per protocol, as planned: Among people who chose")
    assert said.endswith("This interval is naive: it holds with fixed allocation alone, at one look.")


def test_it_is_too_early_while_the_first_outcome_is_pending() -> None:
    log, design = trial()
    first = np.where(np.arange(200) == 0, UNSEEN, log.outcome)
    pending = Log.of(log.space, log.proposal, log.probability, implemented=log.implemented, outcome=first)
    (said,) = headline(pending, design, finished=False)
    assert said.endswith("usual: too early to say, as no outcome is known of the first of 200 decisions.")


def test_the_first_of_many_comparisons_are_told() -> None:
    log, design = trial(arms=5)
    assert len(headline(log, design, finished=False)) == 4
    said = headline(log, design, finished=False, most=3)
    assert [each.split(" rather")[0].split()[-1] for each in said[:3]] == ["new", "newer", "newest"]
    assert said[3] == "1 more comparison is under Analysis."


def test_a_trial_that_runs_says_so_and_what_is_for_one_look_comes_second() -> None:
    """The planned test is at one look, too; betting may be looked at again and again."""
    log, design = trial(test="martingale score")
    first, once = answers(found := analyse(log, own=design, finished=False, leave_out=SLOW))
    assert first.startswith(f"{RUNS} Planned is intention to treat at its end.")
    assert "martingale" not in first
    assert once.startswith("At one look, as if it were the last: Offering new rather than usual")
    assert once.endswith(f"The planned test, martingale score: {p_value(found.primary_tests[0].tested.p)}.")
    assert beside(found)[0].startswith("new - usual, at one look: ")
    first, once = answers(analyse(log, own=trial(test="betting")[1], finished=False, leave_out=SLOW))
    assert ("The planned test, betting: p" in first, "At one look" in once) == (True, True)
    said = beside(analyse(log, finished=False))
    assert said[0].startswith("By what was offered, whoever took it, at one look, as if it were the last: Offering")


@pytest.mark.usefixtures("quick")
def test_the_planned_test_is_part_of_the_answer() -> None:
    log, design = trial(arms=3, test="martingale score", sided=1)
    found = analyse(log, own=design, leave_out=SLOW)
    for said, each in zip(answers(found), found.primary_tests, strict=True):
        assert said.endswith(f"at one look. The planned test, martingale score, on one side: {p_value(each.tested.p)}.")
    (table,) = _planned(found).tables
    assert [row[0] for row in table.rows] == ["intention to treat"] * 2 + ["test: martingale score"] * 2
    log, design = trial(test="re-randomisation")
    (said,) = answers(analyse(log, own=design, leave_out=SLOW))
    assert said.endswith("The planned test, re-randomisation, is not done yet.")
    assert headline(log, design, finished=True)[1] == "The planned test, re-randomisation, is under Analysis."


def test_only_a_plan_that_the_trial_began_with_was_planned_before_it() -> None:
    log, design = trial(confidence=0.9)
    assert answers(analyse(log, own=design, leave_out=SLOW))[0].startswith("By intention to treat, as planned: ")
    given = analyse(log, plan=design, leave_out=SLOW)
    assert answers(given)[0].startswith("By intention to treat, by the plan that was given: Offering new")
    assert (
        compared_with(given)
        == "Compared with usual, the first of the proposals (--control names another); 1 is better than 0."
    )
    changed = analyse(log, own=design, level=0.95, leave_out=SLOW)
    assert answers(changed)[0].startswith("By intention to treat, which is not what the plan names: Offering new")
    assert "95 % interval" in answers(changed)[0]
    assert unplanned(changed)[1] == "The plan's level is 0.9, and this is of 0.95."
    assert len([each for each in beside(changed) if "Offering new" in each]) == 0


def test_an_alarm_about_everything_stands_beside_the_answer() -> None:
    """The wrong column of probabilities: each was offered half of the time, and the log says a tenth."""
    log, design = trial()
    wrong = Log.of(log.space, log.proposal, [0.9, 0.1], implemented=log.implemented, outcome=log.outcome)
    doubt = "All of this is in doubt: each was offered not as often as the logged probabilities say (p < 0.001)."
    assert answers(analyse(wrong))[1:] == [doubt]
    assert headline(wrong, design, finished=True)[1:] == [doubt]
    assert len(headline(log, design, finished=True)) == 1
