"""The report of a plan: its figures are those of the trials, all of it can be repeated, and everybody can read it."""

import html
import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types

import browser
from takeup import charts
from takeup.design import Cells, Goal, classical, compare, promise_curve, two_rates
from takeup.design.found import PROMISES, flat, noncompliance
from takeup.design.operate import Calibration, operate
from takeup.design.pictures import (
    allocation_picture,
    ends_picture,
    promise_picture,
    sizes_picture,
    some_looks,
    take_up_picture,
)
from takeup.design.plan import Plan
from takeup.design.report import report
from takeup.design.results import Figure, Outcomes
from takeup.design.take_up import TakeUpCurve, by_take_up
from takeup.errors import InputError

CONTENT: dict[str, Any] = {
    "name": "Usual & new <b>",
    "description": "Few can be asked; half of the worse arm is spared.",
    "space": {"proposals": ["usual <i>", "new"], "outcomes": ["event", "none"]},
    "policy": {"kind": "TS"},
    "limits": {"floor": 0.2, "soften": 0.5},
    "looks": {"at": [40, 80, 120], "lag": 10},
    "stopping": {"superiority": 0.98, "inferiority": 0.02},
    "analysis": {"confidence": 0.9, "sided": 1},
    "scenarios": {
        "null": {"role": "null", "success": [0.4, 0.4]},
        "better": {"success": [0.4, 0.7]},
        "refused": {"success": [0.4, 0.7], "take_up": 0.6},
    },
}
PLAN = Plan.of(CONTENT)
TAKE_UPS = (0.6, 1.0)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcomes]:
    return operate(PLAN, replications=400, seed=3)


@pytest.fixture(scope="module")
def curve() -> TakeUpCurve:
    return by_take_up(PLAN, TAKE_UPS, 400, 3)


@pytest.fixture(scope="module")
def page(outcomes: dict[str, Outcomes], curve: TakeUpCurve) -> str:
    errors = {"null": Figure(0.0432, 0.0021)}
    return report(PLAN, outcomes, calibration=Calibration(PLAN, 0.05, 0.98, errors), take_up=curve)


def test_take_up_is_what_a_scenario_would_say(outcomes: dict[str, Outcomes], curve: TakeUpCurve) -> None:
    """The same trials: chance belongs to the truth and the number of a trial, not to the name of a scenario."""
    assert list(curve) == ["null", "better"]  # refused is better with another take-up
    for name, at, same in (("better", 1.0, "better"), ("better", 0.6, "refused")):
        np.testing.assert_array_equal(curve[name][at].size, outcomes[same].size)
        np.testing.assert_array_equal(curve[name][at].kept.chosen, outcomes[same].kept.chosen)
    for wrong in ((), (0.0,), (1.1,), (0.5, 0.5)):
        with pytest.raises(InputError, match="take_ups"):
            by_take_up(PLAN, wrong)
    with pytest.raises(InputError, match="'other'"):
        by_take_up(PLAN, TAKE_UPS, scenarios=["other"])
    whole = {"share": [1.0], "response": [[0, 1]], "outcome": [[[0.6, 0.4], [0.3, 0.7]]]}
    with pytest.raises(InputError, match="which take_up can change"):
        by_take_up(Plan.of({**CONTENT, "scenarios": {"types": whole}}), TAKE_UPS)


def test_pictures_say_what_their_tables_say(outcomes: dict[str, Outcomes], curve: TakeUpCurve) -> None:
    """Shares of ends sum to one at the last look, those of proposals always; a bar for every size there is."""
    ends = ends_picture(outcomes)
    last = [row for row in ends.table.rows if row[1] == "120"]
    assert [sum(float(str(cell).split(" ± ")[0]) for cell in row[2:]) for row in last] == pytest.approx(
        [1] * 3, abs=2e-3
    )
    shares = allocation_picture(outcomes).table.rows
    assert [float(str(a[2])[:5]) + float(str(b[2])[:5]) for a, b in zip(shares[::2], shares[1::2], strict=True)] == (
        pytest.approx([1] * 3, abs=2e-3)
    )
    size = outcomes["better"].metrics()["size"]
    sizes = sizes_picture(outcomes)
    assert sizes.table.rows[1][1] == f"{size['mean']:,.0f} ± {size['error']:,.1f}"
    power = Figure.of(curve["better"][0.6].right)
    row = next(row for row in take_up_picture(curve).table.rows if row[:2] == ("better", "60%"))
    assert row[2] == f"{power.mean:.3f} ± {power.error:.3f}"
    assert f"better at 60%: {power.mean:.1%}" in take_up_picture(curve).figure.alternative


def test_tables_of_many_looks_have_some_of_them() -> None:
    assert some_looks(3) == [0, 1, 2]
    assert some_looks(100) == [*range(0, 100, 3)]
    assert some_looks(101) == [*range(0, 101, 3), 100]


def test_what_a_promise_is_worth() -> None:
    """.25 against .35 at a take-up of 60 %: the table of sizes by what is promised."""
    picture = promise_picture(promise_curve(Cells.rates(0.25, 0.35, 0.6), PROMISES))
    sizes = {row[0]: row[1] for row in picture.table.rows}
    assert sizes == {"0": "805", "0.01": "903", "0.02": "1,012", "0.03": "1,131", "0.05": "1,387", "0.075": "1,661"} | {
        "0.1": "1,740"
    }
    assert charts.svg(picture.figure.draw()).startswith("<svg")


@pytest.mark.parametrize(
    ("more", "sizes"),
    [
        ({"take_up": 0.8, "two_sided": 0.2}, {"0": "651", "0.02": "905", "0.05": "1,445"}),
        ({"take_up": [0.9, 0.7]}, {"0": "692", "0.02": "785", "0.05": "914"}),
        ({"take_up": {"from": 0.9, "to": 0.7}}, {"0": "692", "0.02": "785", "0.05": "914"}),
        ({"take_up": [1.0, 1.0]}, {}),
    ],
)
def test_what_a_promise_is_worth_is_told_of_who_does_what_in_a_whole_trial(
    more: dict[str, Any], sizes: dict[str, str], outcomes: dict[str, Outcomes]
) -> None:
    """.25 against .35 where 80 % take what they are offered, and 20 % of the others; or 80 % on average."""
    tables = {"looks": {"at": [100, 200]}, "scenarios": {"better": {"success": [0.25, 0.35], **more}}}
    plan = Plan.of({**CONTENT, **tables})
    none = Outcomes(plan, "better", 0, np.arange(0), outcomes["null"].kept)
    section = noncompliance(plan, {"better": none}, None)
    if not sizes:
        assert section is None
        return
    assert section is not None
    shown = {row[0]: row[1] for row in section.pictures[0].table.rows}
    assert {key: shown[key] for key in sizes} == sizes
    assert ("its mean over a whole trial" in section.text[0]) == (not isinstance(more["take_up"], float))


def test_the_report_has_every_part_in_order(page: str) -> None:
    titles = [re.sub(r"^\d+\. ", "", title) for title in re.findall(r"<h2[^>]*>(.*?)</h2>", page)]
    assert titles == [
        "Rationale and description of the design",
        "Interim looks and rules",
        "What is adapted, and by which algorithm",
        "Estimand, and how noncompliance is treated",
        "Scenarios",
        "Operating characteristics",
        "If fewer comply",
        "Calibration",
        "Comparison with a fixed design",
        "Trial integrity: who may see what",
        "Simulation report: how to repeat it",
    ]
    assert "Few can be asked" in page
    assert "by the reading intention to treat, with intervals of 0.9, one-sided" in page
    assert "0.0432 ± 0.0021" in page
    assert page.count("<svg") == page.count("<figure>") == 5
    assert "usual &lt;i&gt;" in page
    assert "<i>" not in page
    assert "<b>" not in page


def test_the_figures_are_those_of_the_trials(page: str, outcomes: dict[str, Outcomes]) -> None:
    for each in outcomes.values():
        metrics = each.metrics()
        for name in ("claimed", "on_worse"):
            assert f"<td>{metrics[name]['mean']:.3f} ± {metrics[name]['error']:.3f}</td>" in page
        assert f"{metrics['size']['mean']:,.0f} ± {metrics['size']['error']:,.1f}" in page
    error, power = float(outcomes["null"].claimed.mean()), float(outcomes["better"].right.mean())
    fixed = two_rates(0.4, 0.7, goal=Goal(alpha=error, power=power, sided=2))
    assert f"<td>{fixed.whole:,}</td>" in page


def test_the_report_can_be_repeated_from_itself(page: str, outcomes: dict[str, Outcomes], tmp_path: Path) -> None:
    """The plan in it is the plan, and the line in it runs the same trials."""
    *_, call, written = (html.unescape(each) for each in re.findall(r"<pre[^>]*><code>(.*?)</code>", page, re.DOTALL))
    assert tomllib.loads(written) == CONTENT
    (tmp_path / "plan.toml").write_text(written)
    found: dict[str, Any] = {}
    exec(call.replace('"plan.toml"', repr(str(tmp_path / "plan.toml"))), found)
    for name, each in outcomes.items():
        np.testing.assert_array_equal(found["found"][name].kept.statistic, each.kept.statistic)
    assert "takeup design plan.toml --replications 400 --seed 3 --engine cpu" in page


def test_other_figures_are_listed_whatever_they_are() -> None:
    given = {"cover_age": {"wald": {"mean": 0.93125, "error": 0.004}}, "found": None, "list": [{"units": 12}, 0.5]}
    assert list(flat(given)) == [("cover age, wald", "0.9313 ± 0.004"), ("list, 1, units", "12"), ("list, 2", "0.5")]


def test_plans_beside_it_and_what_would_be_reported(page: str, outcomes: dict[str, Outcomes]) -> None:
    """Differences from the first plan, with the error of the difference; bias and coverage of naive estimates."""
    even = classical(PLAN)["fixed size"]
    found = compare({"this": PLAN, "even": even}, ["better"], 100, 3)
    shown = report(PLAN, outcomes, compared=found)
    more = found.difference("even", "better", "right")
    assert f"<td>{more.mean:.3f} ± {more.error:.3f}</td>" in shown
    assert "even more than this" in shown
    told = outcomes["better"].metrics()["naive_estimates"]["by_arm"]["new"]
    for key in ("bias", "rmse", "coverage"):
        assert f"<td>{told[key]['mean']:.4f} ± {told[key]['error']:.4f}</td>" in page


def test_nothing_is_said_of_what_was_not_tried(outcomes: dict[str, Outcomes]) -> None:
    """No null, no error; no error, no fixed size with the same."""
    only = {"better": outcomes["better"]}
    page = report(PLAN, only)
    assert "error of the first kind is not known" in page
    assert "No fixed size was put beside it" in page
    assert "chosen, and not searched for" in page
    with pytest.raises(InputError, match="no scenarios"):
        report(PLAN, {})


def test_a_browser_shows_it_without_asking_anybody(page: str, tmp_path: Path) -> None:
    """No request but for the file, nothing wider than the window, and no violation of accessibility."""
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    asked: list[str] = []
    with browser.browser() as started:
        window = started.new_context(viewport={"width": 1000, "height": 800}).new_page()
        window.on("request", lambda request: asked.append(request.url))
        window.on("pageerror", lambda error: pytest.fail(str(error)))
        window.goto(file.as_uri())
        found = Axe().run(window)
        assert found.violations_count == 0, found.generate_report()
        assert window.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        assert window.locator("figure svg[role=img][aria-label]").count() == 5
        assert window.locator("th:not([scope])").count() == 0
        assert window.locator("table:not(:has(caption))").count() == 0
    assert asked == [file.as_uri()]
