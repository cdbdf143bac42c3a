"""What is looked at when a service has been fuzzed: its memory, its files, its log, its trials."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fuzzing.client import Failure
from fuzzing.probe import children, writer
from serving import Served

MOST_FILES = 100
MOST_MEMORY = 1_000
"""How many more files a service may have open in the end, and how many more megabytes."""
AUDIT_SECONDS = 1_800


@dataclass(frozen=True, slots=True)
class Resources:
    """What a service has.

    Attributes:
        service: megabytes of the process that answers.
        writer: megabytes of the process that writes.
        files: descriptors that both have open.
        processes: how many processes it has started that are still there.
    """

    service: float
    writer: float
    files: int
    processes: int

    def leaks(self, after: "Resources") -> list[str]:
        """What has grown too much."""
        found = []
        if after.files > self.files + MOST_FILES:
            found.append(f"{after.files} files are open, and there were {self.files}")
        for name in ("service", "writer"):
            grown = getattr(after, name) - getattr(self, name)
            if grown > MOST_MEMORY:
                found.append(f"the {name} has grown by {grown:.0f} MB")
        return found


def resources(server: Served) -> Resources:
    """What a service has now."""
    service, write = server.process.pid, writer(server.process.pid)
    return Resources(_memory(service), _memory(write), _files(service) + _files(write), len(children(service)))


def _memory(process: int) -> float:
    with suppress(OSError):
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
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


def causes(log: Path, failures: Sequence[Failure]) -> list[Failure]:
    """The failures with what the service's log says about each; and what it says that no answer has shown."""
    logged: dict[str, str] = {}
    others: dict[str, str] = {}
    for line in log.read_text(errors="replace").splitlines():
        if '"exception"' not in line and line.startswith("{"):
            continue
        try:
            said = json.loads(line)
        except ValueError:
            if line.strip():
                others.setdefault(line[:300], line)
            continue
        request = re.search(r"request (\S+) failed", said["message"])
        place = _place(said["exception"])
        if request is None or not request[1].startswith("fuzz."):
            others.setdefault(f"{said['message'][:100]}: {place}", said["exception"])
        else:
            logged[request[1]] = place
    known = {each.id for each in failures}
    found = [replace(each, what=f"{each.what}: {logged[each.id]}") if each.id in logged else each for each in failures]
    found += [
        Failure(".".join(name.split(".")[1:3]).replace(".", ":"), "log", f"only in the log: {place}", b"", "", name)
        for name, place in logged.items()
        if name not in known
    ]
    found += [Failure("", "log", f"in the log: {what}", b"", text[-2_000:], "") for what, text in others.items()]
    return found


def _place(exception: str) -> str:
    """The last line of ours that an exception went through, and what it says, without the values."""
    files = re.findall(r'File "[^"]*/(takeup/[^"]+)", line (\d+), in (\S+)', exception)
    last = exception.strip().splitlines()[-1]
    where = f"{files[-1][0]}:{files[-1][1]} {files[-1][2]}: " if files else ""
    return where + re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", last)[:160]
