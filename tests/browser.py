"""A real browser for tests: Debian's chromium, driven by Playwright."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from requirements import absent
from serving import WAIT, Served

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


class ServedHere(Served):
    """What `takeup serve` runs, in a thread of this process: its server on a socket, for tests that are about pages.

    To start its processes takes seconds: there is none that writes, checks specs or renders. Passwords are quick.
    """

    def __init__(self, database: Path) -> None:
        from argon2 import PasswordHasher  # the whole service, which tests of other pages do without

        from asgi import Here
        from page_visitor import RenderHere
        from takeup.service import Settings, create_app, server
        from takeup.service.keys import add_first
        from takeup.store import Store

        self.database, settings = str(database), Settings(port=0)
        store = Store(self.database)
        self.admin = add_first(store)
        app = create_app(settings, store)
        self.service = app.state.service
        self.service.people.passwords.hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
        self.service.drafts.checking = Here()
        app.state.render_cache.process = RenderHere()
        self._listening = server.listen(settings)
        self.url = server.address(settings, self._listening)
        self.port = self._listening.getsockname()[1]
        self._running = server._Server(server.uvicorn_config(settings, app), settings, app)
        self._thread = threading.Thread(target=self._running.run, args=([self._listening],), daemon=True)
        self._thread.start()
        self.request("GET", "/ready")

    def stop(self) -> int:
        """Have it finish what it had accepted."""
        self._running.should_exit = True
        self._thread.join(WAIT)
        self._listening.close()
        return int(self._thread.is_alive())


@contextmanager
def served_here(database: Path) -> Iterator[ServedHere]:
    """A service in this process that ends with the block."""
    server = ServedHere(database)
    try:
        yield server
    finally:
        assert server.stop() == 0


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
