"""Results, one JSON file a gate, written as each ends; the repository has them, as a run takes hours."""

import json
import os
import platform
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path("gates/results")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What became of a gate, and where.

    Attributes:
        gate: its name.
        passed: whether it held; None where it was left out.
        figures: what it found, or why it was left out.
        control: what its control found.
        control_failed: whether the control showed the defect, as it must.
        times: how often it was tried.
        scale: which part of the full count that is.
        seed: of all chance in it.
        seconds: how long both took.
        commit: of the repository; with a plus where files were changed since.
        machine: in words, with the load at its beginning.
        date: of its end, UTC.
    """

    gate: str
    passed: bool | None
    figures: str
    control: str
    control_failed: bool
    times: int
    scale: float
    seed: int
    seconds: float
    commit: str
    machine: str
    date: str

    @property
    def held(self) -> bool:
        """Whether it held and its control did not."""
        return bool(self.passed) and self.control_failed


def lasting(seconds: float) -> str:
    """A time as people say it."""
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min" if seconds >= 60 else f"{seconds:.0f} s"


def keep(result: Result, folder: Path = FOLDER) -> None:
    """Write a result, in the place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result.gate}.json"
    path.with_suffix(".new").write_text(json.dumps(asdict(result), indent=1) + "\n")
    path.with_suffix(".new").replace(path)


def kept(folder: Path = FOLDER) -> dict[str, Result]:
    """All results that there are, by gate."""
    read = (Result(**json.loads(path.read_text())) for path in sorted(folder.glob("*.json")))
    return {result.gate: result for result in read}


def commit() -> str:
    """The commit that is checked out, with a plus where something was changed since."""
    try:
        name = _git("rev-parse", "--short=10", "HEAD")
        changed = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/gates.md", f":!{FOLDER}")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name}+" if changed else name


def machine() -> str:
    """Processor, cores, system, Python and load."""
    model = platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    cores = len(os.sched_getaffinity(0))
    system = f"{platform.system()} {platform.release().partition('-')[0]}, Python {platform.python_version()}"
    return f"{cores} cores of {model}, {system}, load {os.getloadavg()[0]:.1f}"


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()
