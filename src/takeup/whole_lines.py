"""Files that whole lines are appended to, each of them on the disk before anybody acts on it."""

import errno
import os
from contextlib import suppress
from pathlib import Path


def append(file: int, data: bytes) -> None:
    """Append lines and wait for the disk; lines that are not written in full are taken back.

    Raises:
        OSError: the disk is full, or broken. Nothing was appended.
    """
    before = os.fstat(file).st_size
    try:
        if os.write(file, data) != len(data):
            raise OSError(errno.ENOSPC, "the disk did not take a whole line")
        os.fsync(file)
    except OSError:
        os.ftruncate(file, before)
        raise


def unfinished(file: int, most: int = 4_096) -> bytes:
    """The end of a file after its last whole line: what a crash cut off. `most` bytes of it are looked at."""
    size = os.fstat(file).st_size
    tail = os.pread(file, most, max(0, size - most))
    return tail[tail.rfind(b"\n") + 1 :]


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names of new files too."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
