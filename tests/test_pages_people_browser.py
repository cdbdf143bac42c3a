"""A clinic's people in a real browser, from the first admin's link to a signed stop; every page is checked with axe.

`make screenshots` runs it with TAKEUP_IMAGES set, and keeps what it saw in docs/images.
"""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Browser, Page, expect

import browser
from takeup.service import people

expect.set_options(timeout=240_000)
WIDE, PHONE = {"width": 1200, "height": 900}, {"width": 360, "height": 740}
SPEC = {"name": "Clinic", "space": {"proposals": ["usual care", "new drug"]}, "policy": {"kind": "TSObs"}}
PASSWORD = "correct horse battery staple"
KEPT = ("people", "sign")
"""The pages of which there are pictures."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser.browser() as started:
        yield started


class Window:
    """A browser window of its own, in which every page can be used by everybody and no script fails."""

    def __init__(self, chromium: Browser, url: str, folder: Path, **options: object) -> None:
        self.page = chromium.new_context(viewport=WIDE, **options).new_page()  # type: ignore[arg-type]  # Playwright's own
        self.page.set_default_timeout(240_000)
        self.page.on("pageerror", lambda error: pytest.fail(f"a script failed: {error}"))
        self.url, self.folder, self.axe = url, folder, Axe()

    def see(self, name: str) -> None:
        """Check the page, and that nothing is wider than the window; keep its picture."""
        found = self.axe.run(self.page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
        wide = "document.documentElement.scrollWidth <= window.innerWidth"
        assert self.page.evaluate(wide), f"{name} is too wide"
        if name in KEPT or "TAKEUP_ALL_IMAGES" in os.environ:
            self.page.screenshot(path=self.folder / f"{name}.png", full_page=True)

    def fill(self, **fields: str) -> Page:
        """Type into fields, by their labels."""
        for label, value in fields.items():
            self.page.get_by_label(label.replace("_", " "), exact=True).fill(value)
        return self.page

    def press(self, button: str) -> None:
        """Press a button, and wait for the page after it."""
        with self.page.expect_navigation():
            self.page.get_by_role("button", name=button, exact=True).click()

    def accept(self, link: str) -> None:
        """Set a password with a link, and sign in with it."""
        self.page.goto(link)
        self.fill(Password=PASSWORD, The_same_once_more=PASSWORD)
        self.press("Set the password")
        expect(self.page.get_by_text("Your password is set")).to_be_visible()

    def sign_in(self, login: str, password: str = PASSWORD) -> None:
        """As people do."""
        self.fill(Login=login, Password=password)
        self.press("Sign in")


def test_a_clinic_from_the_first_invitation_to_a_signed_stop(chromium: Browser, tmp_path: Path) -> None:
    images = Path(os.environ.get("TAKEUP_IMAGES", tmp_path))
    with browser.served_here(tmp_path / "trials.db") as server:
        key = server.key("design", "decide")
        status, made = server.request("POST", "/trials", SPEC, key)
        assert status == 201, made
        admin = Window(chromium, server.url, images)
        late(admin, link_for(server, "Eve Late", "eve@clinic.example", lasts=-1))
        admin.accept(link_for(server, "Ada Byron", "ada@clinic.example", lasts=10**12))
        admin.sign_in("ada@clinic.example")
        link = invite(admin)
        nurse(chromium, server.url, images, link)
        coordinate(admin)


def link_for(server: browser.ServedHere, name: str, login: str, lasts: int) -> str:
    """The link that `takeup people invite` prints."""
    store = server.service.store
    at, token = store.clock(), people.new_token()
    person = people.new(name, login, ["admin", "coordinator"], at=at, by="command line")
    store.write(partial(people.add, person)).result()
    store.write(partial(people.invite, person.id, people.digest(token), at + lasts, at, "command line")).result()
    return f"{server.url}/app/invitation/{token}"


def late(window: Window, link: str) -> None:
    """A link whose time is over."""
    window.page.goto(link)
    expect(window.page.get_by_role("heading", name="This link has ended")).to_be_visible()
    window.see("link-late")


def invite(admin: Window) -> str:
    """An admin invites a nurse on a page, and forgets the roles at first."""
    browser.follow(admin.page, "People")
    admin.fill(Name="Max Born", Login="max@clinic.example", In_which_trials="clinic", Site="ward 3")
    admin.press("Invite")
    expect(admin.page.get_by_text("Expected: some of clinician")).to_be_visible()
    admin.page.get_by_label("clinician: asks").check()
    admin.press("Invite")
    admin.see("invited")
    link = admin.page.get_by_label("Link").input_value()
    browser.follow(admin.page, "People")
    admin.see("people")
    browser.follow(admin.page, "Max Born")
    admin.see("person")
    browser.follow(admin.page, "Keys")
    admin.see("keys")
    return link


def nurse(chromium: Browser, url: str, images: Path, link: str) -> None:
    """On a phone in the dark: a password that is no secret, a link used twice, a wrong password, what may not be."""
    window = Window(chromium, url, images, color_scheme="dark")
    window.page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a literal
    window.page.goto(link)
    window.fill(Password="max born 1234", The_same_once_more="max born 1234")
    window.press("Set the password")
    expect(window.page.get_by_role("alert")).to_contain_text("something else than your own name")
    window.see("phone-invitation")
    window.accept(link)
    window.sign_in("max@clinic.example", "another password")
    expect(window.page.get_by_role("alert")).to_contain_text("are not right")
    window.see("phone-sign-in-wrong")
    window.sign_in("max@clinic.example")
    expect(window.page.get_by_text("Max Born (blinded)")).to_be_visible()
    window.page.goto(f"{url}/app/people")
    expect(window.page.get_by_role("alert")).to_have_text(
        "Your account may not manage people and keys; ask whoever manages people here."
    )
    window.see("phone-refused")
    window.page.goto(f"{url}/app/account")
    window.see("phone-account")
    window.press("Sign out everywhere")
    window.page.goto(link)
    expect(window.page.get_by_role("heading", name="This link has ended")).to_be_visible()
    window.see("phone-link-over")
    window.page.context.close()


def coordinate(window: Window) -> None:
    """Start and stop the trial, each signed; once with a wrong password."""
    page = window.page
    page.goto(f"{window.url}/app/trials/clinic")
    page.get_by_text("Start …").click()
    window.see("sign")
    page.locator("#start-password").fill("not my password")
    window.press("Sign and start")
    expect(page.get_by_role("alert")).to_contain_text("Nothing was signed")
    window.see("sign-wrong")
    page.locator("#start-password").fill(PASSWORD)
    window.press("Sign and start")
    expect(page.locator(".state.running").first).to_be_visible()
    page.get_by_text("Stop for good …").click()
    page.get_by_label("Why is it stopped?").fill("enough is known")
    page.get_by_label("Stop clinic for good").check()
    page.locator("#stop-password").fill(PASSWORD)
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]  # a literal
    window.see("phone-stop")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]  # a literal
    window.press("Sign and stop the trial")
    expect(page.locator(".state.stopped").first).to_be_visible()
