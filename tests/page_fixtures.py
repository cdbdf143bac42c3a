"""A trial whose words stand in no template, its book for any evidence, and a strict reader of its pages."""

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np

from takeup import Evidence
from takeup.trial.book import Book
from takeup.trial.design import Design
from takeup.trial.rollup import Rollup
from takeup.trial.secret import Secret

ARMS = ("zebra", "yak")
LEVELS = ("lost", "won")
SPEC: dict[str, Any] = {
    "name": "clinic",
    "space": {"proposals": list(ARMS), "contexts": ["hill", "vale"], "outcomes": list(LEVELS)},
    "policy": {"kind": "TSObs"},
}


def book_of(counts: Any, spec: dict[str, Any] = SPEC) -> Book:
    """A trial with this evidence n[x, z, a, y] and one stretch of decisions in each context."""
    design = Design.of(spec)
    table = np.zeros(Evidence.empty(design.space).counts.shape, dtype=np.int64)
    given = np.asarray(counts)
    contexts, proposals, actions, levels = given.shape
    table[:contexts, :proposals, :actions, :levels] = given
    rollup, number, even = Rollup(), 0, [0.5] * proposals
    for x, z, a, y in np.ndindex(table.shape):
        for _ in range(table[x, z, a, y]):
            number += 1
            rollup.add(number, x, z, even, even, number)
    return Book("clinic", design, Secret("", ""), table, "running", 7, "f" * 64, 7, number, 7, rollup=rollup)


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
