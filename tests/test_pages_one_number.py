"""One fact has one number: on a trial's page, in its charts and tables, in the list, the API, the analysis and advice.

What differs is something else, and says so: by which reading, believed or concluded, then or now.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import asgi
from takeup.analysis import Analysis, analyse
from takeup.analysis.headline import headline
from takeup.analysis.job import shown
from takeup.live import Trial
from takeup.live.findings import Findings, findings_of
from takeup.live.standing import standing
from takeup.randomness import stream
from takeup.service.pages import sentences
from takeup.service.pages.render.child import dashboard
from takeup.service.pages.render.planned import PlannedReading
from takeup.service.pages.spec_sentences import spec_sentences
from takeup.service.pages.templates import count, percent
from takeup.service.pages.trial_charts import interval
from takeup.store import reading
from takeup.trial.stopping import chance

SPEC: dict[str, Any] = {
    "name": "Clinic",
    "space": {
        "proposals": ["usual care", "new drug"],
        "contexts": ["under 70", "70 and over"],
        "outcomes": ["ill", "well"],
    },
    "policy": {"kind": "TSObs"},
    "limits": {"floor": 0.2},
    "stopping": {"probability_best": 0.9},
    "rehearsal": True,
    "seed": 4,
}
BEST, MODEL = "best, by intention to treat", "best, by TS-Obs's model"
SAID = r"best with probability|the probability is|\(probability "
READINGS = r"[Bb]y intention to treat|model|the policy believed"


class Seen(NamedTuple):
    """All that is said of one trial, wherever it is."""

    trial: Trial
    found: Findings
    page: str
    api: dict[str, Any]
    analysis: Analysis

    @property
    def text(self) -> str:
        """The page as somebody reads it, without charts."""
        whole = re.sub(r"<svg.*?</svg>", "", self.page, flags=re.DOTALL)
        return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", whole)).replace("\u00a0", " "))

    def rows(self, place: str) -> dict[str, dict[str, str]]:
        """The table in the element of this id: cells by the first cell of their row and the name of their column."""
        inside = re.search(rf'id="{place}".*?<table>(.*?)</table>', self.page, re.DOTALL)
        assert inside is not None, place
        lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in inside[1].split("<tr>")[1:]]
        names, *cells = ([html.unescape(cell) for cell in line] for line in lines)
        return {line[0]: dict(zip(names, line, strict=True)) for line in cells}

    def marks(self, chart: str) -> str:
        """What the marks of a chart say, and the chart itself."""
        (drawn,) = re.findall(rf'id="figure-{chart}".*?(<svg.*?</svg>)', self.page, re.DOTALL)
        return html.unescape(" | ".join(re.findall(r'aria-label="([^"]*)"', drawn)))


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    with asgi.api(str(Path(tmp_path_factory.mktemp("one")) / "trials.db")) as api:
        trial = Trial.create(api.store, SPEC, trial="clinic")
        trial.start()
        rng = stream(8, "patients")
        for i in range(160):
            made = trial.decide(f"p{i}", int(rng.random() < 0.4))
            took = made.proposal == "new drug" and rng.random() < 0.7
            well = rng.random() < (0.6 if took else 0.45)
            trial.report(made, implemented="new drug" if took else "usual care", outcome="well" if well else "ill")
        book = api.store.read(lambda connection: reading.snapshot(connection, "clinic"))
        found, log = findings_of(book, 0), trial.log()
        lead = headline(log, trial.design, finished=False)
        planned = PlannedReading(tuple(lead), len(log), book.sequence, False, lead.brief)
        summary = api.request("GET", "/trials/clinic/summary", key=api.key("read-unblinded")).json
        analysis = analyse(log, own=trial.design, finished=False, leave_out=("re-randomisation", "conditional exact"))
        yield Seen(trial, found, dashboard(found, 1, planned), summary, analysis)


def test_the_effect_is_one_wherever_it_is_told(seen: Seen) -> None:
    """The head of the page, the list, the tab, the report and JSON; and the row of the tab's table has its figures."""
    (answer,) = seen.analysis.answers()
    assert answer in seen.text
    assert answer in re.sub(r"\s+", " ", html.unescape(seen.analysis.report()))
    assert seen.analysis.plain()["primary"]["answers"] == [answer]
    tab = shown(seen.analysis)
    assert tab["answers"] == [answer]
    assert (tab["rows"][0]["estimate"], tab["rows"][0]["interval"]) == figures(answer)
    brief = headline(seen.trial.log(), seen.trial.design, finished=False).brief
    assert brief in answer
    assert sentences.brief(seen.found, brief) == brief


def figures(answer: str) -> tuple[str, str]:
    """The estimate and the interval in an answer."""
    said = re.search(r"is (\S+ points) \(95 % interval (\S+ to \S+ points)", answer)
    assert said is not None, answer
    return said[1], said[2]


def test_how_probably_each_is_best_is_one_by_each_reading(seen: Seen) -> None:
    overall = seen.found.summary.overall.proposals
    values, readings = seen.rows("table-values"), seen.rows("readings")
    for each, told in zip(overall, seen.api["overall"]["proposals"], strict=True):
        assert values[each.label][BEST] == readings[each.label][BEST] == chance(each.probability_best)
        assert each.probability_best == told["probability_best"]
        assert each.model_probability_best is not None
        assert values[each.label][MODEL] == chance(each.model_probability_best)
        assert each.model_probability_best == told["model_probability_best"]
    believed = standing(seen.trial.summary())
    assert believed in (sentences.believed(seen.found) or "")
    assert believed.endswith(f"probability {chance(max(each.probability_best for each in overall))}")


def test_groups_have_the_numbers_of_their_advice(seen: Seen) -> None:
    for place, group in enumerate(seen.found.summary.contexts):
        (advice,) = [each for each in seen.found.summary.advice.contexts if each.context == group.context]
        best = max(group.proposals, key=lambda each: each.probability_best)
        rows = seen.rows(f"context-{place + 1}")
        assert advice.probability == best.probability_best
        assert rows[best.label][BEST] == chance(best.probability_best)
        assert f"probability {chance(best.probability_best)}" in advice.sentence
        said = f"most probably best by intention to treat: {best.label}, {chance(best.probability_best)}"
        assert f"{group.context}: {group.decisions} decisions; {said}".replace("\u00a0", " ") in seen.text
        assert seen.api["contexts"][place]["proposals"][0]["probability_best"] == group.proposals[0].probability_best


def test_no_probability_is_told_without_its_reading(seen: Seen) -> None:
    """Two probabilities of being best on one page are of two readings, or of two times, and the words say which."""
    told = [part for part in re.split(r"[.;|] ", f"{seen.text} | {seen.marks('best')}") if re.search(SAID, part)]
    assert len(told) > 5
    assert [part for part in told if not re.search(READINGS, part)] == []


def test_values_are_one_in_tables_marks_and_the_api(seen: Seen) -> None:
    how, marks = seen.found.space.outcome.shown, seen.marks("values")
    values, readings = seen.rows("table-values"), seen.rows("readings")
    for each, told in zip(seen.found.summary.overall.proposals, seen.api["overall"]["proposals"], strict=True):
        value = interval(each.value, how)
        assert values[each.label]["by intention to treat"] == readings[each.label]["intention to treat"] == value
        assert f"{each.label}, by intention to treat: {value}" in marks
        assert (told["value"]["mean"], told["value"]["low"]) == (each.value.mean, each.value.low)


def test_what_was_counted_stands_beside_what_is_believed(seen: Seen) -> None:
    """Counted here from the log itself."""
    log, space = seen.trial.log(), seen.found.space
    for z, label in enumerate(space.proposals):
        offered = log.proposal == z
        well, known = int((log.outcome[offered] == 1).sum()), int(offered.sum())
        counted = f"{count(well)} of {count(known)}"
        assert seen.rows("table-values")[label]["well, as counted"] == counted
        assert seen.rows("readings")[label]["well, as counted"] == counted
        did = log.implemented == z
        raw = f"{count(int((log.outcome[did] == 1).sum()))} of {count(int(did.sum()))}, believed "
        assert seen.rows("table-outcomes")[label]["well"].startswith(raw)
        assert f"well after {label}: {raw}" in seen.marks("outcomes")
    drug = log.proposal == 1
    took, many = int((log.implemented[drug] == 1).sum()), int(drug.sum())
    assert f"{percent(took / many)} of those offered new drug took it" in (sentences.believed(seen.found) or "")
    assert f"new drug was proposed, new drug was done: {took} of {many}" in seen.marks("compliance")


def test_regret_is_one_and_adds_up(seen: Seen) -> None:
    regret = seen.found.summary.overall.regret
    assert seen.api["overall"]["regret"]["mean"] == regret.mean
    assert sentences.regret(seen.found) in seen.text
    assert sum(each.regret.mean for each in seen.found.summary.contexts) == pytest.approx(regret.mean)


def test_the_design_says_the_threshold_that_advice_compares_with(seen: Seen) -> None:
    (ends,) = [each for each in spec_sentences(seen.trial.design) if each.startswith("An end is advised")]
    assert "best with probability 0.9 by intention to treat" in ends
    assert {each.threshold for each in seen.found.summary.advice.contexts} == {0.9}


def test_a_policy_that_reads_as_intention_to_treat_has_its_numbers(tmp_path: Path) -> None:
    """TS believes of proposals what intention to treat does: the same draws, and no second column."""
    with Trial.create(tmp_path / "trials.db", {**SPEC, "policy": {"kind": "TS"}}) as trial:
        trial.start()
        for i in range(40):
            trial.report(trial.decide(f"p{i}", i % 2), implemented=i % 2, outcome=int(i % 3 == 0))
        proposals = trial.summary().overall.proposals
        assert [each.model_value for each in proposals] == [each.value for each in proposals]
        assert [each.model_probability_best for each in proposals] == [each.probability_best for each in proposals]
        book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id))
        page = dashboard(findings_of(book, 0), 1)
        assert "TS's model" not in page
        assert "own model the probability" not in page


@pytest.mark.parametrize(
    ("probability", "said"),
    [
        (0.5, "0.50"),
        (0.563, "0.56"),
        (0.99, "0.99"),
        (0.9923, "0.992"),
        (0.9994, "0.999"),
        (0.9995, ">\u00a00.999"),
        (0.9999, ">\u00a00.999"),
        (0.004, "0.004"),
        (0.0, "<\u00a00.001"),
    ],
)
def test_a_probability_has_the_digits_that_it_is_good_for(probability: float, said: str) -> None:
    assert chance(probability) == said
