"""The record of a qualification: a page to sign and file, and the same as data, with the SHA-256 of its content."""

import json
from pathlib import Path

from takeup import folders
from takeup.charts.document import Judged, ReportTable, page
from takeup.charts.extra import required
from takeup.errors import InputError
from takeup.qualification import installation
from takeup.qualification.check import Outcome
from takeup.qualification.requirements import requirements
from takeup.qualification.run import Qualification, digest

TEMPLATE = "qualification/report.html.jinja"
PAGE, DATA = "report.html", "report.json"
COLUMNS = ("check", "what was checked", "serves", "seconds", "verdict", "expected", "found")


def check(directory: Path) -> None:
    """Raise an error if no report can be written there, or one is there already, which is never overwritten."""
    required("jinja2")
    for name in (PAGE, DATA):
        if (directory / name).exists():
            raise InputError(
                "--report", directory / name, "a folder without a report", "a record is kept as it is; choose another"
            )
    folders.check(directory, "--report")


def write(found: Qualification, directory: Path) -> tuple[Path, str]:
    """Write both files, or none; returns the page, and the SHA-256 of the content."""
    content = found.content()
    sealed = digest(content)
    with folders.filled(directory, PAGE) as folder:
        text = json.dumps({"sha256": sealed, "content": content}, indent=1, ensure_ascii=False)
        (folder / DATA).write_text(text + "\n", encoding="utf-8")
        (folder / PAGE).write_text(_page(found, sealed), encoding="utf-8")
    return directory / PAGE, sealed


def _page(found: Qualification, sealed: str) -> str:
    groups: dict[str, list[Outcome]] = {}
    for each in found.outcomes:
        groups.setdefault(each.group, []).append(each)
    served = sorted({number for each in found.outcomes for number in each.requirements}, key=_place)
    tables = [
        ReportTable(name, COLUMNS, tuple(map(_row, outcomes)), words=3, sentences=2)
        for name, outcomes in groups.items()
    ]
    return page(
        TEMPLATE,
        found=found,
        sealed=sealed,
        code=installation.together(found.files),
        facts=ReportTable("What takeup runs on here", ("what", "which"), tuple(found.facts.items()), 1, 1),
        tables=tables,
        requirements=ReportTable(
            "Requirements that the checks serve",
            ("number", "requirement"),
            tuple((number, requirements()[number].text) for number in served),
            1,
            1,
        ),
        packages=ReportTable(
            "Packages that takeup needs",
            ("package", "files", "version", "SHA-256 over its files"),
            tuple(
                (each.name, f"{each.files:,}", each.version, each.sha256)
                for each in sorted(found.packages, key=lambda each: each.name)
            ),
            1,
            2,
        ),
    )


def _row(each: Outcome) -> tuple[str | Judged, ...]:
    verdict = "not run" if each.verdict == "not run" else Judged(each.verdict, each.verdict == "passed")
    served = ", ".join(each.requirements)
    return each.number, each.title, served, f"{each.seconds:.2f}", verdict, each.expected, each.found


def _place(number: str) -> tuple[int, ...]:
    return tuple(map(int, number.removeprefix("R-").split(".")))
