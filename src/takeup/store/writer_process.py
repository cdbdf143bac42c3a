"""A writer in a process of its own: how it is asked, watched and replaced. `writer_child` is what it runs.

In one process the threads that answer and that write share one interpreter, and wait for each other many times in a
transaction. In two, each has a processor for itself.
"""

import logging
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection

from takeup.errors import StoreError
from takeup.pipes import Line, packed, running
from takeup.store.group import Reply, Task
from takeup.store.slate import Slate
from takeup.store.sqlite import OpenFile
from takeup.store.writer import Writer
from takeup.trial.computing import BY, ComputingLimits
from takeup.trial.steering import Move

LOG = logging.getLogger("takeup.store")

MODULE = "takeup.store.writer_child"
MOST_DEATHS = 3
"""How often the process may end, time after time, while it computes for one trial, before that trial is paused."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Seconds after which the process is taken to hang, and is killed.

    Attributes:
        opening: for the database to be opened again. The first time has none: migrations may take long.
        exchange: for an answer; a database that is locked is given up much earlier.
        computing: for one policy to compute; what can be interrupted is interrupted much earlier.
        closing: for the process to finish when the store is closed.
    """

    opening: float = 60.0
    exchange: float = 60.0
    computing: float = 10.0
    closing: float = 30.0

    @classmethod
    def of(cls, limits: ComputingLimits) -> "Deadlines":
        """Well above what policies may compute."""
        return cls(computing=10 * limits.decision, exchange=max(60.0, 6 * limits.together))


class WriterProcess:
    """A `Writer` in another process, which is started again when it dies or hangs.

    Args:
        opening: opens the writer, there: a function of a module, or a `functools.partial` of one.
        file: the database's file, where it has one; another file in its place is not opened.
        limits: how much policies may compute there.
        deadlines: when it is taken to hang; what goes with the limits where left out.
    """

    def __init__(
        self,
        opening: Callable[[], Writer],
        file: OpenFile | None = None,
        limits: ComputingLimits = ComputingLimits(),
        deadlines: Deadlines | None = None,
    ) -> None:
        self._command, self._opening = running(MODULE), opening
        self._file, self._limits, self._deadlines = file, limits, deadlines or Deadlines.of(limits)
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Line | None = None
        self._closed = False
        self._memory = tempfile.TemporaryFile()  # noqa: SIM115  # both processes have it open until the end
        self._slate = Slate(self._memory.fileno())
        self._deaths: Counter[str] = Counter()
        self._guilty: dict[str, str] = {}
        # The process ends with the thread that started it, so that thread has to stay.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="takeup-starter")
        try:
            self._start(None)
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int | None:
        """The process's number, while there is one."""
        return None if self._process is None else self._process.pid

    def run(self, tasks: Sequence[Task]) -> list[Reply]:
        """Run commands there; trials that were found to hang it are paused first."""
        moves = [(trial, Move(state="paused", reason=reason, by=BY)) for trial, reason in self._guilty.items()]
        try:
            replies: list[Reply] = self._ask("run", [*moves, *tasks])
        except StoreError as error:
            return [(None, StoreError(str(error))) for _ in tasks]  # one each: whoever raises it adds to its traceback
        except Exception as error:  # a command that cannot be pickled, which nobody foresaw
            return [(None, error) for _ in tasks]
        for (trial, _), (_, failed) in zip(moves, replies, strict=False):
            if not isinstance(failed, StoreError):  # it is paused, or was not running any more
                LOG.error("trial %s was paused: %s", trial, self._guilty.pop(trial))
        return replies[len(moves) :]

    def change(self, change: Callable[[Connection], Result]) -> Result:
        """Run `change` there; it and what it returns can be pickled."""
        return self._reply("change", change)  # type: ignore[no-any-return]  # a pipe cannot say what comes out of it

    def probe(self) -> list[str]:
        """Make a real write there; what is wrong besides."""
        return self._reply("probe", None)  # type: ignore[no-any-return]  # likewise

    def rest(self) -> None:
        """Wait until it has rested, if it is alive."""
        if self._process is not None:
            with suppress(StoreError):
                self._exchange(("rest", None), self._deadlines.exchange)

    def kill(self) -> None:
        """End the process in the midst of what it is doing, from any thread; another one is not started."""
        self._closed = True
        process = self._process
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End the process, after what it is doing."""
        self._closed = True
        process, self._process = self._process, None
        if process is not None:
            self._bury(process, self._deadlines.closing)
        self._starter.shutdown(wait=False)
        self._memory.close()

    def _reply(self, what: str, content: object) -> Any:
        """The one reply to a request, or the error that it ended in."""
        ((reply, error),) = self._ask(what, content)
        if error is not None:
            raise error
        return reply

    def _ask(self, what: str, content: object) -> Any:
        """Send a request and return the answer; where the process has died before, start another one first."""
        if self._closed:
            raise StoreError("the process that writes has been ended")
        if self._process is not None and self._process.poll() is not None:
            self._bury(self._process)
        if self._process is None:
            try:
                self._start(self._deadlines.opening)
            except Exception as error:  # whatever it is, it is no fault of whoever asks
                raise StoreError(f"the process that writes cannot be started: {error}") from error
        try:
            answer = self._exchange((what, content), self._deadlines.exchange)
        except StoreError as error:
            raise StoreError(f"{error}; ask again under the same idempotency key") from error
        self._deaths.clear()
        return answer

    def _start(self, seconds: float | None) -> None:
        """Start the process, and wait until it has opened the database."""
        if self._file is not None:
            self._file.reopen()
        self._slate.write("")
        memory = self._memory.fileno()
        process = self._starter.submit(
            subprocess.Popen,
            [*self._command, str(memory)],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(memory,),
            start_new_session=True,  # Ctrl-C is for this process
        ).result()
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        self._process, self._line = process, Line(process.stdin, process.stdout)
        failed = self._exchange((self._opening, self._limits), seconds)
        if failed is None and self._file is not None:
            try:
                self._file.check()
            except StoreError as error:
                failed = error
        if failed is not None:
            self._bury(process, self._deadlines.closing)
            raise failed

    def _exchange(self, content: object, seconds: float | None) -> Any:
        process, line = self._process, self._line
        assert process is not None
        assert line is not None
        until = None if seconds is None else time.monotonic() + seconds
        question = packed(content)
        try:
            return line.ask(question, lambda: self._check(until))
        except TimeoutError as error:
            said = str(error)
        except (OSError, EOFError):
            said = "the process that writes has ended"
            written = self._slate.read()
            if written is not None:
                self._deaths[written.trial] += 1
                if self._deaths[written.trial] >= MOST_DEATHS:
                    self._guilty[written.trial] = f"the process that decides ended {MOST_DEATHS} times in its policy"
        except BaseException:
            process.kill()  # or its answer would be taken for that to the next question
            raise
        self._bury(process)
        raise StoreError(said)

    def _check(self, until: float | None) -> None:
        """Whether it is too late for an answer; where a policy is why, its trial is to be paused."""
        written, most = self._slate.read(), self._deadlines.computing
        if written is not None and written.seconds > most:
            self._guilty[written.trial] = f"a decision took more than {most:g} s, and could not be interrupted"
            raise TimeoutError("the process that writes hung in the policy of a trial, and was ended")
        if until is not None and time.monotonic() > until:
            raise TimeoutError("the process that writes did not answer in time, and was ended")

    def _bury(self, process: subprocess.Popen[bytes], patience: float = 0.0) -> None:
        """Make sure that a process has ended, and clean up after it; some patience lets it end by itself."""
        self._process = self._line = None
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # one that waits for a disk that hangs cannot even be killed
            process.wait(self._deadlines.closing)
        if process.returncode != 0:
            LOG.error("the process that writes (%d) ended with %s", process.pid, process.returncode)
