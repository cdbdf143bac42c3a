"""A writer in a process of its own.

In one process the threads that answer and that write share one interpreter, and wait for each other many times in a
transaction. Apart, each has a processor for itself.
"""

import logging
import pickle
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, TypeVar

from sqlalchemy import Connection

from takeup.errors import StoreError, TakeupError
from takeup.pipes import packed, unpacked
from takeup.store.group import Job
from takeup.store.writing import Writer

LOG = logging.getLogger("takeup.store")
PATIENCE = 30.0
"""So many seconds the process has to finish, when nobody wants anything of it any more."""

Result = TypeVar("Result")


class Apart:
    """A writer that another process is, which is replaced when it dies.

    Args:
        command: starts a process that answers its input by `attend`.
        setting: the first thing that it is told.
    """

    def __init__(self, command: Sequence[str], setting: object) -> None:
        self._command, self._setting = command, setting
        self._process: subprocess.Popen[bytes] | None = None
        self._start()

    @property
    def pid(self) -> int | None:
        """The process's number, while there is one."""
        return None if self._process is None else self._process.pid

    def run(self, jobs: Sequence[Job]) -> None:
        """Have the commands run, and pass on what became of them."""
        try:
            replies = self._ask("run", [(job.trial, job.command) for job in jobs])
        except StoreError as error:
            replies = [(None, StoreError(str(error))) for _ in jobs]
        except Exception as error:  # a command that cannot be pickled, which nobody foresaw
            replies = [(None, error) for _ in jobs]
        for job, (reply, failed) in zip(jobs, replies, strict=True):
            if failed is None:
                job.promise.set_result(reply)
            else:
                job.promise.set_exception(failed)

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Have `change` run; it and what it returns can be pickled."""
        ((reply, failed),) = self._ask("change", change)
        if failed is not None:
            raise failed
        return reply  # type: ignore[no-any-return]  # a pipe cannot say what comes out of it

    def rest(self) -> None:
        """Wait until it has rested; one that has died rests."""
        if self._process is not None:
            with suppress(StoreError):
                self._exchange(self._process, ("rest", None))

    def close(self) -> None:
        """Let it finish."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        if process.returncode:
            LOG.error("the process that writes (%d) ended with %d", process.pid, process.returncode)

    def _ask(self, what: str, content: object) -> Any:
        """What it answers; where it had died before it was asked, another one is."""
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
        failed = self._exchange(self._process, self._setting)
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
        """Let go of a process that has died."""
        self._process = None
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()  # with what nobody took
        LOG.error("the process that writes (%d) ended with %d", process.pid, process.wait())


def attend(opening: Callable[[Any], Writer], tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Write what others ask for, until they ask no more.

    Args:
        opening: makes a writer of the setting.
        tasks: where requests come from; the end of it is the end of whoever asks.
        answers: where answers go.
    """

    def answer(value: object) -> None:
        answers.write(packed(value))
        answers.flush()

    try:
        setting = unpacked(tasks)
        try:
            writer = opening(setting)
        except Exception as error:  # it is told where it was asked for
            answer(_portable(error))
            return
        try:
            answer(None)
            while True:
                what, content = unpacked(tasks)
                answer(_done(writer, what, content))
        finally:
            writer.close()
    except (EOFError, BrokenPipeError):
        return  # whoever asked has ended


def _done(writer: Writer, what: str, content: Any) -> list[tuple[Any, Exception | None]] | None:
    if what == "rest":
        writer.rest()
        return None
    promises = [_Promise() for _ in content] if what == "run" else [_Promise()]
    if what == "run":
        writer.run([Job(trial, command, promise) for (trial, command), promise in zip(content, promises, strict=True)])
    else:
        promises[0].keep(lambda: writer.change(content))
    return [(promise.reply, promise.failed) for promise in promises]


class _Promise:
    """Where a reply waits until all of them go out."""

    reply: Any = None
    failed: Exception | None = None

    def set_running_or_notify_cancel(self) -> bool:
        return True

    def set_result(self, result: Any, /) -> None:
        self.reply = result

    def set_exception(self, exception: BaseException, /) -> None:
        if not isinstance(exception, TakeupError):
            LOG.error("while writing", exc_info=exception)
        self.failed = _portable(exception)

    def keep(self, work: Callable[[], Any]) -> None:
        try:
            self.set_result(work())
        except Exception as error:
            self.set_exception(error)


def _portable(error: BaseException) -> Exception:
    """The error, or its words where it cannot cross a pipe."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error if isinstance(error, Exception) else RuntimeError(repr(error))
