"""All that an analysis found, each figure in its place: what was planned first, the rest under what was explored."""

import hashlib
import json
import math
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from takeup import charts, folders
from takeup.analysis.bounds import Bounds
from takeup.analysis.check import Check
from takeup.analysis.estimate import Estimate
from takeup.analysis.flow import Flow
from takeup.analysis.missing import WorstCase
from takeup.analysis.planned import Planned
from takeup.analysis.subgroups import Subgroups
from takeup.analysis.tested import Tested
from takeup.analysis.tipping import Tipping
from takeup.log import Log
from takeup.trial.design import canonical
from takeup.trial.spec import WordsTable
from takeup.trial.wording import Wording
from takeup.version import __version__

Kind: TypeAlias = Literal["planned", "by convention", "explored", "naive"]
"""Whether it was planned, or leads as nothing was, or was looked at as well, or is what people would else compute."""
FIGURES, REPORT = "analysis.json", "report.html"
CHARTS = re.compile(r"(forest|ratios|subgroups-\d+|compliance|flow|tipping-\d+)\.(svg|png)")
"""What the files of charts are called."""
LEADING: tuple[Kind, ...] = ("planned", "by convention")


@dataclass(frozen=True, slots=True)
class Entry:
    """An estimate in its place.

    Attributes:
        label: what it is called in a list.
        one: the proposal that is compared with the control, or that it is about.
        kind: what kind of answer it is.
        estimate: the figure.
        context: of which context it is alone; empty where it is of all.
    """

    label: str
    one: int
    kind: Kind
    estimate: Estimate
    context: str = ""

    @property
    def of_one(self) -> bool:
        """Whether it is of a proposal by itself and compares nothing."""
        return self.estimate.measure == "mean"

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.estimate.plain(), "kind": self.kind, "context": self.context or None}


@dataclass(frozen=True, slots=True)
class TestEntry:
    """A test in its place; attributes as those of an `Entry`."""

    one: int
    kind: Kind
    tested: Tested

    def plain(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self.tested.plain(), "kind": self.kind}


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that could not be computed, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What may be concluded from a log.

    Attributes:
        name: of the trial; empty where nobody says.
        log: what it is from.
        planned: the primary analysis.
        entries: estimates, the planned ones first.
        tests: of no effect, likewise.
        bounds: of effects that are not identified.
        tippings: by proposal, what becomes of the conclusion as takers and refusers may differ more.
        flow: who was assessed, allocated, took what and was followed up.
        worst: what each effect may be whatever the missing outcomes were; none where none are missing.
        checks: of what is assumed.
        left_out: what could not be computed.
        replays: how many trials re-randomisation replayed.
        seed: of all that is random.
        digest: SHA-256 of the log.
        command: by which it can be repeated; empty where nobody says.
        finished: whether nothing is pending any more.
        words: what the trial calls things; sentences for people are told in them.
        subgroups: effects by covariates, where the log has some.
    """

    name: str
    log: Log
    planned: Planned
    entries: tuple[Entry, ...]
    tests: tuple[TestEntry, ...]
    bounds: tuple[Bounds, ...]
    tippings: dict[int, Tipping]
    flow: Flow
    worst: tuple[WorstCase, ...]
    checks: tuple[Check, ...]
    left_out: tuple[LeftOut, ...]
    replays: int
    seed: int
    digest: str = ""
    command: str = ""
    finished: bool = True
    words: WordsTable = field(default_factory=WordsTable)
    subgroups: tuple[Subgroups, ...] = ()

    @property
    def wording(self) -> Wording:
        """How sentences are told."""
        return Wording(self.words, self.log.space)

    @property
    def primary(self) -> tuple[Entry, ...]:
        """The estimates that lead, one a comparison."""
        return tuple(each for each in self.entries if each.kind in LEADING)

    @property
    def primary_tests(self) -> tuple[TestEntry, ...]:
        """The planned test of each comparison."""
        return tuple(each for each in self.tests if each.kind in LEADING)

    def answers(self) -> list[str]:
        """The answer of each comparison that leads."""
        from takeup.analysis.headline import answers

        return answers(self)

    def report(self, folder: Path | None = None) -> str:
        """A page of HTML for people; where there is a folder, its charts are written there too."""
        from takeup.analysis.report import report

        return report(self, folder)

    def write(self, directory: Path) -> list[str]:
        """Write a folder with all figures and a report, all files or none; a report needs the extra `report`.

        Returns their names.
        """
        with folders.filled(directory, REPORT, CHARTS, alone=True) as folder:
            (folder / FIGURES).write_text(json.dumps({"analysis": self.plain()}, indent=1), encoding="utf-8")
            if charts.available():
                (folder / REPORT).write_text(self.report(folder), encoding="utf-8")
            return sorted(file.name for file in folder.iterdir())

    def plain(self) -> dict[str, Any]:
        """As JSON has it: the value of "analysis"."""
        from takeup.analysis import taken

        plain: dict[str, Any] = _finite(
            {
                "trial": self.name or None,
                "version": __version__,
                "seed": self.seed,
                "log": {"decisions": len(self.log), "digest": self.digest},
                "taken_to_be_so": taken.plain(self),
                "primary": {
                    **self.planned.plain(),
                    "control": self.log.space.proposals[self.planned.control],
                    "answers": self.answers(),
                    "estimates": [each.plain() for each in self.primary],
                    "tests": [each.plain() for each in self.primary_tests],
                },
                "estimates": [each.plain() for each in self.entries],
                "tests": [each.plain() for each in self.tests],
                **({"subgroups": [each.plain() for each in self.subgroups]} if self.subgroups else {}),
                "bounds": [each.plain() for each in self.bounds],
                "tipping": {self.log.space.proposals[one]: found.plain() for one, found in self.tippings.items()},
                "flow": self.flow.plain(),
                "worst_cases": [each.plain() for each in self.worst],
                "checks": [each.plain() for each in self.checks],
                "left_out": [{"what": each.what, "why": each.why} for each in self.left_out],
            }
        )
        return plain


def _finite(value: Any) -> Any:
    """The same with null for numbers that are none or infinite, as JSON has no such."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def log_digest(log: Log) -> str:
    """SHA-256 of all that a log says, whatever file it came from."""
    found = hashlib.sha256(canonical(log.space.described()).encode())
    for each in fields(log):
        value = getattr(log, each.name)
        if not isinstance(value, np.ndarray) or each.name in ("unit", "corrected", "pending"):
            continue
        kind = "<f8" if value.dtype.kind == "f" else "<i8"
        found.update(f"{each.name} {value.shape}".encode())
        found.update(np.ascontiguousarray(value, dtype=kind).tobytes())
    found.update(f"estimated {log.estimated}".encode())
    return found.hexdigest()


def has_region(estimate: Estimate) -> bool:
    """Whether there is something to draw: an interval, or a region of several parts."""
    return bool(estimate.region) or not (math.isnan(estimate.low) and math.isnan(estimate.high))
