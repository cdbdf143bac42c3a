"""Charts: drawn offline, one colour a policy, errors that say what is missing."""

import math
import sys
import xml.etree.ElementTree as ET
from typing import Any

import polars as pl
import pytest

from takeup import charts
from takeup.charts import style
from takeup.errors import InputError, MissingExtraError

POINTS = [
    {"policy": policy, "p": p / 10, "mean": 3.0 + p, "sd": 1.0, "side": 0}
    for policy in ("TS", "TS-Obs", "TS-Check")
    for p in range(11)
]
CELLS = [
    {"environment": e, "policy": policy, "statistic": statistic, "distance": 1.5}
    for e in (1, 2)
    for policy in ("TS", "TS-Lat-0")
    for statistic in ("median", "mean")
]
QUANTILES = [
    {"environment": 1, "policy": "TS", "q05": 0, "q25": 2, "median": 3, "q75": 5, "q95": 90, "published": 3.5},
]
BARS = [
    {"parameters": source, "outcome": "STS", "policy": policy, "mean": 100.0, "mcse": 4.0}
    for source in ("paper", "patients")
    for policy in ("TS", "TS-Obs")
]
BOUNDS = [{"policy": "TS-Obs", "kind": "bound", "p": p / 10, "bound": 0.5} for p in range(1, 10) if p != 5]
SLOPES = [{"policy": "TS-Obs", "p": 0.2, "slope": 0.4, "error": 0.05}]
ARMS = [{"arms": k, "probability": 0.9, "low": 0.88, "high": 0.92} for k in (2, 3, 4)]
TRIAL_ARMS = ["usual care", 'drug </text> & "more"']
COURSE = [
    {"decision": 10 * i, "proposal": arm, "probability": 0.5, "say": f"said of {arm} at {i}"}
    for i in range(1, 31)
    for arm in TRIAL_ARMS
]
STRETCHES = [
    {"first": 10 * i + 1, "last": 10 * i + 10, "proposal": arm, "share": 0.5, "say": f"said of {arm} in {i}"}
    for i in range(8)
    for arm in TRIAL_ARMS
]
ESTIMATES = [
    {"label": arm, "kind": kind, "mean": 0.5, "low": 0.4, "high": 0.6, "say": f"said of {arm} by {kind}"}
    for arm in TRIAL_ARMS
    for kind in ("one reading", "another")
]
MATRIX = [
    {"proposal": z, "implemented": a, "mean": 0.5, "low": 0.4, "high": 0.6, "count": 5, "total": 10, "intended": z == a}
    | {"say": f"said of {z}, {a}"}
    for z in TRIAL_ARMS
    for a in TRIAL_ARMS
]

TRIAL = {
    "best": lambda: charts.probability_best_over_time(COURSE, TRIAL_ARMS),
    "allocation": lambda: charts.allocation_over_time(STRETCHES, TRIAL_ARMS),
    "intervals": lambda: charts.intervals(ESTIMATES, "value"),
    "shares": lambda: charts.intervals(ESTIMATES[::2], "share", share=True),
    "compliance": lambda: charts.compliance_matrix(MATRIX),
}
FIGURES = [{"paper": "one", "experiment": "trap", "distance": d} for d in (-0.5, 0.2, 7.0)]

AUDITS = [{"environment": e, "fraction": f, "policy": "TS", "mean": 9.0, "mcse": 1.0} for e in (3, 4) for f in (0, 1)]

TAKE_UP = [
    {"scenario": name, "take_up": at, "claimed": at / 2, "claimed_error": 0.01, "size": 900 * at, "size_error": 9.0}
    for name in ("null", "better")
    for at in (0.5, 0.75, 1.0)
]
LOOKS = [
    {"scenario": name, "outcomes": at, "end": end, "share": 0.2}
    for name in ("null", "better", "worse")
    for at in (100, 200)
    for end in ("maximum", "superior")
]
RANGES = [
    {"scenario": "null", "proposal": arm, "q05": 0.1, "q25": 0.3, "mean": 0.4, "q75": 0.5, "q95": 0.9}
    for arm in TRIAL_ARMS
]
SIZES = [{"scenario": "null", "first": 90, "last": 110, "share": 0.4, "error": 0.01}]
PROMISES = [{"promise": p, "size": 800 + 900 * p, "error": 0.03, "alpha": 0.025} for p in (0.0, 0.05)]
FOREST = [
    {"group": f"{arm} - usual", "label": kind, "kind": kind, "value": value, "low": low, "high": high}
    for arm in TRIAL_ARMS
    for kind, value, low, high in (
        ("planned", 1.2, 0.9, 1.5),
        ("explored", 1.3, -math.inf, 0.8),
        ("explored", math.nan, 1.1, math.inf),
        ("no interval to rely upon", 1.4, math.nan, math.nan),
    )
]

ALL = {
    **TRIAL,
    "forest": lambda: charts.forest(FOREST, "difference"),
    "forest of ratios": lambda: charts.forest(FOREST, "ratio", ratio=True),
    "take-up": lambda: charts.over_take_up(TAKE_UP),
    "ends": lambda: charts.ends_by_look(LOOKS),
    "ranges": lambda: charts.allocation_ranges(RANGES),
    "sizes": lambda: charts.size_distribution(SIZES),
    "promise": lambda: charts.over_promise(PROMISES),
    "audits": lambda: charts.regret_over_audits(AUDITS),
    "agreement": lambda: charts.agreement(FIGURES),
    "regret": lambda: charts.regret_over_noncompliance(POINTS),
    "distances": lambda: charts.distances(CELLS, 4.0),
    "distributions": lambda: charts.distributions(QUANTILES),
    "excess": lambda: charts.excess(BARS),
    "bounds": lambda: charts.bounds_and_slopes(BOUNDS, SLOPES),
    "probabilities": lambda: charts.probabilities(ARMS),
}


@pytest.mark.parametrize("name", list(ALL))
def test_every_chart_is_drawn(name: str) -> None:
    chart = ALL[name]()
    drawn = charts.svg(chart)
    assert drawn.startswith("<svg")
    assert drawn.count("<path") > 3
    assert charts.png(chart, scale=1).startswith(b"\x89PNG")


def test_a_policy_has_one_colour_everywhere() -> None:
    for name in ("regret", "excess", "bounds"):
        assert style.POLICIES["TS-Obs"][0] in charts.svg(ALL[name]())
    colours = [colour for colour, _ in style.POLICIES.values()]
    assert len(set(colours)) == len(colours) - 1  # TS-Lat is TS-Lat-0
    names, colours, _ = style.look(["mine", "TS", "yours"])
    assert names == ["TS", "mine", "yours"]
    assert len(set(colours)) == 3


def test_a_forest_has_an_arrow_for_each_interval_without_end() -> None:
    """Two groups with two such ends each; the point of the second part of a region is that of the first."""
    forest = charts.forest(FOREST, "difference")
    assert str(forest.to_dict()).count("'side': ") == 4
    drawn = charts.svg(forest)
    assert drawn.count(">no interval to rely upon<") == 1 + 2  # in the legend, and a label in each group
    assert drawn.count(">withheld<") == len(TRIAL_ARMS)


def test_an_estimate_that_may_be_anything_stretches_no_axis() -> None:
    one = {"group": "new against old", "kind": "explored"}
    known = {**one, "label": "intention to treat", "value": 0.3, "low": -0.1, "high": 0.7}
    anything = {**one, "label": "complier effect", "value": -14.95, "low": -math.inf, "high": math.inf}
    drawn = charts.forest([known, anything], "difference").to_dict()
    domains = [found for found in _values(drawn, "domain") if isinstance(found, list) and len(found) == 2]
    assert [found for found in domains if isinstance(found[0], float)] == [pytest.approx([-0.148, 0.748])]
    assert str(drawn).count("'side': ") == 2
    assert "14.95" not in str(drawn)


def _values(tree: Any, key: str) -> list[Any]:
    """All values of a key, wherever it is."""
    if isinstance(tree, list):
        return [found for each in tree for found in _values(each, key)]
    if not isinstance(tree, dict):
        return []
    return [found for name, each in tree.items() for found in ([each] if name == key else _values(each, key))]


def test_frames_and_records_give_the_same_chart() -> None:
    assert charts.svg(charts.excess(pl.DataFrame(BARS))) == charts.svg(charts.excess(BARS))


def test_records_are_left_as_they_were() -> None:
    before = [dict(record) for record in POINTS]
    charts.regret_over_noncompliance(POINTS)
    assert before == POINTS


def test_inline_charts_have_their_own_names_and_a_text_alternative() -> None:
    drawn = charts.inline(ALL["regret"](), "one", 'rises "steeply"')
    assert 'role="img" aria-label="rises &quot;steeply&quot;"' in drawn
    assert 'id="clip' not in drawn
    assert 'fill="currentColor"' in drawn


def test_a_missing_column_is_named() -> None:
    with pytest.raises(InputError, match="bars: got record 1 without mcse"):
        charts.excess([BARS[0], {k: v for k, v in BARS[1].items() if k != "mcse"}])
    with pytest.raises(InputError, match="no records"):
        charts.distributions([])


@pytest.mark.parametrize("module", ["altair", "vl_convert"])
def test_a_missing_library_names_the_extra(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chart: Any = ALL["excess"]()
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"takeup\[report\]"):
        charts.excess(BARS) if module == "altair" else charts.svg(chart)


@pytest.mark.parametrize(("name", "marks"), [("best", 11 * 2), ("allocation", 16), ("intervals", 8), ("compliance", 4)])
def test_every_mark_of_a_trial_says_what_it_is(name: str, marks: int) -> None:
    """Eight stretches of two arms are sixteen bars; thirty points are marked at every third, and at the last."""
    with charts.unchecked():
        drawn = charts.inline(TRIAL[name](), "here", "all in all")
    tree = ET.fromstring(drawn)
    said = [each.get("aria-label", "") for each in tree.iter() if each.get("role") == "graphics-symbol"]
    assert len(said) == marks
    assert all(each.startswith("said of ") for each in said)
    assert "&lt;/text&gt;" in drawn
    assert tree.get("aria-label") == "all in all"
    assert "style=" not in drawn  # a strict content policy would block it


def test_unchecked_charts_look_the_same() -> None:
    checked = charts.svg(TRIAL["best"]())
    with charts.unchecked():
        assert charts.svg(TRIAL["best"]()) == checked
