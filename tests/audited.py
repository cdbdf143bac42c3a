"""Known vulnerabilities of every pin of a lock, by pip-audit: exit code 0 none, 1 some, 3 it could not tell.

python tests/audited.py PIP-AUDIT LOCK FOLDER        what is asked and found is in the folder; `make audit-dependencies`

pip-audit leaves out pins whose markers are not true where it runs, such as those for another system, and says nothing;
a name with two versions it refuses. So it is asked about parts of the lock without markers, in which names are unique.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PIN = re.compile(r"^([a-z0-9-]+)(?:\[[a-z0-9,-]+\])?==([^\s;\\]+)(?: ; ([^\\]+?))?\s*\\?$", flags=re.M)
"""The line of a pin: name, version, marker."""


def parts(lock: str) -> list[str]:
    """All pins of a lock without their markers; the second version of a name is in the second part."""
    made: list[dict[str, str]] = []
    for entry in re.split(r"(?<!\\)\n", lock.strip()):
        ((name, _, marker),) = PIN.findall(entry)
        if all(name in part for part in made):
            made.append({})
        part = next(part for part in made if name not in part)
        part[name] = entry.replace(f" ; {marker}", "", 1) if marker else entry
    return ["\n".join(part.values()) + "\n" for part in made]


def told(lock: str, asked: Sequence[tuple[Path, int]]) -> tuple[int, str]:
    """The exit code and what to say, from files of findings, there where the database was reached, and exit codes."""
    audited, lines = list[dict[str, Any]](), list[str]()
    for file, code in asked:
        try:
            audited += json.loads(file.read_text(encoding="utf-8"))["dependencies"]
        except (OSError, ValueError, KeyError, TypeError):
            lines.append(f"pip-audit ended with {code} and wrote no findings.")
    known = [f"{each['name']} {each['version']}: {one['id']}" for each in audited for one in each.get("vulns", ())]
    skipped = {each["name"]: each["skip_reason"] for each in audited if "skip_reason" in each}
    there = {(each["name"], each["version"]) for each in audited if "version" in each}
    pins = {(name, version) for name, version, _ in PIN.findall(lock)}
    left = sorted(pins - there)
    lines += [f"not audited: {name} {version}: {skipped.get(name, 'not in the findings')}" for name, version in left]
    codes = ", ".join(str(code) for _, code in asked)
    lines.append(f"{len(pins)} pins, {len(known)} known vulnerabilities, {len(left)} not audited, exit codes {codes}.")
    complete = bool(pins) and not left and not any(code for _, code in asked)
    return 1 if known else 0 if complete else 3, "\n".join([*known, *lines])


def ask(tool: str, lock: str, folder: Path) -> list[tuple[Path, int]]:
    """Have pip-audit look at each part; what it wrote, and its exit codes."""
    folder.mkdir(parents=True, exist_ok=True)
    asked = []
    for i, part in enumerate(parts(lock), start=1):
        copy, found = folder / f"{i}.lock", folder / f"{i}.json"
        copy.write_text(part, encoding="utf-8")
        found.unlink(missing_ok=True)
        options = ["--progress-spinner", "off", "--disable-pip", "--require-hashes", "--format", "json"]
        command = [tool, *options, "--requirement", str(copy), "--output", str(found)]
        asked.append((found, subprocess.run(command, check=False).returncode))
    return asked


if __name__ == "__main__":
    lock = Path(sys.argv[2]).read_text(encoding="utf-8")
    code, words = told(lock, ask(sys.argv[1], lock, Path(sys.argv[3])))
    print(words)  # noqa: T201
    sys.exit(code)
