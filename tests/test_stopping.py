"""When an end is advised: by which reading, for which arm, and when the advice is withheld."""

from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from page_fixtures import book_of
from takeup import UNSEEN, Evidence, check_exclusion, check_ignorable, check_seen, stream
from takeup.errors import InputError
from takeup.live.findings import findings_of
from takeup.live.model_checks import ModelCheck, SeenCheck, Withheld
from takeup.live.summary import TrialSummary, summary_of
from takeup.policies import TSLat
from takeup.service.pages import sentences
from takeup.service.pages.render.child import dashboard
from takeup.trial.book import Book
from takeup.trial.design import Design
from takeup.trial.stopping import advise, most_probable

SPEC: dict[str, Any] = {
    "name": "Clinic",
    "space": {"proposals": ["usual care", "new drug"], "outcomes": ["relapsed", "well"]},
    "policy": {"kind": "TSObs"},
    "stopping": {"probability_best": 0.95},
}
SICKER = [[[[152, 148], [0, 0]], [[84, 21], [78, 117]]]]
"""The tutorial's second truth, 300 proposals of each: 35 in 100 refuse the drug, and they are sicker. Usual care is
better (148 against 138 are well), and TS-Obs is all but sure of the drug."""

CLEAR = [[[[200, 100], [0, 0]], [[50, 50], [40, 160]]]]
"""The drug is better by any reading: 210 against 100 of 300 are well."""


def clinic(counts: Any, **spec: Any) -> Book:
    return book_of(counts, {**SPEC, **spec})


@pytest.mark.requirement("R-6.8")
def test_advice_names_the_arm_the_reading_and_the_threshold() -> None:
    """P(new drug is best) = P(Beta(211, 91) > Beta(101, 201)), which is one to three digits."""
    advice = summary_of(clinic(CLEAR), 0).advice
    (said,) = advice.contexts
    assert (said.context, said.arm, said.reading, said.threshold) == (None, "new drug", "intention to treat", 0.95)
    assert (advice.stop, advice.withheld) == (True, None)
    assert advice.reasons == (
        "by intention to treat new drug is best with probability >\u00a00.999, and the threshold is 0.95",
    )


def test_a_broken_model_advises_nothing_by_default() -> None:
    """TS-Obs is sure of the new drug, and wrong: by intention to treat nobody is sure of anything."""
    found = findings_of(clinic(SICKER), 0)
    usual, drug = found.summary.overall.proposals
    assert drug.model_probability_best is not None
    assert drug.model_probability_best > 0.99
    assert 0.7 < usual.probability_best < 0.9
    (said,) = found.summary.advice.contexts
    assert (found.summary.advice.stop, said.arm) == (False, "usual care")
    assert "advises an end" not in dashboard(found, 1)


@pytest.mark.requirement("R-6.8")
def test_the_model_is_not_read_where_the_data_contradict_it() -> None:
    book = clinic(SICKER, stopping={"probability_best": 0.95, "reading": "policy"})
    found = findings_of(book, 0)
    advice = found.summary.advice
    (said,) = advice.contexts
    assert (said.arm, said.reading, said.reached, advice.stop) == ("new drug", "policy", False, False)
    assert said.probability > 0.99
    assert advice.withheld == "TS-Obs takes those who comply to be like those who do not, and they differ"
    assert "threshold is not applied: TS-Obs takes those who comply" in dashboard(found, 1)
    robust = summary_of(clinic(SICKER, policy={"kind": "TSRobust"}, stopping=dict(book.design.spec.stopping)), 0)
    assert robust.advice.withheld is None  # it does not assume what fails
    shared = summary_of(
        clinic(SICKER, policy={"kind": "TSRobust", "shared": 1.0}, stopping=dict(book.design.spec.stopping)), 0
    )
    assert "and they differ" in str(shared.advice.withheld)  # it is TS-Obs by another name


def test_the_headline_does_not_speak_by_a_model_that_the_page_calls_broken() -> None:
    """TS-Obs is sure of the drug; by intention to treat it is likely, P(Beta(147, 155) > Beta(131, 171)) = 0.904."""
    found = findings_of(clinic([[[[170, 130], [0, 0]], [[84, 21], [70, 125]]]]), 0)
    assert found.summary.overall.proposals[1].model_probability_best > 0.99  # type: ignore[operator]  # it has a model
    assert ": By intention to treat new drug is best with probability 0.9" in str(sentences.believed(found))


def test_nothing_is_advised_for_an_arm_while_few_outcomes_are_known() -> None:
    """None of 3 against all of 3 are well: P(Beta(4, 1) > Beta(1, 4)) = 0.986, and the page says that it is early."""
    found = findings_of(clinic([[[[3, 0], [0, 0]], [[0, 0], [0, 3]]]], policy={"kind": "TS"}), 0)
    assert found.summary.advice.contexts[0].probability > 0.95
    assert not found.summary.advice.stop
    assert found.summary.advice.withheld == "6 known outcomes are too few to say which is best"
    assert "Too early to say which is best" in sentences.headline(found)


def test_the_list_names_arms_only_where_the_threshold_is_reached_everywhere() -> None:
    two = {"proposals": ["usual care", "new drug"], "outcomes": ["relapsed", "well"], "contexts": ["young", "old"]}
    rule = {"probability_best": 0.95, "maximum": 100}
    sure, open_ = [[[20, 10], [0, 0]], [[0, 0], [5, 35]]], [[[15, 15], [0, 0]], [[0, 0], [15, 15]]]
    spec: dict[str, Any] = {"space": two, "policy": {"kind": "TS"}, "stopping": rule}
    found = findings_of(clinic([sure, open_], **spec), 0)
    assert "The stopping rule advises an end" in sentences.warnings(found)
    both = findings_of(clinic([sure, sure], **spec), 0)
    told = "The stopping rule advises an end: best is new drug in young, new drug in old"
    assert told in sentences.warnings(both)


def test_the_model_is_read_where_the_plan_says_so_and_nothing_speaks_against_it() -> None:
    counts = [[[[160, 80], [20, 40]], [[40, 20], [80, 160]]]]  # whoever takes the drug: two in three are well
    found = findings_of(clinic(counts, stopping={"probability_best": 0.95, "reading": "policy"}), 0)
    assert found.summary.advice.stop
    assert found.summary.advice.reasons[0].startswith("by the policy's own model new drug is best")
    assert "The stopping rule advises an end: best is new drug" in sentences.warnings(found)
    assert "The stopping rule advises an end: by the policy" in dashboard(found, 1)


def test_a_model_that_cannot_be_checked_is_not_read() -> None:
    unseen = np.zeros((1, 2, 3, 3), dtype=np.int64)
    unseen[0, :, 2, :2] = [[200, 100], [90, 210]]
    never: dict[str, Any] = {"policy": {"kind": "TSLat"}, "compliance": "never"}
    advice = summary_of(clinic(unseen, **never, stopping={"probability_best": 0.95, "reading": "policy"}), 0).advice
    assert (advice.stop, "compliance is never reported" in str(advice.withheld)) == (False, True)
    assert summary_of(clinic(unseen, **never), 0).advice.stop  # intention to treat needs no compliance


def test_a_log_that_cannot_be_trusted_advises_nothing() -> None:
    """1,000 proposals of the one and 100 of the other do not come of even probabilities."""
    advice = summary_of(clinic([[[[500, 500], [0, 0]], [[0, 0], [10, 90]]]]), 0).advice
    assert (advice.stop, "as often as" in str(advice.withheld)) == (False, True)


def test_there_is_no_advice_once_the_trial_has_stopped() -> None:
    book = clinic(CLEAR, stopping={"probability_best": 0.95, "maximum": 600})
    assert len(summary_of(book, 0).advice.reasons) == 2
    book.state = "stopped"
    stopped = findings_of(book, 0)
    assert (stopped.summary.advice.stop, stopped.summary.advice.contexts) == (False, ())
    assert "advises an end" not in dashboard(stopped, 1)


def test_every_context_must_reach_the_threshold() -> None:
    """Rule alone, on probabilities: one context of two is not enough; a maximum is a reason of its own."""
    young = most_probable({"a": 0.02, "b": 0.98}, 0.95, "intention to treat", context="young")
    old = most_probable({"a": 0.6, "b": 0.4}, 0.95, "intention to treat", context="old")
    sure = most_probable({"a": 0.96, "b": 0.04}, 0.95, "intention to treat", context="old")
    assert (young.arm, old.arm) == ("b", "a")
    assert not advise(100, None, [young, old]).stop
    both = advise(100, None, [young, sure])
    assert both.stop
    assert "in the group young b is best with probability 0.98, and the threshold is 0.95" in both.reasons[0]
    assert "in the group old a is best with probability 0.96, and the threshold is 0.95" in both.reasons[0]
    assert advise(100, 100, [young, old]).reasons == ("100 decisions have been made, and the maximum is 100",)
    assert not advise(99, 100, ()).stop


def test_a_spec_without_a_reading_keeps_its_text() -> None:
    """What was stored and hashed before there was a choice must come out the same."""
    assert "reading" not in Design.of(SPEC).text
    by_model = Design.of({**SPEC, "stopping": {"probability_best": 0.95, "reading": "policy"}})
    assert Design.of_text(by_model.text).spec.stopping.reading == "policy"
    with pytest.raises(InputError, match=r"stopping\.reading.*UCB1 has no model"):
        Design.of({**SPEC, "policy": {"kind": "UCB1"}, "stopping": {"reading": "policy"}})


def test_both_checks_are_those_of_the_diagnostics() -> None:
    """Those who comply differ, so compliance is not ignorable; but no proposal acts past the action taken."""
    book = clinic(SICKER)
    summary, evidence = summary_of(book, 0), Evidence(book.design.space, book.counts)
    assert isinstance(summary.ignorable, ModelCheck)
    assert isinstance(summary.exclusion, ModelCheck)
    assert (summary.ignorable.alarm, summary.exclusion.alarm) == (True, False)
    assert summary.exclusion.detail == check_exclusion(evidence).summary()
    assert summary.ignorable.log_e_value == check_ignorable(evidence).log_e_value
    direct = summary_of(clinic([[[[5, 140], [5, 5]], [[140, 5], [5, 5]]]]), 0)
    assert isinstance(direct.exclusion, ModelCheck)
    assert direct.exclusion.alarm
    assert isinstance(summary_of(clinic([[[[5, 5], [5, 5]], [[0, 0], [0, 0]]]]), 0).exclusion, Withheld)


UNKNOWN = [[[[10, 30], [0, 0], [30, 12]], [[0, 0], [12, 28], [31, 9]]]]
"""Of 80 of whom it is known what they took 58 are well, of 82 others 21."""


def test_that_known_actions_go_with_outcomes_is_told_in_words() -> None:
    book = clinic(UNKNOWN, policy={"kind": "TSRobust"}, compliance="sometimes")
    found = findings_of(book, 0)
    check = found.summary.seen_by_outcome
    assert isinstance(check, SeenCheck)
    twin = check_seen(Evidence(book.design.space, book.counts))
    assert (check.alarm, check.difference, check.detail) == (True, twin.difference, twin.summary())
    page = dashboard(found, 1)
    assert "Of those of whom it is known what they took, 58 of 80 had the outcome well, of the others 21 of 82." in page
    assert "Among those of one group who were offered the same that is +47 points (95 % limits +33 to +61)." in page
    assert "Whether an action is known goes with the outcome" in sentences.warnings(found)
    assert TypeAdapter(TrialSummary).dump_python(found.summary, mode="json")["seen_by_outcome"]["alarm"]


def test_known_actions_are_compared_where_somebody_needs_it() -> None:
    """Not where the policy makes nothing of compliance, nor where there is but one kind; withheld where few are."""
    robust: dict[str, Any] = {"policy": {"kind": "TSRobust"}, "compliance": "sometimes"}
    assert summary_of(clinic(UNKNOWN, policy={"kind": "TS"}), 0).seen_by_outcome is None
    assert summary_of(clinic(SICKER, **robust), 0).seen_by_outcome is None
    never = np.zeros((1, 2, 3, 2), dtype=int)
    never[0, :, UNSEEN] = 40
    assert summary_of(clinic(never, **robust), 0).seen_by_outcome is None
    few = never.copy()
    few[0, 0, 0] = 4
    found = findings_of(clinic(few, **robust), 0)
    assert isinstance(found.summary.seen_by_outcome, Withheld)
    assert "8 actions were seen and 80 were not; there should be 10 of each" in dashboard(found, 1)
    few[0, 0, 0] = 20
    fine = findings_of(clinic(few, **robust), 0)
    assert "Those with unknown actions fare alike" in [each.short for each in sentences.checks(fine)]
    assert "Whether an action is known goes with the outcome" not in sentences.warnings(fine)


def test_probability_best_of_gibbs_sampling_does_not_hang_on_one_draw_of_the_actions() -> None:
    """Over versions of one evidence it stays within five standard errors of the policy's own, from 8,000 chains."""
    counts = np.zeros((1, 2, 3, 3), dtype=np.int64)
    counts[0, :, 2, :2] = [[30, 20], [24, 26]]
    book = clinic(counts, policy={"kind": "TSLat", "inference": "gibbs"}, compliance="never")
    policy = TSLat(inference="gibbs")
    own = policy.allocation(Evidence(book.design.space, book.counts), 0, stream(1), 8_000).probability[1]
    assert 0.6 < own < 0.95
    for version in range(10):
        book.version = version
        _, drug = summary_of(book, 0).overall.proposals
        assert drug.model_probability_best is not None
        assert abs(drug.model_probability_best - own) < 5 * np.sqrt(own * (1 - own) / 1_000)
