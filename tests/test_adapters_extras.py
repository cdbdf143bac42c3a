"""Adapters are imported one by one; without its package each says what to install."""

import subprocess
import sys


def test_adapters_need_what_they_say() -> None:
    """In a process without the packages: what needs one names the extra, and all else works."""
    code = """
import sys
missing = ["gymnasium", "openfeature", "arviz", "redcap", "mabwiser", "obp", "requests"]
sys.modules.update(dict.fromkeys(missing))
import takeup
assert not [name for name in sys.modules if name.startswith("takeup.adapters")]
from takeup.adapters import mabwiser, obp, redcap
from takeup.adapters.arviz import inference_data
for name in ("gymnasium", "openfeature"):
    try:
        __import__(f"takeup.adapters.{name}")
    except ImportError as error:
        print(error)
try:
    inference_data(takeup.TS(), takeup.Evidence.empty(takeup.Space(2)))
except ImportError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    needs = [("gymnasium", "adapters"), ("openfeature-sdk", "adapters"), ("arviz", "arviz")]
    assert ran.stdout.splitlines() == [
        f"this needs {module}, which is not installed; pip install 'takeup[{extra}]'" for module, extra in needs
    ]
