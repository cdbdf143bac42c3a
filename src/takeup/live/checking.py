"""The process in which specs are checked: a fork for each, with limits of its own, which leaves nothing behind."""

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from takeup import logs
from takeup.errors import InputError, TakeupError
from takeup.live import trial_run
from takeup.pipes import lower_priority, packed, standard, unpacked
from takeup.policies.registry import kinds

CPU_SECONDS = 5
"""What checking a spec may take of the processor, trial run and all."""
WALL_SECONDS = 90
"""And of anybody's time, on a machine so busy that what gives way gets a tenth of a core; then it was no fault of the
spec."""
MEMORY = 512 * 1024**2
"""How many bytes it may take."""
ALLOWED = f"at most {CPU_SECONDS} s of computing and {MEMORY // 1024**2} MB of memory"

LOG = logging.getLogger("takeup.live")


def attend(tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Check what comes, each in a fork, until whoever asks has ended."""
    with suppress(EOFError, BrokenPipeError):
        while True:
            answers.write(_forked(unpacked(tasks)))
            answers.flush()


def _forked(check: Callable[[], Any]) -> bytes:
    """The answer of a fork, packed; or why there is none."""
    if not hasattr(os, "fork"):
        return packed(_checked(check))
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            _limit()
            with os.fdopen(write, "wb") as pipe:
                pipe.write(packed(_checked(check)))
        finally:
            os._exit(0)  # without what only the process itself should clean up
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        content = pipe.read()
    _, status = os.waitpid(child, 0)
    if status == 0 and content:
        return content
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return packed((None, TimeoutError(f"it took longer than {WALL_SECONDS} seconds")))
    hint = "lower draws and what the policy repeats, or merge contexts, proposals, actions or outcomes"
    return packed((None, InputError("spec", "one that takes more to check", ALLOWED, hint)))


def _checked(check: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return check(), None
    except TakeupError as error:
        return None, error
    except MemoryError:
        return None, InputError("spec", "one that takes more memory", ALLOWED)
    except Exception as error:  # what nobody foresaw is refused as well: nobody knows what would come of it
        LOG.exception("while checking a spec")
        return None, InputError("spec", f"one that ends in {type(error).__name__}: {error}", "one that can be checked")


def _limit() -> None:
    """The limits of a fork: of computing and of time, which end it, and of memory, which it meets as a MemoryError."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    with suppress(OSError):  # not every system tells what is in use
        in_use = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (in_use + MEMORY, in_use + MEMORY))
    trial_run.limit()


def main() -> None:
    """Check specs until the input ends, which it does with whoever asks; signals are for them."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    lower_priority()
    logs.configure(sys.stderr)
    kinds()  # looks for the policies of other packages once for all forks
    gc.collect()
    gc.freeze()
    attend(*standard())


if __name__ == "__main__":
    main()
