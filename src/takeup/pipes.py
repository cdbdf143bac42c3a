"""Other processes of this program, and values that cross the pipes to them."""

import os
import pickle
import struct
import sys
from typing import IO, Any

HEAD = struct.Struct(">Q")


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


def running(module: str) -> tuple[str, ...]:
    """The command that runs a module of ours; nothing that lies about in the working folder is imported instead."""
    return sys.executable, "-P", "-m", module


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
