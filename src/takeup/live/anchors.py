"""Signed anchors of a log's head, kept outside the database.

The hash chain shows any change inside a log, but not that its end was cut off, nor that somebody recomputed all of it.
An anchor does: it is the number and the hash of an event, signed with a key that the database does not hold. The
signature is HMAC-SHA256, which needs nothing but Python's standard library. Whoever can verify can also sign, so the
key belongs to those who audit; a signature that outsiders could verify (Ed25519) would need another dependency.
"""

import errno
import hashlib
import hmac
import json
import logging
import os
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from takeup import whole_lines
from takeup.errors import InputError
from takeup.key_files import read_key
from takeup.store import Writer
from takeup.store.sqlite import exposed, place
from takeup.trial.book import Book
from takeup.trial.design import canonical

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # Windows has none

LOG = logging.getLogger("takeup.live")
MICROSECONDS = 1_000_000
LOCK_SECONDS = 1.0
"""How long to wait for another process that appends."""

_BEGINNING = b'{"at":'
"""How every line begins, as their keys are in order."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """That a trial's log had this event.

    Attributes:
        trial: the trial's identifier.
        sequence: the event's number.
        hash: the event's hash, which covers all events before it.
        at: when it happened.
        signature: HMAC-SHA256 over the other fields, in hexadecimal digits.
    """

    trial: str
    sequence: int
    hash: str
    at: int
    signature: str

    @classmethod
    def of(cls, book: Book, key: bytes) -> "Anchor":
        """The anchor of a book's head."""
        return cls(
            book.trial, book.sequence, book.hash, book.at, _sign(key, book.trial, book.sequence, book.hash, book.at)
        )

    def valid(self, key: bytes) -> bool:
        """Whether the signature is that of the key."""
        return hmac.compare_digest(self.signature, _sign(key, self.trial, self.sequence, self.hash, self.at))


class Anchors:
    """A file of anchors, a line each, that a store appends to before it answers anybody.

    A line is on the disk before `saw` returns. Several processes may append to one file: each holds its lock while it
    writes. A line that a crash or a full disk cut off is cut away before the next is written. Where somebody replaces
    or deletes the file, anchors wait as they do for a full disk, and nothing is held any more.

    Args:
        path: the file, best on another machine's disk.
        key: what signs.
        seconds: the least time between two anchors of a trial that goes on; what comes in between is anchored by the
            next one, or when the store is closed. Trials whose spec says `anchored` do not wait.
    """

    def __init__(self, path: str | Path, key: bytes, seconds: float = 0.0) -> None:
        self.path = Path(path)
        self._key = key
        self._pause = int(seconds * MICROSECONDS)
        self._written: dict[str, Anchor] = {}
        self._waiting: dict[str, Anchor] = {}
        self._problem: str | None = None
        self._lock = threading.Lock()
        try:
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            raise InputError("anchors", path, f"a file that can be appended to ({error.strerror})") from None
        try:
            torn = whole_lines.unfinished(self._file)
            if not torn.strip(b"\0").startswith(_BEGINNING[: len(torn.strip(b"\0"))]):
                raise InputError("anchors", path, "a file of anchors, or a new one: this one ends with something else")
            self._problem = self._append(b"")
        except BaseException:
            os.close(self._file)
            raise
        whole_lines.sync_folder(self.path.parent)
        told = exposed(self.path)
        if told is not None:
            LOG.warning(told)

    @property
    def problem(self) -> str | None:
        """Why anchors wait that should have been written, after another try; None where none do."""
        with self._lock:
            if self._problem is not None or self._replaced:
                self._write(self._waiting.keys())
            return self._problem

    def saw(self, books: Sequence[Book]) -> None:
        """These trials have these heads now."""
        with self._lock:
            due = set(self._waiting) if self._problem is not None else set()
            for book in books:
                last = self._written.get(book.trial)
                if last is not None and last.hash == book.hash:
                    continue
                anchor = Anchor.of(book, self._key)
                self._waiting.pop(book.trial, None)  # it comes last, and stands for all before it
                self._waiting[book.trial] = anchor
                at_once = book.state == "stopped" or book.design.spec.anchored
                if at_once or last is None or anchor.at - last.at >= self._pause:
                    due.add(book.trial)
            self._write(due)

    def holds(self, book: Book) -> bool:
        """Whether this head of a trial is anchored."""
        with self._lock:
            last = self._written.get(book.trial)
            return last is not None and last.hash == book.hash and not self._replaced

    def close(self) -> None:
        """Write what waits."""
        with self._lock:
            self._write(self._waiting.keys())
            if self._waiting:
                LOG.error("%s: %s, and are lost: those of %s", self.path, self._problem, ", ".join(self._waiting))
            os.close(self._file)

    def _write(self, due: Collection[str]) -> None:
        """Write the anchors of these trials, in the order in which they came; where that fails they wait."""
        anchors = [anchor for trial, anchor in self._waiting.items() if trial in due]
        if not anchors and self._problem is None and not self._replaced:
            return
        self._problem = self._append("".join(canonical(asdict(anchor)) + "\n" for anchor in anchors).encode())
        if self._problem is None:
            for anchor in anchors:
                self._written[anchor.trial] = self._waiting.pop(anchor.trial)

    @property
    def _replaced(self) -> bool:
        """Whether the name leads elsewhere, so that nobody would ever find what is appended to the open file."""
        return place(self._file) != place(self.path)

    def _check(self) -> None:
        if self._replaced:
            raise OSError(
                errno.ESTALE,
                "the anchors' file was replaced or deleted; put it back, or start the service again with another",
            )

    def _append(self, lines: bytes) -> str | None:
        """Append lines, all of them or none; why not, in words."""
        try:
            with _locked(self._file):
                self._check()
                torn = len(whole_lines.unfinished(self._file))
                if torn:
                    os.ftruncate(self._file, os.fstat(self._file).st_size - torn)
                whole_lines.append(self._file, lines)
                self._check()
        except OSError as error:
            return f"anchors cannot be written ({error.strerror or error}); they wait"
        return None


@contextmanager
def _locked(file: int) -> Iterator[None]:
    """Nobody else appends meanwhile; Windows has no such lock, and there two processes must not share a file."""
    if fcntl is None:
        yield
        return
    until = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def anchored_writer(database: str, anchors: Path | None, key: Path | None) -> Writer:
    """What writes to a database, and to a file of anchors with the key in a file where both are given."""
    witness = None if anchors is None or key is None else Anchors(anchors, read_key(key))
    return Writer(database, witness=witness)


def read_anchors(path: str | Path, key: bytes) -> list[Anchor]:
    """The anchors in a file. A line that a crash cut off is left out, also where another was appended to it.

    Raises:
        InputError: the file cannot be read, or a line is not signed with this key.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("anchors", str(path), f"a file of anchors ({error})") from None
    if lines and not lines[-1].endswith("\n"):
        lines.pop()
    return _checked(path, lines, key)


def _checked(path: str | Path, lines: Sequence[str], key: bytes) -> list[Anchor]:
    anchors = []
    for number, line in enumerate(lines, start=1):
        try:
            anchor = Anchor(**json.loads(line[line.rindex(_BEGINNING.decode()) :]))
            valid = anchor.valid(key)
        except (ValueError, TypeError):
            valid = False
        if not valid:
            raise InputError("anchors", f"{path}, line {number}", "an anchor that this key has signed")
        anchors.append(anchor)
    return anchors


def _sign(key: bytes, trial: str, sequence: int, hash_: str, at: int) -> str:
    return hmac.new(key, canonical(["takeup anchor", trial, sequence, hash_, at]).encode(), hashlib.sha256).hexdigest()
