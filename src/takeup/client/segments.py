"""Rows on this machine's disk, in files that are closed, sent and deleted one after the other.

A folder has one file that is written to, `NAME.open`, and files that never change again, `NAME.rows`, each of them a
batch under its name. A file is blocks: a line with a checksum, and the rows that it is of. A block that a crash cut off
was never acknowledged; it is recognised, and dropped with all that follows.
"""

import json
import logging
import os
import secrets
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from takeup import whole_lines
from takeup.errors import InputError

LOG = logging.getLogger("takeup.client")
OPEN, CLOSED, REFUSED, DAMAGED = ".open", ".rows", ".refused", ".damaged"
CLAIM = "spool.json"
_DIGITS = 10
"""How many digits the number of a file has: names sort as they were made."""


class Segments:
    """The rows of one trial that one process decided and reported, until the service has them.

    One thread appends and rolls; another may look at closed files, and delete them.

    Args:
        folder: where the files are; it is made where it is not there, and one process at a time may have it.
        trial: the trial that the rows are of.
        sync: whether a block is on the disk when `append` returns; without it, when its file is closed.
    """

    def __init__(self, folder: str | Path, trial: str, *, sync: bool) -> None:
        if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
            raise InputError("spool", repr(folder), "a folder for what the service has not got yet")
        self.folder, self._sync = Path(folder), sync
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._claim = os.open(self.folder / CLAIM, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError("spool", str(folder), f"a folder that can be written to ({error.strerror})") from None
        self._file: int | None = None
        self._path: Path | None = None
        self.rows = self.bytes = 0
        try:
            self._check(trial)
            self._recover()
            self._number = 1 + max((int(path.name[:_DIGITS]) for path in self._all()), default=0)
        except BaseException:
            os.close(self._claim)
            raise

    def append(self, rows: bytes, count: int) -> None:
        """Add rows, which are whole lines, to the file that is written to.

        Raises:
            OSError: the disk is full, or broken. Nothing was appended.
        """
        file = self._begun() if self._file is None else self._file
        block = b"# %08x %d\n%b" % (zlib.crc32(rows), len(rows), rows)
        whole_lines.append(file, block, sync=self._sync)
        self.rows += count
        self.bytes += len(rows)

    def roll(self) -> None:
        """Close the file that is written to: from then on it can be sent.

        Raises:
            OSError: the disk is full, or broken. What is left to do is done when it is called again.
        """
        if self._file is not None:
            os.fsync(self._file)
            self._let_go()
        if self._path is not None:
            self._rename(self._path, CLOSED)
            self._path, self.rows, self.bytes = None, 0, 0

    @property
    def age(self) -> float:
        """For how many seconds the file that is written to has had rows."""
        return 0.0 if self._path is None else time.monotonic() - self._since

    @property
    def writing(self) -> bool:
        """Whether there is a file that is written to, or could not be closed."""
        return self._path is not None

    def closed(self) -> list[Path]:
        """What can be sent, oldest first."""
        return sorted(self.folder.glob(f"*{CLOSED}"))

    def kept(self) -> list[Path]:
        """What was refused or damaged, and is kept for people to look at."""
        return sorted((*self.folder.glob(f"*{REFUSED}"), *self.folder.glob(f"*{DAMAGED}")))

    def body(self, path: Path) -> bytes:
        """All rows of a closed file; those before the damage, where something has damaged it."""
        content = path.read_bytes()
        blocks = list(_blocks(content))
        if sum(size for size, _ in blocks) < len(content):
            LOG.error("%s is damaged; what follows the first %d blocks cannot be sent", path, len(blocks))
        return b"".join(rows for _, rows in blocks)

    def sent(self, path: Path) -> None:
        """Delete a file whose rows the service has; one that was damaged is kept for people to look at."""
        with suppress(FileNotFoundError):  # another process had the folder meanwhile, and has sent it too
            if sum(size for size, _ in _blocks(path.read_bytes())) < path.stat().st_size:
                self._rename(path, DAMAGED)
            else:
                path.unlink()

    def refuse(self, path: Path) -> Path:
        """Keep a file that the service does not take, for people to look at; where it is now."""
        return self._rename(path, REFUSED)

    def close(self) -> None:
        """Close the file that is written to, and let others have the folder, who close what cannot be closed now."""
        try:
            self.roll()
        except OSError as error:
            LOG.error("%s cannot be closed: %s", self._path, error)
        self.leave()

    def leave(self) -> None:
        """Let others have the folder, as far as this process is concerned, and change nothing in it."""
        with suppress(OSError):
            self._let_go()
        claim, self._claim = self._claim, -1
        with suppress(OSError):
            os.close(claim)

    def _check(self, trial: str) -> None:
        if not whole_lines.claimed(self._claim):
            raise InputError("spool", str(self.folder), "a folder that no other process is using")
        said = os.pread(self._claim, 10_000, 0)
        try:
            known = json.loads(said)["trial"] if said else None
        except (ValueError, KeyError, TypeError):
            known = None  # a crash cut it off: nothing was recorded under it
        if known is None or (known != trial and not self._all()):  # nothing of that trial is left, or ever was
            os.ftruncate(self._claim, 0)
            os.pwrite(self._claim, json.dumps({"trial": trial}).encode() + b"\n", 0)
            os.fsync(self._claim)
            whole_lines.sync_folder(self.folder)
        elif known != trial:
            hint = f"it has rows of trial {known}, which an edge of that trial sends; give this one another folder"
            raise InputError("spool", str(self.folder), f"a folder for trial {trial}", hint)

    def _all(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if path.name[:_DIGITS].isdecimal()]

    def _recover(self) -> None:
        """Close what another process left open, without an end that a crash cut off."""
        for path in self.folder.glob(f"*{OPEN}"):
            content = path.read_bytes()
            whole = sum(size for size, _ in _blocks(content))
            if not whole:
                path.unlink()
                continue
            if whole < len(content):
                LOG.warning("%s ends in %d bytes that were never acknowledged", path, len(content) - whole)
            with path.open("r+b") as file:
                file.truncate(whole)
                os.fsync(file.fileno())
            self._rename(path, CLOSED)

    def _begun(self) -> int:
        """A new file to write to."""
        self.roll()  # where one could not be renamed
        path = self.folder / f"{self._number:0{_DIGITS}d}-{secrets.token_hex(8)}{OPEN}"
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._path, self._since = path, time.monotonic()
        self._number += 1
        if self._sync:
            whole_lines.sync_folder(self.folder)
        return self._file

    def _let_go(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _rename(self, path: Path, suffix: str) -> Path:
        to = path.with_suffix(suffix)
        path.replace(to)
        whole_lines.sync_folder(self.folder)
        return to


def _blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The size and the rows of each block, until one is not whole."""
    at = 0
    while content[at : at + 2] == b"# ":
        head = content.find(b"\n", at, at + 64)
        said = content[at + 2 : head].split()
        if head < 0 or len(said) != 2:
            return
        try:
            check, size = int(said[0], 16), int(said[1])
        except ValueError:
            return
        rows = content[head + 1 : head + 1 + size]
        if size <= 0 or len(rows) != size or zlib.crc32(rows) != check:
            return
        yield head + 1 + size - at, rows
        at = head + 1 + size
