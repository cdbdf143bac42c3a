"""What estimates say in words: the right way round for every kind of outcome, and how many they leave out."""

import math
from dataclasses import replace
from itertools import product
from typing import Any, cast

import numpy as np
import pytest

import adaptive_trials
from takeup import Count, Log, Number, Space, Time
from takeup.analysis import Estimate, analyse, effect, rate_effect, time_effect
from takeup.analysis.compliance_checks import IGNORABLE
from takeup.analysis.estimate import Measure
from takeup.analysis.headline import beside
from takeup.analysis.results import Entry
from takeup.analysis.telling import axis, direction, of_people, quantity, span
from takeup.analysis.words import answer, reasons
from takeup.outcomes import Levels, Outcome
from takeup.trial.design import Design

KINDS: dict[str, tuple[Outcome, tuple[Measure, ...], str]] = {
    "two levels": (Levels(("ill", "well")), ("difference", "ratio", "odds ratio"), "higher"),
    "two levels, the better first": (Levels(("well", "ill"), (1.0, 0.0)), ("difference", "ratio"), "higher"),
    "levels": (Levels(("bad", "fair", "fine"), (0.0, 1.0, 5.0)), ("difference", "ratio"), "higher"),
    "number": (Number(0, 10), ("difference", "ratio"), "higher"),
    "low number": (Number(0, 10, better="lower", unit="mmHg"), ("difference", "ratio"), "lower"),
    "number with a worth": (Number(0, 10, utility=[(0, 5), (10, 0)]), ("difference",), "higher"),
    "count": (Count(10, better="higher"), ("difference", "rate ratio"), "more"),
    "low count": (Count(10, unit="falls"), ("difference", "rate ratio"), "fewer"),
    "rate": (Count(10, exposure="days", longest=4, better="higher"), ("difference", "rate ratio"), "more"),
    "low rate": (Count(10, exposure="days", longest=4), ("difference", "rate ratio"), "fewer"),
    "time": (Time(12), ("difference", "hazard ratio", "rate ratio"), "longer"),
    "short time": (Time(12, better="lower"), ("difference", "hazard ratio", "rate ratio"), "shorter"),
}
CASES = [(name, measure) for name, (_, measures, _) in KINDS.items() for measure in measures]
REPORTED = [name for name in KINDS if "level" not in name and "worth" not in name]
"""Those that are told as they are reported, and not by what they are worth."""


def read(log: Log, measure: Measure) -> Estimate:
    """What `takeup analyse` computes of this outcome."""
    outcome = log.space.outcome
    if isinstance(outcome, Time) and measure != "rate ratio":
        return time_effect(log, 1, 0, measure=cast("Any", measure))
    if isinstance(outcome, Count | Time) and (measure == "rate ratio" or not outcome.valued):
        return rate_effect(log, 1, 0, measure=cast("Any", measure))
    return effect(log, 1, 0, measure=measure)


def two_groups(outcome: Outcome) -> tuple[list[int], list[int]]:
    """Codes of 40 people who fare badly and of 40 who fare well, by what the outcome itself says they are worth."""
    codes = np.arange(outcome.size)
    if isinstance(outcome, Time):
        codes = codes[2:-1:2]  # events alone, after the start: a censored time is worth what nobody knows
    if isinstance(outcome, Count) and outcome.exposure:
        codes = codes[3::4]  # all over four days
    codes = codes[np.argsort(outcome.worths[codes], kind="stable")]
    few = max(1, codes.size // 3)
    bad, good = (np.resize(each, 36).tolist() for each in (codes[:few], codes[-few:]))
    other = codes[few : len(codes) - few]
    mixed = np.resize(other if other.size else codes, 4).tolist()
    return bad + mixed, good + mixed


@pytest.mark.parametrize(("name", "measure"), CASES)
@pytest.mark.parametrize("new_is_better", [True, False])
def test_what_is_better_is_said_to_be_better(name: str, measure: Measure, new_is_better: bool) -> None:
    """Who fares better is who has the outcomes that are worth more; no figure of the analysis is asked.

    Verbs are of outcomes as they are reported: raised where they are higher, sooner where times are shorter.
    """
    outcome, _, word = KINDS[name]
    space = Space(["usual", "new"], outcomes=outcome)
    bad, good = two_groups(outcome)
    assert outcome.worths[good].mean() > outcome.worths[bad].mean()
    usual, new = (bad, good) if new_is_better else (good, bad)
    found = read(Log.of(space, [0] * 40 + [1] * 40, [0.5, 0.5], outcome=[*usual, *new]), measure)
    said = answer(Entry("x", 1, "planned", found), space, 0)
    assert said.startswith(f"Offering new rather than usual is {'better' if new_is_better else 'worse'}: it ")
    side = word if measure == "difference" else "above 1" if (found.value > 1) == new_is_better else "below 1"
    assert said.count(f"; {side} is better)") == said.count("; ") - said.count("; the ") == 1
    if name in REPORTED:
        higher = np.mean([_plain(outcome, code) for code in new]) > np.mean([_plain(outcome, code) for code in usual])
        verbs = ("raises", "lengthens", "come later") if higher else ("lowers", "shortens", "come sooner")
        assert any(verb in said for verb in verbs)


def _plain(outcome: Outcome, code: int) -> float:
    plain: Any = outcome.plain(code)
    return float(next(iter(plain.values()))) if isinstance(plain, dict) else float(plain)


def test_every_measure_of_every_outcome_has_one_good_side() -> None:
    for (outcome, _, _), measure in product(KINDS.values(), ("difference", "ratio", "rate ratio", "hazard ratio")):
        way = direction(Space(2, outcomes=outcome), cast("Measure", measure))
        assert way.verdict(True).startswith("is better") == way.better_up
        assert way.verdict(False).startswith("is better") != way.better_up
        assert (
            "above" in way.good or "higher" in way.good or "more" in way.good or "long" in way.good
        ) == way.better_up


def test_axes_are_called_by_what_is_drawn_on_them() -> None:
    levels, times = Space(2, outcomes=["ill", "well"]), Space(2, outcomes=Time(12))
    assert axis(levels, ["difference", "difference"]) == "difference in the share whose outcome is well"
    assert axis(levels, ["ratio", "odds ratio", "ratio"]) == "ratio or odds ratio of the share whose outcome is well"
    assert axis(times, ["hazard ratio"]) == "hazard ratio of the event: below 1 it comes later"
    assert axis(times, ["difference"]) == "difference in the mean time to the event within the watch"


def test_ranges_of_differences_are_told_in_the_unit_of_everything_else() -> None:
    assert span(-0.061, 0.203, Space(2)) == "-6.1 to +20.3 points"
    assert span(-6.04, 20.3, Space(2, outcomes=Number(0, 100, step=0.1, unit="mmHg"))) == "-6.04 to +20.30 mmHg"
    assert span(math.nan, 0.2, Space(2)) == "not known"


def test_shares_are_told_of_people_and_scales_by_their_own_numbers() -> None:
    assert of_people(0.163) == "about 16 more in 100"
    assert of_people(-0.004) == "about 4 fewer in 1,000"
    assert quantity(Space(2, outcomes=Levels(("0", "1", "2"), (0.0, 1.0, 2.0)))) == "the mean outcome"
    assert quantity(Space(2, outcomes=Levels(("x", "1", "2"), (0.0, 1.0, 2.0)))) == "the mean worth of outcomes"


def estimate(value: float, low: float, high: float, **more: Any) -> Estimate:
    """An estimate with these ends."""
    given: dict[str, Any] = {"reading": "intention to treat", "measure": "difference", "missing": 0, **more}
    return Estimate(
        contrast="new - usual",
        value=value,
        low=low,
        high=high,
        level=0.95,
        assumes=(),
        survives_adaptation=True,
        survives_drift=True,
        n=90,
        **given,
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            estimate(0.1, 0.02, 0.18),
            "Offering new rather than usual is better: it raises the share whose outcome is well by 10.0 points",
        ),
        (
            estimate(0.1, 0.02, 0.18),
            "points, about 10 more in 100 (95 % interval +2.0 to +18.0 points; higher is better).",
        ),
        (
            estimate(0.1, -0.02, 0.18, missing=10),
            "may be better, worse or neither: the difference in the share whose outcome is well is +10.0 points",
        ),
        (
            estimate(0.1, -0.02, 0.18, missing=10),
            "higher is better). It rests on 90 of 100: of 10 what it needs is not known.",
        ),
        (
            estimate(0.1, -0.02, 0.18, missing=10, any_time=True),
            "It rests on 90 of 100: the others wait for outcomes that are not known yet.",
        ),
        (
            estimate(1.5, 1.2, 1.9, measure="ratio"),
            "raises the share whose outcome is well; the ratio of the share whose outcome is well is 1.5",
        ),
        (
            estimate(0.1, math.nan, math.nan, withheld="there are too few"),
            "no conclusion, as there are too few. The estimate by itself is +10.0 points; higher is better.",
        ),
        (estimate(math.nan, math.nan, math.nan, withheld="there is nobody"), "no conclusion, as there is nobody."),
        (
            estimate(0.3, -math.inf, math.inf, region=((-math.inf, -0.2), (0.1, math.inf)), withheld="two rays"),
            "is -20.0 points or less or +10.0 points or more, and nothing in between; higher is better.",
        ),
        (
            estimate(math.nan, 0.1, math.inf, region=((0.1, math.inf),), withheld="half a line"),
            "is better: it raises the share whose outcome is well (95 % interval +10.0 points or more",
        ),
        (
            estimate(0.2, -math.inf, math.inf, region=((-math.inf, math.inf),), withheld="the whole line"),
            "may be better, worse or neither: the difference",
        ),
        (
            estimate(0.2, -math.inf, math.inf, region=((-math.inf, math.inf),), withheld="the whole line"),
            "is +20.0 points (95 % interval anything at all",
        ),
        (estimate(-0.00001, -0.1, 0.1), "is +0.0 points"),
        (estimate(-0.094, -0.188, -0.00003), "is worse: it lowers the share whose outcome is well by 9.4 points"),
        (estimate(-0.094, -0.188, -0.00003), "(95 % interval -18.8 to -0.003 points;"),
        (estimate(0.094, 0.0002, 0.188), "(95 % interval +0.02 to +18.8 points;"),
        (estimate(0.094, 0.0, 0.188), "may be better, worse or neither"),
        (estimate(0.094, 0.0, 0.188), "(95 % interval +0.0 to +18.8 points;"),
        (estimate(1.2, 1.0004, 1.5, measure="ratio"), "(95 % interval 1.0004 to 1.5;"),
        (estimate(0.8, 0.6, 0.99996, measure="ratio"), "(95 % interval 0.6 to 0.99996;"),
    ],
)
def test_answers_say_what_intervals_say(found: Estimate, words: str) -> None:
    assert words in answer(Entry("x", 1, "planned", found), adaptive_trials.SPACE, 0)


def test_a_check_and_an_interval_that_disagree_are_explained() -> None:
    """The same log, with an alarm and without: one sentence where they differ, none where they agree."""
    people = adaptive_trials.refusing(400, (0.3, 0.6), 0.1, 0.6)
    log = adaptive_trials.trials(people, 1, seed=2, even=True)
    names = ("implemented", "outcome")
    one = Log.of(log.space, log.proposal[0], log.probability[0], **{name: getattr(log, name)[0] for name in names})
    found = analyse(one)
    shown = any(each.least_promise > 0 for each in found.tippings.values())
    for alarm in (True, False, None):
        checks = tuple(replace(each, alarm=alarm) if each.check == IGNORABLE else each for each in found.checks)
        said = " ".join(beside(replace(found, checks=checks)))
        assert ("Two looks at the same question differ" in said) == (alarm is not None and alarm != shown)


def test_a_plan_that_looks_for_better_alone_claims_nothing_else() -> None:
    """40 of 80 with the one, 10 of 80 with the other, whichever is the control."""
    space = Space(["usual", "new"], outcomes=["ill", "well"])
    for good, said in ((1, "is better: it raises"), (0, "is not shown to be better: ")):
        y = [int(i < (40 if z == good else 10)) for z in (0, 1) for i in range(80)]
        log = Log.of(space, [0] * 80 + [1] * 80, [0.5, 0.5], outcome=y)
        told = effect(log, 1, 0, level=0.9)
        sided = answer(Entry("", 1, "planned", replace(told, sided=1)), space, 0)
        assert said in sided
        assert "The plan looks for better alone: each end of the interval has 95 % by itself." in sided
        both = answer(Entry("", 1, "planned", told), space, 0)
        assert ("is better" if good else "is worse") in both
        assert "alone" not in both
    design = Design.of(
        {"name": "t", "space": {"proposals": 2}, "policy": {"kind": "Uniform"}, "analysis": {"sided": 1}}
    )
    found = analyse(Log.of(design.space, log.proposal, [0.5, 0.5], outcome=y), plan=design, replays=19)
    assert all(each.estimate.sided == 1 for each in found.entries)
    assert "is not shown to be better" in found.answers()[0]


def test_a_withheld_interval_of_a_group_names_the_group() -> None:
    """Else the leading reading, which has the same name, seems to be the one that is not to be relied upon."""
    rng, n = np.random.default_rng(5), 60
    frame = {
        "assigned": [("usual", "new")[each] for each in rng.integers(0, 2, n)],
        "taken": [("usual", "new")[each] for each in rng.integers(0, 2, n)],
        "outcome": [("ill", "well")[each] for each in rng.integers(0, 2, n)],
        "group": ["under 50, mild" if each < 3 else "others" for each in range(n)],
    }
    log = Log.from_frame(
        frame, assigned="assigned", taken="taken", outcome="outcome", context="group", levels=("ill", "well")
    )
    labels = [label for label, _ in reasons(analyse(log, seed=1))]
    assert any("intention to treat in under 50, mild" in label for label in labels)
    assert not any(each == "intention to treat" for label in labels for each in label.split("; "))


def test_few_decisions_at_even_odds_are_not_called_improbable() -> None:
    frame = {
        "assigned": ["usual", "new"] * 7,
        "taken": ["usual", "new", "new", "new"] * 3 + ["usual", "new"],
        "outcome": ["ill", "well", "well", "ill", "ill", "well", "well"] * 2,
    }
    log = Log.from_frame(frame, assigned="assigned", taken="taken", outcome="outcome", levels=("ill", "well"))
    said = " ".join(each.withheld for each in analyse(log, seed=1).tippings.values())
    assert "there are so few decisions that one of 14 decisions could count for" in said
