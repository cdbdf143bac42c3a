"""Every public name has a docstring and a place in the reference; every page has one in the site's navigation."""

import ast
import importlib
import inspect
import pkgutil
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import takeup
import takeup.adapters

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
NAV = re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M)
DIRECTIVES = re.findall(r"^::: (\S+)$", "".join(page.read_text() for page in DOCS.rglob("*.md")), flags=re.M)


def named(path: str) -> Any:
    """What a dotted path is the path of."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)


def documents_itself(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isroutine(value)


def key(value: Any, name: str) -> str:
    """The same for one thing under several names; constants do not know where they are from."""
    return f"{value.__module__}.{value.__qualname__}" if documents_itself(value) else name


def names(module: ModuleType) -> list[str]:
    """What a module exports, or the classes and functions that it defines where it does not say."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = {name for name, value in vars(module).items() if key(value, "") == f"{module.__name__}.{name}"}
    return sorted(name for name in own if not name.startswith("_"))


def home(module: ModuleType, name: str) -> ModuleType:
    """Where a name is defined that a module may have imported."""
    for node in ast.walk(ast.parse(Path(str(module.__file__)).read_text())):
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            return home(importlib.import_module(str(node.module)), name)
    return module


def described(module: ModuleType, name: str) -> str:
    """The docstring of a name: its own, or, of a constant, the string below it."""
    value = getattr(module, name)
    if isinstance(value, ModuleType) or documents_itself(value):
        written = value.__doc__ or ""
        return "" if written.startswith(f"{name}(") else written  # as dataclasses describe themselves
    body = ast.parse(Path(str(home(module, name).__file__)).read_text()).body
    for node, below in pairwise(body):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(each, ast.Name) and each.id == name for each in targets) and isinstance(below, ast.Expr):
            return str(ast.literal_eval(below.value))
    return ""


def public() -> list[ModuleType]:
    """What people import from: takeup, those of its modules that say what they export, and the adapters."""
    parts = [named(f"takeup.{each.name}") for each in pkgutil.iter_modules(takeup.__path__) if each.name[0] != "_"]
    adapters = [named(f"takeup.adapters.{each.name}") for each in pkgutil.iter_modules(takeup.adapters.__path__)]
    says = [each for each in (*parts, *adapters) if hasattr(each, "__all__") or each.__name__ in DIRECTIVES]
    return [takeup, *says]


def shown() -> set[str]:
    """The keys of all that the reference shows."""
    found = set()
    for path in DIRECTIVES:
        thing = named(path)
        inside = [(getattr(thing, name), name) for name in names(thing)] if isinstance(thing, ModuleType) else []
        found |= {key(value, name) for value, name in [*inside, (thing, path.rpartition(".")[2])]}
        if isinstance(thing, ModuleType):
            found.add(thing.__name__)
    return found


@pytest.mark.parametrize("module", public(), ids=lambda module: module.__name__)
def test_public_names_are_documented(module: ModuleType) -> None:
    there = shown()
    for name in names(module):
        value = getattr(module, name)
        assert described(module, name), f"{module.__name__}.{name} has no docstring"
        where = value.__name__ if isinstance(value, ModuleType) else key(value, name)
        assert where in there, f"{module.__name__}.{name} is on no page in docs/reference"


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(NAV) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_first_page_links_to_all_in_the_order_of_the_navigation() -> None:
    links = re.findall(r"\]\((?!\.\.)([\w/-]+\.md)\)", (DOCS / "README.md").read_text())
    assert list(dict.fromkeys(links)) == [page for page in NAV if page != "README.md"]


def test_new_pages_are_found_from_the_readme() -> None:
    """Whoever has nothing but the README finds what each page of a trial's day and of other tools is about."""
    linked = re.findall(r"\(docs/([\w-]+\.md)", (ROOT / "README.md").read_text())
    assert {"tutorial.md", "people.md", "exports.md", "adapters.md", "coming-from.md", "outcomes.md"} <= set(linked)


def test_the_layout_has_every_module() -> None:
    layout = (ROOT / "CONTRIBUTING.md").read_text().partition("## How the code is laid out")[2].partition("## What")[0]
    rows = " ".join(line for line in layout.splitlines() if line.startswith("    "))
    named = {each.name for each in pkgutil.iter_modules(takeup.__path__) if each.name != "__main__"}
    assert {name for name in named if not re.search(rf"\b{name}\b", rows)} == set()


def test_nothing_is_described_twice() -> None:
    assert len(DIRECTIVES) == len(set(DIRECTIVES))
