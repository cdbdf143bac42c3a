"""A trial whose words stand in no template, and a strict reader of its pages."""

import re
from html.parser import HTMLParser

ARMS = ("zebra", "yak")
LEVELS = ("lost", "won")
SPEC = {
    "name": "hooves",
    "space": {"proposals": list(ARMS), "contexts": ["hill", "vale"], "outcomes": list(LEVELS)},
    "policy": {"kind": "TSObs"},
}


class Strict(HTMLParser):
    """Reads a page and minds whatever the content policy would block, and addresses of other hosts."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """The parser calls this."""
        self.tags.add(tag)
        given = {name: value or "" for name, value in attrs}
        if tag == "style" or (tag == "script" and not given.get("src", "").startswith("/app/static/")):
            self.wrong.append(tag)
        for name, value in given.items():
            elsewhere = name in ("href", "src", "action", "xlink:href") and not re.match(r"/(?!/)|#", value)
            if name == "style" or name.startswith("on") or elsewhere:
                self.wrong.append(f"{tag} {name}={value}")


def assert_strict(html: str) -> set[str]:
    """Nothing that the content policy would block; which elements there are."""
    reader = Strict()
    reader.feed(html)
    assert reader.wrong == []
    return reader.tags
