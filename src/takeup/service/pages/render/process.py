"""The process that renders pages, so that the one that decides need not: how it is asked, and what it answers."""

import asyncio
import gzip
import os
import pickle
from dataclasses import dataclass
from typing import Any

from takeup.errors import TakeupError
from takeup.pipes import HEAD, packed, running
from takeup.trial.book import Book

MODULE = "takeup.service.pages.render.child"
PATIENCE = 60.0
"""How many seconds a rendering may take."""

NICE = 10
"""Its niceness. At 19 a busy machine would leave it next to nothing, and pages would wait for minutes."""


@dataclass(frozen=True, slots=True)
class RenderTask:
    """What to render.

    Attributes:
        trial: which trial.
        at: what time it is.
        full: the whole dashboard, or its brief alone.
        database: where the trial is.
        book: the trial itself, with its late outcomes, where no other process can open the database.
    """

    trial: str
    at: int
    full: bool
    database: str
    book: tuple[Book, int] | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """A trial in two lines.

    Attributes:
        standing: which proposal is best, and how surely.
        warnings: what to know before anything else.
    """

    standing: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a page shows of one state of a trial.

    Attributes:
        sequence: the trial's last event in it.
        at: when it was rendered, in microseconds since 1970, UTC.
        lasts: whether it stays right as long as nothing happens; outcomes can become late by themselves.
        brief: the trial in two lines; None for blinded readers.
        html: the dashboard; empty where the brief alone was asked for.
        packed: the same, as gzip.
        failed: why there is no dashboard, where there is none.
        seconds: of a processor that it took.
        state: the trial's, as rendered; empty where there is no dashboard.
    """

    sequence: int
    at: int
    lasts: bool = True
    brief: Brief | None = None
    html: bytes = b""
    packed: bytes = b""
    failed: str | None = None
    seconds: float = 0.0
    state: str = ""

    @classmethod
    def of(cls, html: str, **known: Any) -> "Rendered":
        """With its HTML compressed as well."""
        content = html.encode()
        return cls(html=content, packed=gzip.compress(content, 5), **known)


class RenderError(TakeupError):
    """A trial was not rendered."""


class RenderProcess:
    """One child process: it starts with the first task, is replaced when it dies, and ends when its input closes."""

    def __init__(self, command: tuple[str, ...] = running(MODULE), patience: float = PATIENCE) -> None:
        self._command, self._patience = command, patience
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """Its number, while it runs."""
        return None if self._process is None or self._process.returncode is not None else self._process.pid

    async def ask(self, task: RenderTask) -> Rendered:
        """Have a task done; one at a time.

        Raises:
            RenderError: it was not done.
        """
        async with self._turn:
            try:
                process = await self._started()
                answer = await asyncio.wait_for(_exchange(process, task), self._patience)
            except TimeoutError:
                await self._end()
                raise RenderError(f"rendering took longer than {self._patience:g} seconds") from None
            except (OSError, EOFError) as error:
                await self._end()
                raise RenderError(f"the process that renders has ended ({error or type(error).__name__})") from error
            except BaseException:
                await self._end()  # or it would answer the next task with this one's rendering
                raise
        if isinstance(answer, Rendered):
            return answer
        raise RenderError(str(answer))

    async def close(self) -> None:
        """End the process."""
        await self._end()

    async def _started(self) -> asyncio.subprocess.Process:
        if self.pid is None:
            self._process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
        assert self._process is not None
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            process.kill()
            await process.wait()


async def _exchange(process: asyncio.subprocess.Process, task: RenderTask) -> Any:
    assert process.stdin is not None  # both are pipes
    assert process.stdout is not None
    process.stdin.write(packed(task))
    await process.stdin.drain()
    (size,) = HEAD.unpack(await process.stdout.readexactly(HEAD.size))
    return pickle.loads(await process.stdout.readexactly(size))  # our own process wrote it


def lower_priority() -> None:
    """Give way to the processes that decide."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # it never interrupts others when it wakes
