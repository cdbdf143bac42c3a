"""Sentences in the words of a trial: in the analysis on pages, in the report and on the terminal, and in advice."""

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from takeup import Space
from takeup.analysis import Analysis, analyse
from takeup.analysis.headline import headline
from takeup.analysis.job import shown
from takeup.cli.analysis_tables import show
from takeup.live import Trial
from takeup.randomness import stream
from takeup.trial.spec import WordsTable
from takeup.trial.wording import Wording

MOTHERS = {"unit": "mother", "offered": "invited to", "took": "came to", "well": "well"}
SPEC: dict[str, Any] = {
    "name": "Class",
    "space": {"proposals": ["letter", "class"], "contexts": ["hill", "vale"], "outcomes": ["lost", "won"]},
    "policy": {"kind": "TSObs"},
    "limits": {"floor": 0.2},
    "stopping": {"maximum": 200},
    "words": MOTHERS,
    "rehearsal": True,
    "seed": 3,
}
OURS = r"\b([Pp]eople|person|[Oo]ffered|[Oo]ffering|took)\b|whose outcome is"
SPACE = Space(["usual care", "offered early"], outcomes=["ill", "well"])


def told(words: dict[str, str], sentence: str) -> str:
    return Wording(WordsTable(**words), SPACE).told(sentence)


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("People who took it", "Mothers who came to it"),
        ("it raises the share whose outcome is well by 2", "it raises the share of mothers who are well by 2"),
        ("about 16 more in 100 (95 %", "about 16 more in 100 mothers (95 %"),
        ("Offering usual care rather than offered early", "Being invited to usual care rather than offered early"),
        ("For those who take it because it is offered", "For those who came to it because they were invited to it"),
        ("usual care was offered to too few", "usual care was invited to too few"),
        ("what was offered", "what they were invited to"),
        ("peoples, tookish and reoffered", "peoples, tookish and reoffered"),
    ],
)
def test_a_sentence_is_retold_and_labels_are_not(sentence: str, said: str) -> None:
    assert told(MOTHERS, sentence) == said
    assert told(MOTHERS, said) == said  # once is enough


def test_without_words_of_its_own_a_trial_is_told_of_as_it_was() -> None:
    assert told({}, "People who took it") == "People who took it"


def test_words_that_hold_ours_are_not_retold_again() -> None:
    words = {
        "unit": "person at risk",
        "units": "people at risk",
        "took": "took part in",
        "offered": "offered a place in",
    }
    once = told(words, "People took what was offered; offering it to one person")
    assert once == (
        "People at risk took part in what they were offered a place in;"
        " being offered a place in it to one person at risk"
    )
    assert told(words, once) == once


class Pair(NamedTuple):
    one: str
    many: int


def test_all_texts_in_anything_are_retold() -> None:
    wording = Wording(WordsTable(unit="child", units="children"), SPACE)
    assert wording.all({"people": ["people", ("people", 3), Pair("people", 2), None]}) == {
        "people": ["children", ("children", 3), Pair("children", 2), None]
    }
    assert wording.all(partial("{} {more}".format, "people", more="person"))() == "children child"


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    file: Path = tmp_path_factory.mktemp("words") / "trials.db"
    with Trial.create(file, SPEC, trial="class") as made:
        made.start()
        rng = stream(5, "mothers")
        for i in range(200):
            decided = made.decide(f"m{i}", "hill" if i % 3 else "vale")
            came = decided.proposal == "class" and rng.random() < 0.7
            won = rng.random() < (0.8 if came else 0.4)
            made.report(decided, implemented="class" if came else "letter", outcome="won" if won else "lost")
        yield made


@pytest.fixture(scope="module")
def found(trial: Trial) -> Analysis:
    return analyse(trial.log(), own=trial.design, finished=False, leave_out=("re-randomisation", "conditional exact"))


def test_an_analysis_speaks_as_the_trial_does(
    trial: Trial, found: Analysis, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nowhere, in no sentence and no table, is a word of ours left that the trial has another for."""
    page = re.sub(r"<style.*?</style>|<code>.*?</code>", "", found.report(), flags=re.DOTALL)
    report = re.sub(r"<[^>]+>", " ", page) + " ".join(re.findall(r'aria-label="([^"]*)"', page))
    show(found)
    tab = re.sub(r"<[^>]+>", " ", str(shown(found)))
    for text in (report, capsys.readouterr().out, tab, " ".join(headline(trial.log(), trial.design, finished=False))):
        assert [text[max(0, left.start() - 60) :][:160] for left in re.finditer(OURS, text)] == []
        assert "the share of mothers who are well" in text


def test_the_figures_are_the_same_in_any_words(trial: Trial, found: Analysis) -> None:
    """Words change sentences and no number, and JSON but for its answers not at all."""
    plain = {**SPEC, "words": {}}
    other = analyse(
        trial.log(),
        own=type(trial.design).of(plain),
        finished=False,
        leave_out=("re-randomisation", "conditional exact"),
    )
    assert [re.findall(r"[\d.]+", each) for each in other.answers()] == [
        re.findall(r"[\d.]+", each) for each in found.answers()
    ]
    ours, theirs = other.plain(), found.plain()
    for each in (ours, theirs):
        del each["primary"]["answers"]
    assert ours == theirs


def test_advice_counts_those_whom_the_trial_is_about(trial: Trial) -> None:
    assert trial.summary().advice.reasons == ("200 mothers have come, and the maximum is 200",)
