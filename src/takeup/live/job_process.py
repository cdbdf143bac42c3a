"""Work in a process of its own: the job comes as JSON on standard input, progress and result go out as JSON lines."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, Protocol

from takeup.errors import TakeupError
from takeup.pipes import lower_priority

Say = Callable[[float], None]
"""Called with how much of the work is done, from 0 to 1."""


class SayMore(Protocol):
    """The same, with what may be shown already."""

    def __call__(self, share: float, result: dict[str, Any] | None = None, /) -> None:
        """Say it."""


CPU_SECONDS = 120
"""How long each core may compute for a process: one that nobody waits for any more ends then."""
GRACE = 5
"""So many seconds after the signal that says why it ends, one that goes on is killed."""


def attend(work: Callable[[dict[str, Any], SayMore], dict[str, Any]]) -> None:
    """Do the job on standard input, at low priority.

    Lines of standard output are `{"progress": 0.5}`, with a `"result"` where some may be shown already, and at the end
    `{"result": ..}` or `{"problem": ".."}`.
    """
    lower_priority()
    if sys.platform != "win32":
        import resource

        most = CPU_SECONDS * (os.cpu_count() or 1)  # the threads of a simulation count together
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + GRACE))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # nobody reads what the signal would leave behind
    try:
        _line({"result": work(json.load(sys.stdin), _say)})
    except TakeupError as error:
        _line({"problem": str(error)})


def _say(share: float, result: dict[str, Any] | None = None, /) -> None:
    _line({"progress": share} | ({} if result is None else {"result": result}))


def _line(content: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(content) + "\n")
    sys.stdout.flush()
