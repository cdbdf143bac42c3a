"""The forms in a real browser: a trial from the first sketch to the log, with texts that would like to run."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

import browser
import serving
from hostile import FEW

SPEC = {
    "name": FEW[0],
    "space": {"proposals": [FEW[1], FEW[2]], "contexts": [FEW[3], "b"], "outcomes": ["bad", FEW[4]]},
    "policy": {"kind": "TS"},
}


def quiet(page: Page) -> list[str]:
    """What must stay empty: dialogs, and complaints about the content security policy."""
    found: list[str] = []

    def dialog(opened: object) -> None:
        found.append("a dialog")

    page.on("dialog", dialog)
    page.on("console", lambda said: found.append(said.text) if "Content Security Policy" in said.text else None)
    page.on("pageerror", lambda error: found.append(str(error)))
    return found


@pytest.mark.long
def test_the_desk_in_a_browser(tmp_path: Path) -> None:
    """Design, simulate, sandbox, decide, report, correct, search; hostile labels run nothing anywhere."""
    with serving.served(tmp_path / "t.db", tmp_path) as served, browser.browser() as started:
        key = served.key("design", "decide", "report", "read-unblinded")
        trial = served.trial(SPEC, key)
        page = started.new_page(viewport={"width": 900, "height": 900})
        page.set_default_timeout(240_000)
        found = quiet(page)
        browser.sign_in(page, served.url, key)
        at = f"{served.url}/app/trials/{trial}"

        page.goto(f"{served.url}/app/new")
        page.locator("#name").fill(FEW[1])
        page.locator("#proposals").fill(f"{FEW[0]}\n{FEW[2]}")
        page.get_by_role("button", name="Look at it").click()
        page.wait_for_selector("#rehearsal:not([data-poll]) svg")  # the page looks after itself
        page.locator("#description").fill("typed meanwhile")

        page.goto(f"{served.url}/app/try")
        page.get_by_role("button", name="Run 100 people").click()
        page.wait_for_selector("#learnt:not([data-poll]) svg")
        assert "After 100 people" in page.locator("#learnt").inner_text()

        page.goto(f"{at}/decide")
        page.locator("#unit").fill(FEW[0])
        page.locator("#context-0").check()
        page.get_by_role("button", name="Decide").click()
        assert page.locator(".proposal").inner_text() in (FEW[1], FEW[2])
        browser.follow(page, "Report on this one")
        page.locator("#outcome").select_option("1")
        page.get_by_role("button", name="Report").click()
        page.wait_for_selector(".good")
        page.locator("#decision").fill("1")
        page.locator("#outcome").select_option("0")
        page.get_by_role("button", name="Report").click()
        page.locator("#reason").fill(FEW[3])
        page.get_by_role("button", name="Report").click()
        page.wait_for_selector(".good")

        page.goto(f"{at}/log?unit={FEW[0]}")
        shown = page.locator(".log").inner_text()
        assert "Correction" in shown
        assert FEW[3] in shown
        with page.expect_download() as download:
            page.get_by_role("link", name="CSV").click()
        assert download.value.suggested_filename == f"{trial}.csv"
        page.get_by_role("button", name="Audit now").click()
        page.wait_for_selector(".good")
        for path in ("edit", "decide", "report", "log"):
            page.set_viewport_size({"width": 360, "height": 800})
            page.goto(f"{at}/{path}")
            assert page.evaluate("window.fired") is None
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert not found
