"""Other processes of this program, and values that cross the pipes to them."""

import asyncio
import os
import pickle
import select
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, TypeVar

HEAD = struct.Struct(">Q")
SLICE_SECONDS = 0.5
"""How long to wait before looking at the time."""

Result = TypeVar("Result")


def packed(value: object) -> bytes:
    """A value as it crosses a pipe: its length, and its pickle."""
    content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(content)) + content


def unpacked(pipe: IO[bytes]) -> Any:
    """The next value from a pipe that another process of ours writes to.

    Raises:
        EOFError: the pipe has ended, perhaps in the middle of a value.
    """
    head = pipe.read(HEAD.size)
    if len(head) == HEAD.size:
        (size,) = HEAD.unpack(head)
        content = pipe.read(size)
        if len(content) == size:
            return pickle.loads(content)
    raise EOFError("the other process has ended")


class Line:
    """Two pipes to another process of ours, whose answer nobody awaits for ever.

    Args:
        to: the pipe that goes there.
        back: the pipe that comes back.
    """

    def __init__(self, to: IO[bytes], back: IO[bytes]) -> None:
        self._to, self._back = to, back
        self._writable, self._readable = select.poll(), select.poll()
        self._writable.register(to, select.POLLOUT)
        self._readable.register(back, select.POLLIN)
        for pipe in (to, back):
            os.set_blocking(pipe.fileno(), False)

    def ask(self, question: bytes, check: Callable[[], None]) -> Any:
        """Send what was packed, and return the answer.

        Args:
            question: what was packed.
            check: called now and then while there is none; what it raises ends the waiting.

        Raises:
            EOFError: the other process has ended.
            OSError: likewise.
        """
        left = memoryview(question)
        while left:
            _wait(self._writable, check)
            left = left[os.write(self._to.fileno(), left) :]
        answer = self._received(HEAD.size, b"", check)
        size = HEAD.size + HEAD.unpack_from(answer)[0]
        return pickle.loads(self._received(size, answer, check)[HEAD.size :])

    def _received(self, size: int, before: bytes, check: Callable[[], None]) -> bytes:
        """At least so many bytes, with those that came before; nothing follows an answer before the next question."""
        parts, count = [before], len(before)
        while count < size:
            _wait(self._readable, check)
            parts.append(os.read(self._back.fileno(), 1 << 20))
            if not parts[-1]:
                raise EOFError("the other process has ended")
            count += len(parts[-1])
        return b"".join(parts)


def _wait(pipe: select.poll, check: Callable[[], None]) -> None:
    while not pipe.poll(SLICE_SECONDS * 1_000):
        check()


ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""What to put into the environment of a process that is to leave the other cores to those who decide."""


def running(module: str) -> tuple[str, ...]:
    """The command that runs a module of ours; nothing that lies about in the working folder is imported instead."""
    return sys.executable, "-P", "-m", module


async def attend(
    talk: Callable[["subprocess.Popen[bytes]"], Result], command: Sequence[str], stderr: int | None = None
) -> Result:
    """Start a process and talk to it, both in a thread: on a busy machine it takes long until a new process runs.

    Args:
        talk: what to do with the process, whose input and output are pipes; its end is waited for.
        command: how to start it.
        stderr: where its errors go, as `subprocess` has it.

    Raises:
        asyncio.CancelledError: nobody waits any more; the process was killed.
    """
    started: list[subprocess.Popen[bytes]] = []
    unwanted = False

    def go() -> Result:
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr) as process:
            started.append(process)
            if unwanted:
                process.kill()
            return talk(process)

    thread = asyncio.ensure_future(asyncio.to_thread(go))
    try:
        return await asyncio.shield(thread)
    except asyncio.CancelledError:
        unwanted = True
        for process in started:
            process.kill()
        with suppress(Exception):
            await thread
        raise


def standard() -> tuple[IO[bytes], IO[bytes]]:
    """This process's input and output; whatever a library prints goes to standard error from now on."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return sys.stdin.buffer, out


NICE = 10
"""The niceness of those that give way. At 19 a busy machine would leave them next to nothing: pages would wait."""


def lower_priority() -> None:
    """Give way to the processes that decide."""
    if hasattr(os, "nice"):
        os.nice(NICE)
    if hasattr(os, "SCHED_BATCH"):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))  # it never interrupts others when it wakes
