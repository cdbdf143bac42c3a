"""A qualification: all checks in order, and what they were done on."""

import hashlib
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from takeup.qualification import installation, leased, live, numbers, served, simulated
from takeup.qualification.check import Group, Outcome, Verdict, done
from takeup.qualification.installation import Package
from takeup.qualification.requirements import requirements
from takeup.version import __version__

FORMAT = "takeup qualification 2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualification:
    """What was found.

    Attributes:
        begun: when, in UTC.
        facts: what takeup runs on here.
        packages: all that it needs, each with one hash over its files.
        files: SHA-256 of every file of takeup.
        outcomes: of every check.
    """

    begun: str
    facts: dict[str, str]
    packages: tuple[Package, ...]
    files: dict[str, str]
    outcomes: tuple[Outcome, ...]

    @property
    def verdict(self) -> Verdict:
        """That of all checks together: passed where each was done and passed."""
        found = {each.verdict for each in self.outcomes}
        return "failed" if "failed" in found else "passed" if found == {"passed"} else "not run"

    @property
    def said(self) -> str:
        """In one sentence, with the numbers of the checks that did not pass."""
        left = {name: [each.number for each in self.outcomes if each.verdict == name] for name in ("failed", "not run")}
        passed = len(self.outcomes) - sum(map(len, left.values()))
        told = [
            f"{len(numbers)} {name}" + (f" ({', '.join(numbers)})" if numbers else "")
            for name, numbers in left.items()
            if numbers or name == "failed"
        ]
        return f"{passed} of {len(self.outcomes)} checks passed, {', '.join(told)}"

    def content(self) -> dict[str, Any]:
        """All of it as plain data."""
        served_ = sorted({number for each in self.outcomes for number in each.requirements})
        return {
            "format": FORMAT,
            "takeup": __version__,
            "begun": self.begun,
            "verdict": self.verdict,
            "said": self.said,
            "facts": self.facts,
            "packages": {
                each.name: {"version": each.version, "files": each.files, "sha256": each.sha256}
                for each in self.packages
            },
            "code": installation.together(self.files),
            "files": self.files,
            "requirements": {number: requirements()[number].text for number in served_},
            "checks": [asdict(each) for each in self.outcomes],
        }


def digest(content: dict[str, Any]) -> str:
    """SHA-256 of content: of its JSON with sorted keys and without spaces, in UTF-8."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def groups_in(folder: Path) -> tuple[tuple[Group, ...], Callable[[], None]]:
    """All checks, which use a folder once they are done, and what ends the service that some of them start."""
    service, stop = served.group(folder)
    alone = (installation.group(folder), numbers.group(), simulated.group(), live.group(folder))
    return (*alone, service, leased.group(folder)), stop


def qualify(
    progress: Callable[[float], object] = lambda _: None, stage: Callable[[str], object] = lambda _: None
) -> Qualification:
    """Do all checks, in a temporary folder that is removed afterwards.

    Args:
        progress: called after each check with its share of all of them.
        stage: called before each with its title.
    """
    begun, outcomes = datetime.now(UTC), list[Outcome]()
    with tempfile.TemporaryDirectory(prefix="takeup-selftest-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        groups, stop = groups_in(folder)
        share = 1 / sum(len(group.checks) for group in groups)
        try:
            for place, group in enumerate(groups, start=1):
                for i, check in enumerate(group.checks, start=1):
                    stage(check.title)
                    outcomes.append(done(check, f"{place}.{i}", group.title))
                    progress(share)
        finally:
            stop()
    return Qualification(
        begun=begun.isoformat(timespec="seconds"),
        facts=installation.facts(),
        packages=tuple(map(installation.package, installation.dependencies())),
        files=installation.hashes(),
        outcomes=tuple(outcomes),
    )
