"""What pages call things: the words of the spec, people instead of units of reward, shares as they were counted."""

import re
from typing import Any

import numpy as np
import pytest

from page_fixtures import ARMS, LEVELS, SPEC, book_of
from page_visitor import choose
from takeup.errors import InputError
from takeup.live.findings import findings_of
from takeup.service.pages import sentences, spec_form
from takeup.service.pages.choices import USUAL, choices
from takeup.service.pages.render.child import dashboard
from takeup.service.pages.spec_sentences import blinded_sentences, spec_sentences
from takeup.service.pages.templates import render
from takeup.trial.design import Design
from takeup.trial.spec import WordsTable

ONE: dict[str, Any] = {**SPEC, "space": {"proposals": list(ARMS), "outcomes": list(LEVELS)}}
COUNTS = np.array([[[[10, 30], [0, 0]], [[0, 0], [25, 15]]]])
"""Everybody complied: 40 of 40, and 40 of 40."""


def test_words_of_the_spec_are_said_and_left_out_of_its_text_where_they_are_the_usual() -> None:
    words = {"unit": "mother", "units": "mothers", "offered": "invited to", "took": "came to", "well": "well"}
    told = Design.of({**ONE, "words": words})
    assert spec_sentences(told)[0].startswith("Each mother gets one decision: zebra or yak is invited to")
    found = findings_of(book_of(COUNTS, {**ONE, "words": words}), 0)
    assert "of those invited to zebra came to it" in (sentences.believed(found, told.spec.words) or "")
    assert "mothers who would have been well" in sentences.regret(found, told.spec.words)
    page = dashboard(found, 1, words=told.spec.words)
    assert "The share of mothers who are well where it is proposed" in page
    assert "hare whose outcome is" not in page
    assert WordsTable().number(1) == "1 patient"
    assert WordsTable(unit="visitor").number(2_000) == "2,000 visitors"
    assert "words" not in Design.of(ONE).text
    assert Design.of({**ONE, "words": {}}).text == Design.of(ONE).text
    assert Design.of_text(told.text).spec.words == told.spec.words


@pytest.mark.parametrize("word", ["", " patient", "patient ", "x" * 61, "a\nb", 3])
def test_a_word_is_one_line(word: object) -> None:
    with pytest.raises(InputError, match=r"words\.unit"):
        Design.of({**ONE, "words": {"unit": word}})


def test_regret_is_in_people_where_one_of_two_outcomes_is_the_good_one() -> None:
    """It is the sum of differences of shares, so that each unit of it is one person."""
    found = findings_of(book_of(COUNTS, ONE), 0)
    mean = found.summary.overall.regret.mean
    assert re.match(rf"{mean:.1f} \([\d.]+ to [\d.]+\) patients more with “won”", sentences.regret(found))


def test_shares_are_those_that_were_counted() -> None:
    """All forty did as they were told, of which the model believes 98 %: what is written large is 100 %."""
    html = dashboard(findings_of(book_of(COUNTS, ONE), 0), 1)
    assert "zebra: 40 of 40 did zebra" in html
    assert ">100 %<" in html
    assert "believed share" in html


def test_counters_that_count_nothing_are_left_out() -> None:
    html = dashboard(findings_of(book_of(COUNTS, ONE), 0), 1)
    facts = re.findall(r"<dt>([^<]+)</dt><dd>([^<]+)</dd>", html)
    assert facts == [("decisions", "80"), ("outcomes known", "80"), ("outcomes pending", "0"), ("actions known", "80")]


def test_the_design_that_the_blinded_see_names_no_arm() -> None:
    design = Design.of({**SPEC, "limits": {"floor": 0.1}, "window": "90 days", "stopping": {"maximum": 500}})
    said = " ".join(blinded_sentences(design))
    assert "90 days" in said
    assert "500 decisions" in said
    for secret in (*ARMS, *LEVELS):
        assert secret not in said
        assert secret in " ".join(spec_sentences(design))


def test_the_first_policy_is_the_recommended_one_in_plain_words() -> None:
    first = next(iter(choices().values()))
    assert (first.name, first.plain) == (USUAL, "Safe whatever people do, and faster where the data allow it")
    assert all(each.plain for each in choices().values() if each.common)
    said = " ".join(spec_sentences(Design.of({**ONE, "policy": {"kind": "TSRobust"}})))
    assert "safe whatever people do, and faster where the data allow it" in said


def test_one_policy_is_recommended_without_covariates_and_one_with_them_each_the_first_of_its_kind() -> None:
    recommended = [each.name for each in choices().values() if each.recommended]
    assert recommended == [USUAL, "LinTS-Robust"]
    firsts = [next(each.name for each in choices().values() if each.covariates == wanted) for wanted in (False, True)]
    assert firsts == recommended
    assert spec_form.BLANK["policy"] == USUAL


def test_two_groups_are_crossed_by_name() -> None:
    checked, wrong = spec_form.read(choose(contexts="young\nold", contexts_too="mild\nsevere"))
    assert not wrong
    assert checked is not None
    assert checked.design.space.contexts == ("young, mild", "young, severe", "old, mild", "old, severe")
    alone, _ = spec_form.read(choose(contexts_too="mild\nsevere"))
    assert alone is not None
    assert alone.design.space.contexts == ("mild", "severe")
    assert "young, mild" in spec_form.fields_of(checked.design)["contexts"]


def test_nobody_is_told_to_ortry() -> None:
    empty = {"lines": [], "readable": True, "visit": Nobody(), "form_token": ""}
    assert re.search(r"</a>, or\s+<a href=\"/app/try\">", render("trials", **empty))


class Nobody:
    """Somebody who may do everything, and has not signed in."""

    caller = None

    def may(self, *scopes: str) -> bool:
        """Whatever it is."""
        return bool(scopes)
