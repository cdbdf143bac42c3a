"""The process that writes: it opens a writer, does what is asked of it, and ends with whoever asks."""

import ctypes
import gc
import logging
import pickle
import resource
import signal
import sys
from typing import IO, Any

from takeup import logs
from takeup.errors import TakeupError
from takeup.pipes import packed, standard, unpacked
from takeup.store.group import Reply
from takeup.store.slate import Slate
from takeup.store.writer import Writer
from takeup.trial.computing import METER

LOG = logging.getLogger("takeup.store")

MEMORY = 4 << 30
"""How many bytes of memory the process may have: a policy that wants more fails, and nothing else on the machine."""

DEATH_SIGNAL = 1
"""Linux's PR_SET_PDEATHSIG: what a process gets when the thread that started it ends."""


def attend(tasks: IO[bytes], answers: IO[bytes], slate: Slate) -> None:
    """Open a writer and do what is asked of it, until whoever asks has ended.

    Args:
        tasks: where requests come from; the first is what opens the writer, and how much policies may compute.
        answers: where answers go.
        slate: where to write what they compute.
    """

    def answer(value: object) -> None:
        answers.write(packed(value))
        answers.flush()

    try:
        opening, limits = unpacked(tasks)
        METER.limit(limits, slate.write)
        try:
            writer = opening()
        except Exception as error:  # it is told where it was asked for
            answer(_portable(error))
            return
        gc.collect()
        gc.freeze()  # what was imported stays for ever, and need not be looked at again
        try:
            answer(None)
            while True:
                what, content = unpacked(tasks)
                answer(_done(writer, what, content))
        finally:
            writer.close()
    except (EOFError, BrokenPipeError):
        return  # whoever asked has ended


def _done(writer: Writer, what: str, content: Any) -> list[Reply]:
    """Do what is asked; the replies, as they can cross a pipe."""
    if what == "rest":
        writer.rest()
        return []
    if what == "run":
        return [(reply, _told(error)) for reply, error in writer.run(content)]
    try:
        return [(writer.probe() if what == "probe" else writer.change(content), None)]
    except Exception as error:
        return [(None, _told(error))]


def _told(error: Exception | None) -> Exception | None:
    """An error as it can cross a pipe; one that nobody foresaw is logged here, where its traceback is."""
    if error is not None and not isinstance(error, TakeupError):
        LOG.error("while writing", exc_info=error)
    return None if error is None else _portable(error)


def _portable(error: Exception) -> Exception:
    """The error, or its words where it cannot cross a pipe."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Write until the input ends, which it does with whoever asks; signals are for them."""
    _end_with_parent()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    logs.configure(sys.stderr)
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most), most))
    attend(*standard(), Slate(int(sys.argv[1])))


def _end_with_parent() -> None:
    """Have the system kill this process when its parent dies: one that was stopped would keep the database locked."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    main()
