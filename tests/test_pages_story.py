"""A trial in a real browser, from the form to the audit; every page on the way is checked for accessibility.

`make screenshots` runs it with TAKEUP_IMAGES set, and keeps what it saw in docs/images.
"""

import asyncio
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Browser, Page, expect

import browser
from takeup.design import preview
from takeup.design.preview import Preview
from takeup.live import rehearsal
from takeup.live.rehearsal import Rehearsal
from takeup.randomness import stream
from takeup.service.background import Background, BackgroundJob
from takeup.service.pages import live_updates
from takeup.service.pages.render import cache

expect.set_options(timeout=240_000)  # charts are drawn by a process that stands back
SCOPES = ("design", "decide", "report", "read-unblinded")
KEPT = ("trials", "trial", "phone-trial", "new-trial", "decided", "log", "blinded", "try")
"""The pages of which there are pictures."""

SIMULATED: dict[str, type[Any]] = {preview.__name__: Preview, rehearsal.__name__: Rehearsal}
"""What the form of a new trial has simulated."""

WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}


class Camera:
    """Looks at pages: whether everybody can use them, and what they look like."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.axe = Axe()

    def see(self, page: Page, name: str, *, whole: bool = False) -> None:
        """Check a page, take its picture, and see that nothing is wider than the window."""
        found = self.axe.run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{name} is too wide"
        if name in KEPT:
            page.screenshot(path=self.folder / f"{name}.png", full_page=whole)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.browser() as started:
        yield started


@pytest.fixture
def camera(tmp_path: Path) -> Camera:
    return Camera(Path(os.environ.get("TAKEUP_IMAGES", tmp_path)))


def visit(chromium: Browser, server: browser.ServedHere, key: str, **options: object) -> Page:
    """A browser window of its own, signed in, in which any script error fails the test."""
    page = chromium.new_context(viewport=WIDE, **options).new_page()  # type: ignore[arg-type]  # Playwright's own options
    page.set_default_timeout(240_000)
    page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog opened: {dialog.message}"))
    browser.sign_in(page, server.url, key)
    return page


def patients(server: browser.ServedHere, key: str, first: int, last: int) -> None:
    """People who come to the clinic; a third of those who are offered the drug do not take it."""
    rng = stream(11, "patients", first)
    names = [f"patient {i}" for i in range(first, last)]
    status, made = server.request(
        "POST", "/trials/clinic/decisions/batch", {"units": [{"unit": name} for name in names]}, key
    )
    assert status == 200, made
    reports = []
    for decision in made["decisions"]:
        offered = decision["proposal"] == "new drug"
        taken = offered and rng.random() < 0.67
        well = rng.random() < (0.7 if taken else 0.5)
        action, outcome = "new drug" if taken else "usual care", "well" if well else "relapsed"
        reports.append({"decision": decision["number"], "implemented": action, "outcome": outcome})
    status, made = server.request("POST", "/trials/clinic/reports/batch", {"reports": reports}, key)
    assert status == 200, made
    assert all(each["problem"] is None for each in made["results"])


@pytest.fixture
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulations are of a moment and pages follow at once, but for pictures: there they take what they take.

    They are made in this process, and rules are tried with a policy whose kernel other tests have compiled; that they
    are made in another one, tests/test_pages_simulations.py holds.
    """
    if "TAKEUP_IMAGES" in os.environ:
        return

    def quickly(_: Background, module: str, content: Mapping[str, Any]) -> BackgroundJob:
        job, quick = BackgroundJob("running"), {**content, "seconds": 0.1}
        if module == preview.__name__:
            quick |= {"fewest": 50, "spec": {**content["spec"], "policy": {"kind": "TS"}}}

        async def simulate() -> None:
            try:
                job.result = await asyncio.to_thread(SIMULATED[module](**quick).run, lambda _: None)
            finally:
                job.state = "failed" if job.result is None else "done"

        job.task = asyncio.create_task(simulate())
        return job

    monkeypatch.setattr(Background, "start", quickly)
    monkeypatch.setattr(cache, "EVERY", 0.5)
    monkeypatch.setattr(live_updates, "SPREAD", 0.1)


@pytest.mark.usefixtures("briefly")
def test_a_trial_from_the_form_to_the_audit(chromium: Browser, camera: Camera, tmp_path: Path) -> None:
    with browser.served_here(tmp_path / "trials.db") as server:
        key = server.key(*SCOPES)
        page = visit(chromium, server, key)
        camera.see(page, "trials-empty")
        design(page, camera)
        decide_and_report(page, camera)
        watch(page, camera, server, key)
        correct(page, camera)
        read_the_log(page, camera, tmp_path)
        steer(page, camera)
        blinded(chromium, camera, server)
        on_a_phone_in_the_dark(chromium, camera, server, key)


def design(page: Page, camera: Camera) -> None:
    """Fill in the form, see what it means and what to expect, save, start."""
    browser.follow(page, "New trial")
    page.get_by_role("textbox", name="Name", exact=True).fill("Clinic")
    page.get_by_label("Proposals, one a line").fill("usual care\nnew drug")
    page.get_by_label("Outcome 1", exact=True).fill("relapsed")
    page.get_by_label("Outcome 2", exact=True).fill("well")
    expect(page.locator("#policy-TS-Robust")).to_be_checked()
    page.get_by_role("button", name="Look at it and simulate").click()
    expect(page.get_by_text("simulated trials of")).to_be_visible()
    camera.see(page, "new-trial", whole=True)
    page.get_by_role("button", name="Save as a draft").click()
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".state.running").first).to_be_visible()


def decide_and_report(page: Page, camera: Camera) -> None:
    """One patient by hand."""
    browser.follow(page, "Decide")
    page.get_by_label("Patient", exact=True).fill("patient 1")
    page.get_by_role("button", name="Decide").click()
    assert page.locator(".proposal").inner_text() in ("new drug", "usual care")
    camera.see(page, "decided")
    browser.follow(page, "Report on this one")
    page.get_by_label("What was done").select_option("usual care")
    page.get_by_label("What came of it").select_option("well")
    camera.see(page, "report")
    page.get_by_role("button", name="Report").click()
    expect(page.get_by_text("Recorded for decision 1")).to_be_visible()


def watch(page: Page, camera: Camera, server: browser.ServedHere, key: str) -> None:
    """The page follows the trial without a reload."""
    page.goto(f"{server.url}/app/trials/clinic")
    expect(page.locator("#headline")).to_be_visible()
    page.evaluate("window.stayed = true")
    before = int(page.locator(".dashboard").get_attribute("data-sequence") or 0)
    for first in range(2, 302, 30):
        patients(server, key, first, first + 30)
    page.wait_for_function(
        "before => Number(document.querySelector('.dashboard').dataset.sequence) > before + 500", arg=before
    )
    assert page.evaluate("window.stayed")
    expect(page.locator("figure svg").first).to_be_visible()
    expect(page.locator("#headline")).to_contain_text("at any number of looks")
    expect(page.locator("#believed")).to_contain_text("is best with probability")
    camera.see(page, "trial")
    page.goto(f"{server.url}/app")
    expect(page.locator(".leader")).to_contain_text("Offering new drug rather than usual care")
    camera.see(page, "trials")


def correct(page: Page, camera: Camera) -> None:
    """What contradicts an earlier report needs a reason."""
    browser.follow(page, "Report")
    page.get_by_label("or the decision's number").fill("1")
    page.get_by_label("What came of it").select_option("relapsed")
    page.get_by_role("button", name="Report").click()
    page.get_by_label("Why this corrects an earlier report").fill("the file of another patient")
    camera.see(page, "correction")
    page.get_by_role("button", name="Report").click()
    expect(page.get_by_text("An earlier report was corrected")).to_be_visible()


def read_the_log(page: Page, camera: Camera, folder: Path) -> None:
    """Search it, and take it home."""
    page.goto(page.url.split("/app/")[0] + "/app/trials/clinic/log?decision=1")
    expect(page.get_by_text("Reason: “the file of another patient”")).to_be_visible()
    camera.see(page, "log")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="CSV").click()
    waiting.value.save_as(folder / "clinic.csv")
    lines = (folder / "clinic.csv").read_text().splitlines()
    assert len(lines) == 302
    assert "ACTARM" in lines[0]


def steer(page: Page, camera: Camera) -> None:
    """Pause, and audit."""
    page.goto(page.url.split("/app/")[0] + "/app/trials/clinic")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator(".state.paused").first).to_be_visible()
    page.get_by_role("button", name="Audit now").click()
    expect(page.locator("#audit .good")).to_contain_text("301 of 301 decisions")
    camera.see(page, "audited")


def blinded(chromium: Browser, camera: Camera, server: browser.ServedHere) -> None:
    """Somebody who may not know sees counts, and no arm in any page."""
    page = visit(chromium, server, server.key("read-blinded"))
    for path in ("", "/trials/clinic", "/trials/clinic/log", "/trials/clinic/log?decision=1"):
        page.goto(f"{server.url}/app{path}")
        content = page.content()
        assert "Clinic" in content or "clinic" in content
        for secret in ("new drug", "usual care", "relapsed"):
            assert secret not in content, (path, secret)
    page.goto(f"{server.url}/app/trials/clinic")
    expect(page.get_by_text("You are blinded")).to_be_visible()
    camera.see(page, "blinded")
    page.context.close()


def on_a_phone_in_the_dark(chromium: Browser, camera: Camera, server: browser.ServedHere, key: str) -> None:
    """The pages that people look at on the way."""
    page = visit(chromium, server, key, color_scheme="dark")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a literal
    for path, name in (
        ("/trials/clinic", "trial"),
        ("/trials/clinic/report", "report"),
        ("/new", "new-trial"),
        ("", "trials"),
    ):
        page.goto(f"{server.url}/app{path}")
        camera.see(page, f"phone-{name}")
    page.context.close()


@pytest.mark.long
def test_the_sandbox_teaches(chromium: Browser, camera: Camera, tmp_path: Path) -> None:
    with browser.served_here(tmp_path / "trials.db") as server:
        page = visit(chromium, server, server.key("decide"))
        browser.follow(page, "Try it")
        camera.see(page, "try-first")
        page.get_by_role("button", name="Run 100 people").click()
        expect(page.get_by_text("After 100 people")).to_be_visible()
        camera.see(page, "try", whole=True)
        browser.follow(page, "days to a relapse")
        page.get_by_role("button", name="Run 100 people").click()
        expect(page.get_by_text("mean within 90 days, when offered new drug")).to_be_visible()
        camera.see(page, "try-days", whole=True)


def test_pages_can_be_read_without_scripts(chromium: Browser, tmp_path: Path) -> None:
    with browser.served_here(tmp_path / "trials.db") as server:
        key = server.key(*SCOPES)
        spec = {
            "name": "Clinic",
            "space": {"proposals": ["usual care", "new drug"], "outcomes": ["relapsed", "well"]},
            "policy": {"kind": "TSRobust"},
        }
        server.trial(spec, key)
        patients(server, key, 1, 60)
        page = visit(chromium, server, key, java_script_enabled=False)
        page.goto(f"{server.url}/app/trials/clinic")
        expect(page.locator("#headline")).to_contain_text("By intention to treat, which leads by convention")
        assert page.locator("figure svg").count() >= 3
        assert all(each.get_attribute("aria-label") for each in page.locator('figure svg[role="img"]').all())
