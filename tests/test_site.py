"""The site that `make docs` builds, and then tests: whole, legible, searchable without a network."""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Literal
from urllib.parse import unquote, urldefrag

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types

from browser import browser
from test_reference import key, names, public

if "TAKEUP_SITE" not in os.environ:
    pytest.skip("no site: `make docs` builds it and runs these", allow_module_level=True)

SITE = Path(os.environ["TAKEUP_SITE"]).resolve()
BESIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
DARK = "getComputedStyle(document.querySelector('.wy-nav-content')).backgroundColor.match(/\\d+/g).every(c => c < 80)"


class Html(HTMLParser):
    """What a page can be linked to by, and what it links to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif name in ("href", "src"):
                self.links.append(value or "")


def read() -> dict[Path, Html]:
    """All pages but the one for wrong addresses, which has to know its server."""
    return {file: Html(file) for file in SITE.rglob("*.html") if file.name != "404.html"}


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


def test_every_link_leads_somewhere() -> None:
    pages = read()
    broken = []
    for file, page in pages.items():
        for link in page.links:
            if link.startswith(("https:", "data:")):
                continue
            path, anchor = (unquote(part) for part in urldefrag(link))
            target = (file.parent / path).resolve() if path else file
            if not target.exists() or (anchor and target in pages and anchor not in pages[target].anchors):
                broken.append((file.name, link))
    assert broken == []


def test_every_public_name_is_on_a_page() -> None:
    anchors = {anchor for page in read().values() for anchor in page.anchors if anchor.startswith("takeup")}
    there = set()
    for anchor in anchors:
        package, _, name = anchor.rpartition(".")
        there.add(anchor)
        if package in sys.modules and hasattr(sys.modules[package], name):  # else it is in a class
            value = getattr(sys.modules[package], name)
            if not isinstance(value, ModuleType):
                there.add(key(value, name))
    missing = []
    for module in public():
        for name in names(module):
            value = getattr(module, name)
            where = value.__name__ if isinstance(value, ModuleType) else key(value, name)
            if where not in there:
                missing.append(f"{module.__name__}.{name}")
    assert missing == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_legible_by_day_and_by_night_on_a_phone_too(scheme: Literal["light", "dark"]) -> None:
    with browser() as chromium:
        for width in (1280, 390):
            page = chromium.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            for name in ("index", "adapters", "reference/analysis"):
                page.goto((SITE / f"{name}.html").as_uri() + "#takeup.analysis.analyse.analyse")
                found = Axe().run(page, options={"runOnly": ["color-contrast", "link-in-text-block", "image-alt"]})
                assert found.violations_count == 0, found.generate_report()
                assert page.evaluate(BESIDE) == 0
                assert page.evaluate(DARK) == (scheme == "dark")
