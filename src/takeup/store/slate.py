"""A slate between two processes: one writes what it computes, and the other looks at it when that takes long."""

import os
import struct
import time
from typing import NamedTuple

_CONTENT = struct.Struct("d64s")


class Written(NamedTuple):
    """What is on a slate.

    Attributes:
        trial: whose policy computes.
        seconds: for how long it has done so.
    """

    trial: str
    seconds: float


class Slate:
    """A file that both have open.

    Args:
        file: its descriptor.
    """

    def __init__(self, file: int) -> None:
        self._file = file

    def write(self, trial: str) -> None:
        """A policy begins to compute for this trial; where the name is empty, none does."""
        os.pwrite(self._file, _CONTENT.pack(time.monotonic(), trial.encode()), 0)

    def read(self) -> Written | None:
        """What is being computed; None where nothing is."""
        content = os.pread(self._file, _CONTENT.size, 0)
        if len(content) < _CONTENT.size:
            return None
        since, name = _CONTENT.unpack(content)
        trial = name.rstrip(b"\0").decode(errors="replace")
        return Written(trial, time.monotonic() - since) if trial else None
