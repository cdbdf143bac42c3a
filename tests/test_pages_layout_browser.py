"""Pages in a real browser: what opens moves nothing, no number wraps, no badge is stale; phones, and the dark."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Page, expect

import browser
from takeup.service.pages import live_updates
from takeup.service.pages.render import cache

SCOPES = ("design", "decide", "report", "read-unblinded", "admin")
SPEC: dict[str, Any] = {
    "name": "Clinic",
    "space": {
        "proposals": ["usual care", "new drug"],
        "contexts": ["under 70", "70 and over"],
        "outcomes": ["relapsed", "well"],
    },
    "policy": {"kind": "TSObs"},
    "stopping": {"probability_best": 0.9, "maximum": 100},
    "words": {"unit": "participant", "well": "well"},
}
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
PATIENCE = 240_000


@dataclass(frozen=True, slots=True)
class Clinic:
    """A service with a trial, and a window in which somebody has signed in."""

    url: str
    page: Page

    def visit(self, path: str, size: dict[str, int] = WIDE) -> Page:
        """This page in the window, which gets this size."""
        self.page.set_viewport_size(size)  # type: ignore[arg-type]  # Playwright's own type
        self.page.goto(f"{self.url}/app{path}")
        return self.page


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Clinic]:
    """A trial of 120 decisions."""
    folder: Path = tmp_path_factory.mktemp("layout")
    with browser.served_here(folder / "trials.db") as server, browser.browser() as started:
        key = server.key(*SCOPES)
        server.trial(SPEC, key)
        units = [{"unit": f"p{i}", "context": SPEC["space"]["contexts"][i % 2]} for i in range(120)]
        status, made = server.request("POST", "/trials/clinic/decisions/batch", {"units": units}, key)
        assert status == 200, made
        reports = [
            {"decision": each["number"], "implemented": each["proposal"], "outcome": "well" if i % 3 else "relapsed"}
            for i, each in enumerate(made["decisions"])
        ]
        status, told = server.request("POST", "/trials/clinic/reports/batch", {"reports": reports}, key)
        assert status == 200, told
        page = started.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        browser.sign_in(page, server.url, key)
        yield Clinic(server.url, page)


def places(page: Page) -> list[tuple[str, float, float]]:
    """Where each button of the toolbar is."""
    found = page.locator("#steer .button, #steer .actions > form > button").all()
    boxes = [(each.inner_text(), each.bounding_box()) for each in found]
    return [(name, box["x"], box["y"]) for name, box in boxes if box is not None]


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_form_that_stops_a_trial_moves_no_button(clinic: Clinic, size: dict[str, int]) -> None:
    page = clinic.visit("/trials/clinic", size)
    before = places(page)
    assert [name for name, _, _ in before] == ["Decide", "Worklist", "Report", "Log and export", "Analysis", "Pause"]
    page.locator(".stop summary").click()
    expect(page.get_by_role("button", name="Stop the trial")).to_be_visible()
    assert places(page) == before
    form, last = page.locator(".stop form").bounding_box(), max(y for _, _, y in before)
    assert form is not None
    assert form["y"] > last
    assert form["x"] + form["width"] <= size["width"]


def test_no_number_of_the_log_wraps(clinic: Clinic) -> None:
    """Three digits and more: number, time and decision of an event stand in one line, those of all in columns."""
    page = clinic.visit("/trials/clinic/log")
    tops = page.evaluate(
        """() => [...document.querySelectorAll(".log .meta")].map(
            (line) => [...line.querySelectorAll("b, time, a")].map((part) => part.getBoundingClientRect().y))"""
    )
    assert len(tops) == 50
    assert all(len(each) == 3 and max(each) - min(each) < 4 for each in tops)
    lefts = "() => [...document.querySelectorAll('.log .what')].map((each) => each.getBoundingClientRect().x)"
    assert len(set(page.evaluate(lefts))) == 1


def test_the_badge_is_never_stale(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither where somebody pauses the trial nor on a page that another has open, which follows by itself."""
    monkeypatch.setattr(cache, "EVERY", 0.5)  # or it would follow after some seconds
    monkeypatch.setattr(live_updates, "SPREAD", 0.1)
    page, other = clinic.visit("/trials/clinic"), clinic.page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#headline")).to_be_visible()
    for press, state in (("Pause", "paused"), ("Go on", "running")):
        page.get_by_role("button", name=press).click()
        for each in (page, other):
            expect(each.locator("#state")).to_have_text(state, timeout=PATIENCE)
            expect(each.locator(f"#state.{state}")).to_be_visible()
        after = "Go on" if state == "paused" else "Pause"
        expect(other.get_by_role("button", name=after)).to_be_visible(timeout=PATIENCE)
    other.close()


def test_as_many_outcomes_as_are_needed_and_two_kinds_of_groups(clinic: Clinic) -> None:
    page = clinic.visit("/new")
    page.get_by_label("Name", exact=True).fill("Scale")
    page.get_by_label("Proposals, one a line").fill("usual care\nnew drug")
    page.get_by_label("Groups, one a line (optional)", exact=True).fill("under 70\n70 and over")
    page.get_by_label("Groups by something else, one a line (optional)").fill("mild\nsevere")
    wanted = [(f"level {i}", str(i)) for i in range(7)]
    for i, (label, worth) in enumerate(wanted):
        if not page.get_by_label(f"Outcome {i + 1}", exact=True).count():
            page.get_by_role("button", name="One more outcome").click()
        page.get_by_label(f"Outcome {i + 1}", exact=True).fill(label)
        page.get_by_label(f"Worth of outcome {i + 1}", exact=True).fill(worth)
    page.get_by_role("button", name="Save as a draft").click()
    design = page.locator("#design")
    expect(design).to_contain_text("level 5 (worth 5) or level 6 (worth 6)")
    expect(design).to_contain_text("under 70, mild; under 70, severe; 70 and over, mild; and 70 and over, severe")


@pytest.mark.long
@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone in the dark"])
def test_every_page_is_for_everybody(clinic: Clinic, size: dict[str, int], scheme: Literal["light", "dark"]) -> None:
    """Nothing for axe to find, nothing wider than the window: with an analysis, and all folds open."""
    page, axe, url = clinic.visit("/trials/clinic", size), Axe(), clinic.url
    page.emulate_media(color_scheme=scheme)
    paths = ("", "/trials/clinic", "/trials/clinic/worklist", "/trials/clinic/decide", "/trials/clinic/report")
    more = ("/trials/clinic/log", "/trials/clinic/analysis", "/new", "/new?by=paste", "/try", "/people", "/keys")
    for path in (*paths, *more, "/account", "/nowhere"):
        page.goto(f"{url}/app{path}")
        if path == "/trials/clinic":
            expect(page.locator("figure svg").first).to_be_visible()
        if path.endswith("analysis"):
            page.get_by_role("button", name="Analyse").click()
            page.wait_for_selector("#analysis:not([data-poll]) .headline")
        page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
        found = axe.run(page)
        assert found.violations_count == 0, f"{path}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path
    page.emulate_media(color_scheme="light")
