"""What the attacks on earlier versions found: the tests that hold the cause of each, again and again."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

from gates.gate import Found, Gate, Run
from gates.scene import defective

TESTS = Path(__file__).parent.parent / "tests"
FILES = (
    "test_service_hostile.py",
    "test_service_crowding.py",
    "test_service_connections.py",
    "test_service_tls.py",
    "test_service_bodies.py",
    "test_service_blinding.py",
    "test_service_scopes.py",
    "test_service_keys.py",
    "test_pages_hostile.py",
    "test_pages_scopes.py",
    "test_people.py",
    "test_store_secrets.py",
    "test_store_sealing.py",
    "test_store_file.py",
    "test_store_deadlines.py",
    "test_trial_run.py",
    "test_trial_trust.py",
    "test_trial_audit.py",
    "test_trial_audit_database.py",
    "test_trial_anchors.py",
)
"""Those that docs/reliability.md stands on, under What was broken into."""
SECONDS = 3_600


def closed(run: Run, *defects: str) -> Found:
    """All of these tests, so many times."""
    count = 0
    for number in range(run.times):
        told = run.folder / f"{number}.xml"
        command = [sys.executable, "-m", "pytest", "--numprocesses=0", "-q", f"--junitxml={told}"]
        command += [
            "-W",
            "ignore::pytest.PytestAssertRewriteWarning",
        ]  # a defect imports the service before pytest does
        files = FILES[:1] if defects else FILES
        done = subprocess.run(
            [*command, *(str(TESTS / name) for name in files)],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, **(defective(*defects) if defects else {})},
        )
        found = ElementTree.parse(told).getroot().findall(".//testcase")  # pytest has just written it
        broken = [
            each.get("name") for each in found if each.find("failure") is not None or each.find("error") is not None
        ]
        left = [each for each in found if each.find("skipped") is not None]
        if broken or done.returncode or not found:
            why = f"{len(broken)} of {len(found)} fail, the first: {broken[0]}" if broken else done.stdout[-200:]
            return Found(False, f"round {number + 1}: {why}")
        count += len(found) - len(left)
        run.step(number + 1, "rounds")
    return Found(True, f"{count:,} tests of {len(FILES)} files, none fails")


def trusting(run: Run) -> Found:
    """JSON is read as Python reads it."""
    return closed(run, "trusting")


GATES = (
    Gate(
        name="closed",
        part="attacks",
        shows="what attacks on earlier versions found stays closed: the tests of every row of What was broken into",
        unit="rounds",
        times=5,
        suite=0,
        run=closed,
        without="the strict reading of JSON",
        control=trusting,
    ),
)
