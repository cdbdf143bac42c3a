"""How takeup was started, so that the commands it prints can be typed where they are read."""

import shlex
import shutil
import sys
from pathlib import Path


def command(*arguments: object) -> str:
    """A command line of takeup with these arguments, as a shell takes it here."""
    return shlex.join([*_program(), *map(str, arguments)])


def _program() -> list[str]:
    """`takeup` where that is found, else the path that it was started by, else this Python with `-m takeup`."""
    started = Path(sys.argv[0])
    if started.stem != "takeup":
        return [sys.executable, "-m", "takeup"]
    found = shutil.which("takeup")
    return ["takeup"] if found is not None and Path(found).resolve() == started.resolve() else [sys.argv[0]]
