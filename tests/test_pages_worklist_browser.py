"""The worklist in a real browser: find a patient, report, come back; checked with axe, on a phone in the dark too.

This one has the whole of `takeup serve` behind it, with its processes; what else is seen in browsers has its server.

`make screenshots` runs it with TAKEUP_IMAGES set, and keeps what it saw in docs/images.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Browser, Page, expect

import browser
import serving

expect.set_options(timeout=240_000)
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
SPEC = {
    "name": "Clinic",
    "space": {"proposals": ["usual care", "new drug"], "outcomes": ["relapsed", "well"]},
    "policy": {"kind": "TS"},
    "window": "90 days",
    "words": {"unit": "participant", "well": "well"},
}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.browser() as started:
        yield started


def seen(page: Page, folder: Path, name: str) -> None:
    """Everybody can use the page, nothing is wider than the window; its picture."""
    found = Axe().run(page)
    assert found.violations_count == 0, f"{name}: {found.generate_report()}"
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} is too wide"
    page.screenshot(path=folder / f"{name}.png", full_page=True)


def test_a_nurse_reports_from_the_worklist(chromium: Browser, tmp_path: Path) -> None:
    folder = Path(os.environ.get("TAKEUP_IMAGES", tmp_path))
    with serving.served(tmp_path / "trials.db", tmp_path) as server:
        key = server.key("design", "decide", "report")
        server.trial(SPEC, key)
        units = [{"unit": f"P-{i:03d}"} for i in range(101, 113)]
        status, made = server.request("POST", "/trials/clinic/decisions/batch", {"units": units}, key)
        assert status == 200, made
        page = chromium.new_context(viewport=WIDE).new_page()  # type: ignore[arg-type]  # a literal
        page.set_default_timeout(240_000)
        page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
        browser.sign_in(page, server.url, server.key("report"))
        browser.follow(page, "Worklist")
        expect(page.get_by_text("12 outcomes awaited.")).to_be_visible()
        seen(page, folder, "worklist")
        page.get_by_label("Find a participant").fill("P-10")
        with page.expect_navigation():
            page.get_by_role("button", name="Find").click()
        assert page.locator("tbody tr").count() == 9
        browser.follow(page, "Report on P-105")
        assert page.get_by_label("Participant", exact=True).input_value() == "P-105"
        page.get_by_label("What was done").select_option("usual care")
        page.get_by_label("What came of it").select_option("well")
        with page.expect_navigation():
            page.get_by_role("button", name="Report").click()
        expect(page.get_by_text("Recorded for decision 5.")).to_be_visible()
        expect(page.get_by_role("link", name="Report on P-105")).to_have_count(0)
        expect(page.get_by_text("11 outcomes awaited.")).to_be_visible()
        with page.expect_download() as waiting:
            page.get_by_role("link", name="CSV").click()
        waiting.value.save_as(tmp_path / "worklist.csv")
        assert len((tmp_path / "worklist.csv").read_text().splitlines()) == 12
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a literal
        page.goto(f"{server.url}/app/trials/clinic/worklist")
        seen(page, folder, "phone-worklist")
        page.context.close()
