"""Which fields an answer has: names of values in JSON, columns of tables, and what pages call things."""

import csv
import io
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

from asgi import Reply
from takeup.live.progress import WITHHELD

NAMING = {"h1", "h2", "h3", "h4", "th", "dt", "legend", "label", "summary", "caption", "title"}
"""Elements that name what stands beside them."""
BY_NAME = {"spec", "fallback", "fallbacks_by", "other_software"}
"""Tables whose keys are words of a trial, of people or of versions; what is in them is one field."""


def fields(reply: Reply) -> set[str]:
    """The fields that say something: null is nothing, and so is an empty cell."""
    kind = reply.headers.get("content-type", "").partition(";")[0]
    if not reply.body:
        return set()
    match kind:
        case "application/json" | "application/problem+json":
            return set(_json(json.loads(reply.body)))
        case "application/jsonl":
            return {name for line in reply.body.splitlines() for name in _json(json.loads(line))}
        case "text/csv":
            rows = csv.DictReader(io.StringIO(reply.body.decode()))
            return {name for row in rows for name, value in row.items() if value}
        case "text/html":
            return _html(reply.body.decode())
    return {f"data {name}" for name in re.findall(r'"(\w+)":', reply.body.decode())}


def _json(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and path.rpartition(".")[2] not in BY_NAME:
        for name, each in value.items():
            yield from _json(each, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for each in value:
            yield from _json(each, f"{path}[]")
    elif value not in (None, {}, "", WITHHELD):
        yield path


def _html(text: str) -> set[str]:
    reader = _Names()
    reader.feed(text)
    reader.close()
    return reader.found


class _Names(HTMLParser):
    """Collects the names of controls, and the texts of elements that name something."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: set[str] = set()
        self._inside: list[tuple[str, list[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("name") and tag in ("input", "select", "textarea", "button"):
            self.found.add(f"input {re.sub(r'[0-9]+', '#', given['name'] or '')}")
        if tag == "th" and given.get("scope") == "row":
            return  # a name of somebody or something that a list is of
        if tag in NAMING:
            self._inside.append((tag, []))

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1][0] == tag:
            said = " ".join("".join(self._inside.pop()[1]).split())
            self.found.add(f"{tag} {re.sub(r'[0-9]+', '#', said)[:60]}")

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._inside[-1][1].append(data)
