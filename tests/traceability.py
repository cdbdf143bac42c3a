"""Which tests hold which requirement, and the tables of docs/validation.md that say so.

    python tests/traceability.py        writes the tables of the page anew; `make validation`

Markers are read from the source, without running or importing any test.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from takeup.qualification import areas
from takeup.qualification.run import groups_in

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "validation.md"
MARKER = "pytest.mark.requirement"


@dataclass(frozen=True)
class MarkedTest:
    """A test that holds requirements."""

    file: str
    name: str
    numbers: tuple[str, ...]
    long: bool


def marked() -> list[MarkedTest]:
    """All of them, in the order of their files."""
    return [each for file in sorted((ROOT / "tests").glob("test_*.py")) for each in marked_in(file)]


def marked_in(file: Path) -> list[MarkedTest]:
    """Those of one file."""
    return list(_of(file))


def _of(file: Path) -> Iterator[MarkedTest]:
    text = file.read_text(encoding="utf-8")
    if MARKER not in text:
        return
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        calls = [each for each in node.decorator_list if isinstance(each, ast.Call)]
        given = [each.args for each in calls if ast.unparse(each.func) == MARKER]
        numbers = tuple(str(ast.literal_eval(each)) for arguments in given for each in arguments)
        if given:
            long = any(ast.unparse(each) == "pytest.mark.long" for each in node.decorator_list)
            yield MarkedTest(file.name, node.name, numbers, long)


def holding() -> dict[str, list[MarkedTest]]:
    """The tests of each requirement."""
    held: dict[str, list[MarkedTest]] = {}
    for each in marked():
        for number in each.numbers:
            held.setdefault(number, []).append(each)
    return held


def checking() -> dict[str, list[str]]:
    """The checks of `takeup selftest` that serve each requirement."""
    served: dict[str, list[str]] = {}
    for place, group in enumerate(groups_in(Path("nowhere"))[0], start=1):
        for i, check in enumerate(group.checks, start=1):
            for number in check.requirements:
                served.setdefault(number, []).append(f"{place}.{i}")
    return served


def tables() -> str:
    """A table for each area: requirement, tests, checks of the selftest."""
    held, served, parts = holding(), checking(), []
    for area in areas():
        lines = [f"### {area.number} {area.title}", "", "| | requirement | held by | selftest |", "|---|---|---|---|"]
        for each in area.requirements:
            tests, checks = _cell(held.get(each.number, [])), ", ".join(served.get(each.number, []))
            lines.append(f"| {each.number} | {each.text} | {tests} | {checks} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _cell(tests: list[MarkedTest]) -> str:
    files: dict[str, list[str]] = {}
    for each in tests:
        said = each.name.removeprefix("test_").replace("_", " ") + (" (long)" if each.long else "")
        files.setdefault(each.file, []).append(said)
    return "; ".join(f"[{file}](../tests/{file}): {', '.join(names)}" for file, names in files.items())


def checks() -> str:
    """A table of the checks of the selftest."""
    lines = ["| | check | serves |", "|---|---|---|"]
    for place, group in enumerate(groups_in(Path("nowhere"))[0], start=1):
        for i, check in enumerate(group.checks, start=1):
            lines.append(f"| {place}.{i} | {check.title} | {', '.join(check.requirements)} |")
    return "\n".join(lines)


def page() -> str:
    """The page with its tables as they should be."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in (("requirements", tables()), ("checks", checks())):
        begin, end = f"<!-- made: {name} -->", f"<!-- end: {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{made}\n\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
