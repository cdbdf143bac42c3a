"""A writer in a process of its own: what asks it, and what the process runs.

In one process the threads that answer and that write share one interpreter, and wait for each other many times in a
transaction. In two, each has a processor for itself.
"""

import gc
import logging
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, TypeVar

from sqlalchemy import Connection

from takeup import logs
from takeup.errors import StoreError, TakeupError
from takeup.pipes import packed, running, standard, unpacked
from takeup.store.writer import Reply, Task, Writer

LOG = logging.getLogger("takeup.store")
CLOSE_SECONDS = 30.0
"""How long the process may take to finish when the store is closed."""

Result = TypeVar("Result")


class WriterProcess:
    """A `Writer` in another process, which is started again when it dies.

    Args:
        opening: opens the writer, there: a function of a module, or a `functools.partial` of one.
    """

    def __init__(self, opening: Callable[[], Writer]) -> None:
        self._command, self._opening = running("takeup.store.writer_process"), opening
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    @property
    def pid(self) -> int | None:
        """The process's number, while there is one."""
        return None if self._process is None else self._process.pid

    def run(self, tasks: Sequence[Task]) -> list[Reply]:
        """Run commands there."""
        try:
            replies: list[Reply] = self._ask("run", tasks)
        except StoreError as error:
            return [(None, StoreError(str(error))) for _ in tasks]  # one each: whoever raises it adds to its traceback
        except Exception as error:  # a command that cannot be pickled, which nobody foresaw
            return [(None, error) for _ in tasks]
        return replies

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Run `change` there; it and what it returns can be pickled."""
        ((reply, error),) = self._ask("change", change)
        if error is not None:
            raise error
        return reply  # type: ignore[no-any-return]  # a pipe cannot say what comes out of it

    def rest(self) -> None:
        """Wait until it has rested, if it is alive."""
        if self._process is not None:
            with suppress(StoreError):
                self._exchange(self._process, ("rest", None))

    def close(self) -> None:
        """End the process, after what it is doing."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if process.returncode:
            LOG.error("the process that writes (%d) ended with %d", process.pid, process.returncode)

    def _ask(self, what: str, content: object) -> Any:
        """Send a request and return the answer; where the process has died before, start another one first."""
        if self._process is not None and self._process.poll() is not None:
            self._bury(self._process)
        if self._process is None:
            try:
                self._start()
            except Exception as error:  # whatever it is, it is no fault of whoever asks
                raise StoreError(f"the process that writes cannot be started: {error}") from error
        assert self._process is not None
        return self._exchange(self._process, (what, content))

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for this process
        )
        failed = self._exchange(self._process, self._opening)
        if failed is not None:
            self.close()
            raise failed

    def _exchange(self, process: subprocess.Popen[bytes], content: object) -> Any:
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        question = packed(content)
        try:
            process.stdin.write(question)
            process.stdin.flush()
            return unpacked(process.stdout)
        except (OSError, EOFError) as error:
            self._bury(process)
            raise StoreError("the process that writes has ended; ask again under the same idempotency key") from error

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """Clean up after a process that has died."""
        self._process = None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()  # with what nobody took
        LOG.error("the process that writes (%d) ended with %d", process.pid, process.wait())


def attend(tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Open a writer and do what is asked of it, until whoever asks has ended.

    Args:
        tasks: where requests come from; the first is what opens the writer.
        answers: where answers go.
    """

    def answer(value: object) -> None:
        answers.write(packed(value))
        answers.flush()

    try:
        opening = unpacked(tasks)
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
        return [(writer.change(content), None)]
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
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    logs.configure(sys.stderr)
    attend(*standard())


if __name__ == "__main__":
    main()
