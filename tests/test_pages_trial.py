"""What a trial's page says, what it withholds, and that nothing in it runs."""

import re
from dataclasses import replace

import numpy as np
import pytest

from page_fixtures import ARMS, SPEC, assert_strict, book_of
from takeup import Space
from takeup.live.findings import Findings, disagreements, findings_of
from takeup.live.model_checks import Withheld
from takeup.service.pages import sentences
from takeup.service.pages.render.child import dashboard
from takeup.service.pages.trial_charts import interval
from takeup.trial.book import Book


def ignorable() -> Book:
    """Seven in ten comply, and outcomes follow the action."""
    return book_of([[[[28, 42], [9, 21]], [[12, 18], [21, 49]]]] * 2)


def confounded() -> Book:
    """Half take the yak whatever is proposed and do well; the other half do as told, and the yak harms them."""
    return book_of([[[[100, 100], [50, 150]], [[0, 0], [200, 200]]]] * 2)


@pytest.fixture(scope="module")
def sound() -> Findings:
    return findings_of(ignorable(), late=0)


@pytest.fixture(scope="module")
def unsound() -> Findings:
    return findings_of(confounded(), late=3)


def test_the_headline_says_it_in_words(sound: Findings) -> None:
    """140 were offered the yak, and 98 took it, which is 70 %."""
    said = sentences.believed(replace_pending(sound, pending=12)) or ""
    assert re.fullmatch(
        r"Believed so far, not corrected for adaptive allocation: By intention to treat yak is best with probability"
        r" \S+; by TS-Obs's own model the probability is \S.*;"
        r" 70\u00a0% of those offered yak took it\. \d+ decisions; 12 outcomes pending\.",
        said,
    ), said


def replace_pending(found: Findings, pending: int) -> Findings:
    """The same with so many outcomes pending."""
    progress = replace(found.summary.progress, outcomes_pending=pending)
    return replace(found, summary=replace(found.summary, progress=progress))


def test_the_headline_takes_sides_with_intention_to_treat(unsound: Findings) -> None:
    """Proposing the zebra wins 5 in 8, proposing the yak 1 in 2; TS-Obs believes otherwise, and is wrong."""
    believed = sentences.believed(unsound) or ""
    assert (
        ": By intention to treat zebra is best with probability >\u00a00.999; the policy's own model says yak"
        in believed
    )
    assert sentences.brief(unsound).startswith("Believed so far: By intention to treat zebra")


def test_readings_that_disagree_are_told_apart(sound: Findings, unsound: Findings) -> None:
    assert [each.kind for each in sound.disagreements] == []
    kinds = {(each.kind, each.reading) for each in unsound.disagreements}
    assert ("selection", "complied only") in kinds  # of 400 who took the yak as told 200 won, of all 800 700 in 16
    assert any(reading == "the policy's model" for _, reading in kinds)
    for each in unsound.disagreements:
        assert sentences.disagreement(each).count(each.proposal)


def test_sure_readings_of_different_arms_are_a_disagreement() -> None:
    """Who did the yak wins 3 in 5, who did not 1 in 2; who is offered it 4 in 9, who is offered the zebra 2 in 3."""
    found = findings_of(book_of([[[[400, 400], [10, 390]], [[50, 50], [400, 300]]]] * 2), late=0)
    (leader,) = [each for each in found.disagreements if each.reading == "as treated"]
    assert (leader.kind, leader.proposal, leader.other) == ("leader", "zebra", "yak")
    assert min(leader.probability, leader.other_probability) >= 0.8
    without = Space(list(ARMS), implemented=["a", "b", "c"])
    assert disagreements(without, replace(found.summary.overall, implemented=Withheld("unknown"))) != [leader]


def test_checks_sound_where_they_should(sound: Findings, unsound: Findings) -> None:
    assert [check.state for check in sentences.checks(sound)] == ["fine", "fine", "fine", "fine"]
    states = {check.name: check.state for check in sentences.checks(unsound)}
    assert states == {
        "Sample ratio": "fine",
        "Ignorable compliance": "sounds",
        "Exclusion": "fine",
        "Late outcomes": "sounds",
    }
    assert "3 outcomes late" in sentences.warnings(unsound)


def test_the_dashboard_shows_the_summary(unsound: Findings) -> None:
    html = dashboard(unsound, 1_000_000)
    for proposal in unsound.summary.overall.proposals:
        assert interval(proposal.value, unsound.space.outcome.shown) in html
    assert html.count("<svg ") == html.count('role="img"') == 5
    assert html.count("<details id=") >= 5
    for name in ("best", "allocation", "values", "compliance", "outcomes"):
        assert f'id="table-{name}"' in html
    assert "Those who comply differ from those who do not" in html
    assert_strict(html)


def test_what_is_not_identified_is_withheld_with_the_reason() -> None:
    never = {**SPEC, "policy": {"kind": "TS"}, "compliance": "never"}
    counts = np.zeros((2, 2, 3, 3), dtype=np.int64)
    counts[:, :, 2, :2] = 30
    html = dashboard(findings_of(book_of(counts, never), 0), 1)
    assert "Withheld: compliance is never reported in this trial" in html
    assert 'id="figure-compliance"' not in html
    assert 'id="figure-outcomes"' not in html
    assert 'id="figure-values"' in html
    assert "Compliance not checked" in html
    assert "As treated and complied only are withheld" in html
    assert "They agree" not in html


def test_an_empty_trial_has_a_page() -> None:
    html = dashboard(findings_of(book_of(np.zeros((2, 2, 2, 2), dtype=np.int64)), 0), 1)
    assert "No decision has been made yet." in html
    assert "<svg" not in html


def test_nothing_is_best_after_a_few_outcomes() -> None:
    """One outcome in, the policy's model has a favourite, and the page does not say so."""
    counts = np.zeros((2, 2, 2, 2), dtype=np.int64)
    counts[0, 0, 0, 1] = 1
    found = findings_of(book_of(counts), 0)
    assert sentences.headline(found).startswith("Too early to say which is best, with 1 known outcome;")
    assert "most probably best" not in dashboard(found, 1)


def test_silence_means_nothing_as_long_as_little_is_known() -> None:
    counts = np.zeros((2, 2, 2, 2), dtype=np.int64)
    counts[0, :, 0, 0] = 3
    few = sentences.checks(findings_of(book_of(counts), 0))
    assert [check.state for check in few[:2]] == ["unknown", "unknown"]
    assert few[0].words == "Too early to say, with 6 decisions."


@pytest.mark.requirement("R-9.9")
def test_hostile_labels_run_nothing() -> None:
    hostile = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>']
    spec = {
        **SPEC,
        "name": "</h1><script>x</script>",
        "space": {"proposals": hostile, "outcomes": ["a&b", "</svg><b>"]},
    }
    html = dashboard(findings_of(book_of([[[[8, 12], [4, 6]], [[5, 5], [7, 13]]]], spec), 0), 1)
    assert assert_strict(html).isdisjoint({"script", "img", "b"})
    assert "&lt;script&gt;" in html
