"""What pip-audit found out, of which its exit code says too little: 0 nothing known, 1 something, 3 it could not tell.

python tests/audited.py build/audit.json CODE        what it wrote, and its own exit code; for `make audit-dependencies`
"""

import json
import sys
from pathlib import Path


def told(file: Path, code: int) -> tuple[int, str]:
    """The exit code and a sentence: findings are in the file, which is there where the database was reached."""
    try:
        audited = json.loads(file.read_text(encoding="utf-8"))["dependencies"]
    except (OSError, ValueError, KeyError, TypeError):
        return 3, f"pip-audit ended with {code} and wrote no findings: nothing was found out."
    known = [f"{each['name']} {each['version']}: {one['id']}" for each in audited for one in each.get("vulns", ())]
    skipped = [f"{each['name']}: {each['skip_reason']}" for each in audited if "skip_reason" in each]
    lines = [*known, *(f"not audited: {each}" for each in skipped)]
    said = f"{len(audited)} packages, {len(known)} known vulnerabilities, {len(skipped)} not audited, exit code {code}."
    complete = not skipped and code == 0 and len(audited) > 0
    return 1 if known else 0 if complete else 3, "\n".join([*lines, said])


if __name__ == "__main__":
    found, words = told(Path(sys.argv[1]), int(sys.argv[2]))
    print(words)  # noqa: T201
    sys.exit(found)
