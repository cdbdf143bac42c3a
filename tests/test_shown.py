"""What people are shown of a proposal: the mean in the units of the outcome; its worth where there is a utility."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from outcome_cases import OUTCOMES
from takeup import Environment, Normals, Uniform, World, simulate
from takeup.cli.simulate import _table
from takeup.live import Trial
from takeup.live.estimates import Estimate
from takeup.live.findings import Findings, findings_of
from takeup.outcomes import Count, Levels, Number, Time
from takeup.outcomes.distribution import average
from takeup.service.pages.render.child import _sum, dashboard
from takeup.service.pages.templates import render
from takeup.service.pages.trial_charts import readings
from takeup.store import reading

ARMS = ["rest", "pill"]
PRESSURE: dict[str, Any] = {"kind": "number", "low": 60, "high": 220, "step": 1, "unit": "mmHg", "better": "lower"}


def measured(outcome: Number | Count | Time, code: int) -> float:
    """An outcome as its reporter would write it: a number, events by exposure, or a time."""
    plain = outcome.plain(code)
    if not isinstance(plain, dict):
        return float(str(plain))
    return plain["events"] / plain["exposure"] if "events" in plain else plain["time"]


def test_levels_are_shown_as_shares_where_one_of_two_is_the_good_one() -> None:
    shown = Levels(("well", "ill"), (1, 0)).shown
    assert (shown.title, shown.share) == ("share whose outcome is well", True)
    assert (Levels(("0", "5", "10"), (0, 5, 10)).shown.title, Levels(("a", "b"), (0, 2)).shown.share) == (
        "mean outcome",
        False,
    )


@pytest.mark.parametrize("case", OUTCOMES)
def test_worth_is_shown_as_what_was_measured(case: str) -> None:
    """The worth of every outcome, with the sign that it is shown with, is the outcome itself; not so with a utility."""
    outcome = OUTCOMES[case]
    if isinstance(outcome, Levels):
        assert outcome.shown.title == "mean worth of outcomes"
        return
    assert isinstance(outcome, Number | Count | Time)
    if isinstance(outcome, Number) and outcome.utility:
        assert (outcome.shown.title, outcome.shown.sign) == ("expected worth", 1.0)
        return
    for code in np.linspace(0, outcome.size - 1, 50).astype(int).tolist():
        assert outcome.shown.sign * outcome.worths[code] == pytest.approx(measured(outcome, code))
    assert outcome.shown.title.endswith(outcome.shown.unit)


@pytest.mark.parametrize(
    ("outcome", "digits"),
    [
        (Number(0, 10, 1), 1),
        (Number(0, 10, 0.5), 2),
        (Number(0, 1_000, 100), 1),
        (Time(9, step=0.25), 3),
        (Count(9), 2),
    ],
)
def test_means_have_one_decimal_more_than_outcomes(outcome: Number | Count | Time, digits: int) -> None:
    assert outcome.shown.digits == digits


def test_rates_have_decimals_for_few_events() -> None:
    """One fall in 90 days is 0.0111 a day."""
    shown = Count(20, exposure="days", longest=90, unit="falls").shown
    assert (shown.title, shown.digits) == ("rate, falls/days", 4)


def test_regret_has_decimals_for_what_it_adds_up() -> None:
    """One decimal, or one fewer than the means have: 0.0213 falls a day are no 0.0."""
    rate = Count(20, exposure="days", longest=90, unit="falls")
    assert _sum(rate.shown, Estimate(0.0213, 0.0099, 0.035, 40)) == "0.021 (0.010 to 0.035) falls/days"
    assert _sum(Number(0, 10, 1).shown, Estimate(1234.56, 1.0, 2000.0, 40)) == "1,234.6 (1.0 to 2,000.0)"
    each = {"name": "x", "words": "y", "regret": 0.0213, "error": 0.0061, "even": 0.5, "share": [], "late": []}
    found = {"runs": 2, "people": 40, "batch": 1, "chart": None, "scenarios": [each]}
    space = SimpleNamespace(outcome=rate, proposals=())
    design = SimpleNamespace(space=space, spec=SimpleNamespace(compliance="always"))
    job = SimpleNamespace(over=True, result=found)
    page = render("rehearsal", sketch=SimpleNamespace(job=job, design=design))
    assert re.search(r"<td>0\.021<span [^>]*>± 0\.006</span></td><td>0\.500</td>", page)
    assert "Regret is how much better always proposing the best would have been." in page


def test_ends_change_places_where_lower_is_better() -> None:
    worth = Estimate(-122.0, -125.0, -118.0, 7)
    assert worth.shown(OUTCOMES["number"].shown) == Estimate(122.0, 118.0, 125.0, 7)
    assert worth.shown(OUTCOMES["utility"].shown) == worth


@pytest.mark.parametrize("case", [name for name, kind in OUTCOMES.items() if isinstance(kind, Number | Count)])
def test_averages_are_those_of_every_outcome(case: str) -> None:
    """The mean of numbers and counts; all events over all exposure where exposures differ."""
    outcome = OUTCOMES[case]
    assert isinstance(outcome, Number | Count)
    codes = np.linspace(0, outcome.size - 1, 7).astype(int)
    plain: list[Any] = [outcome.plain(int(code)) for code in codes]
    many = [each["events"] if isinstance(each, dict) else each for each in plain]
    over = [each["exposure"] if isinstance(each, dict) else 1 for each in plain]
    expected = sum(many) / sum(over)
    assert average(outcome, outcome.amounts(codes).sum(axis=0)) == pytest.approx(expected)
    assert np.isnan(average(outcome, np.zeros(outcome.width, dtype=np.int64)))


def test_a_simulation_on_a_terminal_says_the_unit() -> None:
    world = World([[0.9, 0.1], [0.2, 0.8]], Normals([130.0, 118.0], [14.0, 16.0]), Number(60, 220, 1, "mmHg"))
    plain = World.bernoulli([[0.9, 0.1], [0.2, 0.8]], [0.4, 0.6])
    for each, title in ((world, "Regret in mmHg after 3 decisions"), (plain, "Regret after 3 decisions")):
        trace = simulate(Environment.from_world(each), Uniform(), 3, 2, engine="reference")
        assert str(_table(trace).title).startswith(title)


def found_of(folder: Path, outcome: dict[str, Any], values: tuple[Any, Any]) -> Findings:
    """Forty people, all of whom comply; each arm has one outcome, give or take."""
    spec = {"name": "x", "space": {"proposals": ARMS, "outcomes": outcome}, "policy": {"kind": "TS"}}
    with Trial.create(folder / "t.db", {**spec, "burn_in": 40}) as trial:
        trial.start()
        for i in range(40):
            decision = trial.decide(f"u{i}")
            arm = ARMS.index(decision.proposal)
            trial.report(decision, implemented=decision.proposal, outcome=values[arm] + i % 3 - 1)
        book = trial.store.read(lambda connection: reading.snapshot(connection, trial.id, time_series=True))
        return findings_of(book, late=0)


def means(rows: list[tuple[str, ...]]) -> list[float]:
    """The first reading of each proposal."""
    return [float(row[1].split()[0].replace("\u2212", "-")) for row in rows]


def test_a_page_says_mmhg(tmp_path: Path) -> None:
    """About 150 at rest and 120 with the pill, which is better; nothing on the page is below zero but its scores.

    A prior of one outcome at 140 moves means of twenty by less than two.
    """
    found = found_of(tmp_path, PRESSURE, (150, 120))
    html = dashboard(found, 0)
    page = re.sub(r"Scores [^<]*", "", re.sub(r"<svg.*?</svg>", "", html, flags=re.DOTALL))
    assert "Mean, mmHg with 95 % credible intervals" in page
    assert "\u2212" not in page
    assert re.search(r"<strong>[\d.,]+ \([\d., to]+\) mmHg that better proposals would have spared", page)
    assert means(readings(found, found.summary.overall)[1]) == pytest.approx([150, 120], abs=2.5)
    assert "mean, mmHg" in html
    assert re.search(r"pill, by intention to treat: 1[12]\d\.\d \(", html)
    assert "pill is best" in html
    summary = found.summary
    assert (summary.shown.title, summary.shown.sign) == ("mean, mmHg", -1)
    assert summary.overall.proposals[1].value.shown(summary.shown).mean == pytest.approx(120, abs=2.5)


def test_a_utility_is_shown_as_worth(tmp_path: Path) -> None:
    """120 is worth 1 and 150 is worth 0.6: what is shown is between 0 and 1, and the mean in mmHg is in the table."""
    utility = {**PRESSURE, "better": "higher", "utility": [[80, 0], [110, 1], [130, 1], [180, 0]]}
    found = found_of(tmp_path, utility, (150, 120))
    html = dashboard(found, 0)
    assert "Expected worth with 95 % credible intervals" in html
    assert " worth that better proposals would have gained" in html
    assert all(0 < each < 1 for each in means(readings(found, found.summary.overall)[1]))
    assert re.search(r"<th scope=\"row\" class=\"word\">rest</th><td>\d+</td><td>1(49|50)\.\d", html)
