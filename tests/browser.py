"""A real browser for tests: Debian's chromium, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

from requirements import absent

HINT = "there is no chromium: apt-get install chromium, or `make browser` as root"


def chromium() -> str:
    """Where chromium is; without it tests are skipped, but never by CI."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        absent(HINT)
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    path = chromium()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield started
        finally:
            started.close()


def sign_in(page: Page, url: str, key: str) -> None:
    """Sign in with an API key."""
    page.goto(f"{url}/app/sign-in")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in with the key").click()
    page.wait_for_url(f"{url}/app")


def follow(page: Page, link: str) -> None:
    """Click on a link and wait for its page, as what comes next may be on the old page too."""
    with page.expect_navigation():
        page.get_by_role("link", name=link).first.click()
