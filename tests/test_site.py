"""The site that `make docs` builds, and then tests: it loads nothing from elsewhere; its search needs no network."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browser import browser

if "TAKEUP_SITE" not in os.environ:
    pytest.skip("no site: `make docs` builds it and runs these", allow_module_level=True)

SITE = Path(os.environ["TAKEUP_SITE"]).resolve()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def opened(scheme: str) -> Iterator[str]:
    """Where the site is: the files themselves, or served from this machine."""
    if scheme == "file":
        yield SITE.as_uri()
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_pages_load_nothing_from_elsewhere() -> None:
    asked: list[str] = []
    with browser() as chromium:
        page = chromium.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for file in sorted(SITE.rglob("*.html")):
            page.goto(file.as_uri())
            assert page.locator("h1").first.is_visible()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert any(url.endswith(".js") for url in asked)


@pytest.mark.parametrize("scheme", ["file", "http"])
def test_the_search_finds_pages(scheme: str) -> None:
    with opened(scheme) as address, browser() as chromium:
        page = chromium.new_page()
        failed: list[str] = []
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.goto(f"{address}/reference/core.html")
        page.get_by_role("textbox").first.fill("tipping")
        page.keyboard.press("Enter")
        with page.expect_navigation():
            page.get_by_role("link", name="The tipping point").click()
        assert page.url == f"{address}/readings.html#the-tipping-point"
        assert failed == []
