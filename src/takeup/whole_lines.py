"""Files that whole lines are appended to, each of them on the disk before anybody acts on it."""

import errno
import os
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows; there two processes must not share a file, and nothing says so
    fcntl = None  # type: ignore[assignment]  # Windows has none


def claimed(file: int) -> bool:
    """Whether an open file is this process's alone, from now until it closes it or ends."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def append(file: int, data: bytes, *, sync: bool = True) -> None:
    """Append lines and wait for the disk; lines that are not written in full are taken back.

    Args:
        file: an open file.
        data: whole lines.
        sync: whether to wait until the disk has them; a power failure may lose them otherwise.

    Raises:
        OSError: the disk is full, or broken. Nothing was appended.
    """
    before = os.fstat(file).st_size
    try:
        if os.write(file, data) != len(data):
            raise OSError(errno.ENOSPC, "the disk did not take a whole line")
        if sync:
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
