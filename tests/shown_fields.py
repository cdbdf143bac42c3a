"""Which fields an answer has: names of values in JSON, columns of tables, and what pages call things."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import polars as pl

from asgi import Reply
from takeup.live.progress import WITHHELD
from takeup.service.routes.log import MEDIA

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
        case _ if kind == MEDIA["parquet"]:
            table = pl.read_parquet(io.BytesIO(reply.body))
            return {name for name in table.columns if table[name].null_count() < table.height}
        case _ if kind == MEDIA["xlsx"]:
            return _sheet(reply.body)
    return {f"data {name}" for name in re.findall(r'"(\w+)":', reply.body.decode())}


def plain(reply: Reply) -> bytes:
    """What a reply says, without how a file of it was packed and when."""
    kind = reply.headers.get("content-type", "")
    if kind == MEDIA["parquet"]:
        return repr(pl.read_parquet(io.BytesIO(reply.body)).to_dict(as_series=False)).encode()
    if kind == MEDIA["xlsx"]:
        with zipfile.ZipFile(io.BytesIO(reply.body)) as packed:
            return b"\n".join(packed.read(name) for name in sorted(packed.namelist()) if name != "docProps/core.xml")
    return reply.body


def _sheet(content: bytes) -> set[str]:
    """The columns of a workbook's first sheet in which a row has something."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(io.BytesIO(content)) as packed:
        tree = ElementTree.fromstring(packed.read("xl/worksheets/sheet1.xml"))
    first, *rows = [
        {re.sub("[0-9]", "", cell.attrib["r"]): "".join(cell.itertext()) for cell in row.iter(f"{space}c")}
        for row in tree.iter(f"{space}row")
    ]
    return {first[place] for row in rows for place, text in row.items() if text}


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
