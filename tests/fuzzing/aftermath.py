"""What is looked at when a service has been fuzzed: its memory, its files, its log, its trials."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fuzzing.client import Failure
from fuzzing.probe import children, writer
from serving import Served

MOST_FILES = 100
MOST_MEMORY, MOST_PEAK = 1_000, 1_500
"""How many more files a service may have open in the end, and how many more megabytes; and the most it ever has."""
AUDIT_SECONDS = 1_800


@dataclass(frozen=True, slots=True)
class Resources:
    """What a service has.

    Attributes:
        service: megabytes of the process that answers.
        writer: megabytes of the process that writes.
        files: descriptors that both have open.
        processes: how many processes it has started that are still there.
        peak: the most megabytes that either had so far.
    """

    service: float
    writer: float
    files: int
    processes: int
    peak: float = 0.0

    def leaks(self, after: "Resources") -> list[str]:
        """What has grown too much."""
        found = []
        if after.files > self.files + MOST_FILES:
            found.append(f"{after.files} files are open, and there were {self.files}")
        for name in ("service", "writer"):
            grown = getattr(after, name) - getattr(self, name)
            if grown > MOST_MEMORY:
                found.append(f"the {name} has grown by {grown:.0f} MB")
        if after.peak > MOST_PEAK:
            found.append(f"there were {after.peak:.0f} MB")
        return found


def resources(server: Served) -> Resources:
    """What a service has now."""
    service, write = server.process.pid, writer(server.process.pid)
    peak = max(_memory(process, "VmHWM") for process in (service, write))
    files = _files(service) + _files(write)
    return Resources(_memory(service), _memory(write), files, len(children(service)), peak)


def _memory(process: int, kind: str = "VmRSS") -> float:
    with suppress(OSError):
        found = re.search(rf"{kind}:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
        return 0.0 if found is None else int(found[1]) / 1_000
    return 0.0


def _files(process: int) -> int:
    with suppress(OSError):
        return len(list(Path(f"/proc/{process}/fd").iterdir()))
    return 0


def audits(database: str, failures: list[Failure]) -> int:
    """Audit all trials of a database that nobody writes to; how many there were."""
    command = [sys.executable, "-m", "takeup", "audit", database, "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=AUDIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        failures.append(Failure("", "after", f"the audit takes more than {AUDIT_SECONDS} s", b"", "", ""))
        return 0
    if done.returncode:
        said = (done.stdout + done.stderr)[-2_000:]
        failures.append(Failure("", "after", "the audit of all trials does not pass", b"", said, ""))
    with suppress(ValueError):
        return len(json.loads(done.stdout)["audits"])
    return 0


def causes(log: Path, failures: Sequence[Failure]) -> tuple[list[Failure], Counter[str]]:
    """The failures with what the service's log says about each, and what it says of others; and its warnings."""
    known, named, others = {each.id for each in failures}, dict[str, str](), dict[str, Failure]()
    warnings: Counter[str] = Counter()
    for message, said in _exceptions(log):
        request = re.search(r"request (fuzz\.(\d+)\.(\d+)\.\S+) failed", message)
        if request is not None and request[1] in known:
            named[request[1]] = _place(said)
        elif request is not None:
            case, what = f"{request[2]}:{request[3]}", f"only in the log: {_place(said)}"
            others[request[1]] = Failure(case, "log", what, b"", said[-2_000:], request[1])
        elif "Traceback" in said:
            what = f"in the log: {message[:60].strip()} {_place(said)}"
            others.setdefault(what, Failure("", "log", what, b"", said[-2_000:], ""))
        else:
            warnings.update(re.findall(r"takeup/\S+ \w*Warning: .*", said) or [said[:200]])
    found = [replace(each, what=f"{each.what}: {named[each.id]}") if each.id in named else each for each in failures]
    return [*found, *others.values()], warnings


def _exceptions(log: Path) -> Iterator[tuple[str, str]]:
    """What a log says about exceptions: message and traceback; and whatever in it is no line of a log."""
    stray: list[str] = []
    for line in [*log.read_text(errors="replace").splitlines(), "{}"]:
        if not line.startswith("{"):
            stray.append(line)
            continue
        if stray:
            yield "", "\n".join(stray)
            stray = []
        if '"exception"' in line:
            said = json.loads(line)
            yield said["message"], said["exception"]


def _place(exception: str) -> str:
    """The last line of ours that an exception went through, and what it says, without the values."""
    files = re.findall(r'File "[^"]*/(takeup/[^"]+)", line (\d+), in (\S+)', exception)
    last = exception.strip().splitlines()[-1]
    where = f"{files[-1][0]}:{files[-1][1]} {files[-1][2]}: " if files else ""
    return where + re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?(e[+-]?\d+)?", "N", last)[:160]
