"""Signed anchors of a log's head, kept outside the database.

The hash chain shows any change inside a log, but not that its end was cut off, nor that somebody recomputed all of it.
An anchor does: it is the number and the hash of an event, signed with a key that the database does not hold. The
signature is HMAC-SHA256, which needs nothing but Python's standard library. Whoever can verify can also sign, so the
key belongs to those who audit; a signature that outsiders could verify (Ed25519) would need another dependency.
"""

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from takeup.errors import InputError
from takeup.store import Writer
from takeup.trial.book import Book
from takeup.trial.design import canonical

MICROSECONDS = 1_000_000


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

    Args:
        path: the file, best on another machine's disk.
        key: what signs.
        seconds: the least time between two anchors of a trial that goes on; what comes in between is anchored by the
            next one, or when the store is closed.
    """

    def __init__(self, path: str | Path, key: bytes, seconds: float = 0.0) -> None:
        self.path = Path(path)
        self._key = key
        self._pause = int(seconds * MICROSECONDS)
        self._written: dict[str, int] = {}
        self._waiting: dict[str, Anchor] = {}
        self._lock = threading.Lock()
        try:
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError("anchors", path, f"a file that can be appended to ({error.strerror})") from None

    def saw(self, book: Book) -> None:
        """A trial has this head now."""
        anchor = Anchor.of(book, self._key)
        with self._lock:
            last = self._written.get(book.trial)
            if last is None or anchor.at - last >= self._pause or book.state == "stopped":
                self._write(anchor)
            else:
                self._waiting[book.trial] = anchor

    def close(self) -> None:
        """Write what waits."""
        with self._lock:
            for anchor in list(self._waiting.values()):
                self._write(anchor)
            self._file.close()

    def _write(self, anchor: Anchor) -> None:
        self._file.write(canonical(asdict(anchor)) + "\n")
        self._file.flush()
        self._written[anchor.trial] = anchor.at
        self._waiting.pop(anchor.trial, None)


def anchored_writer(database: str, anchors: Path | None, key: Path | None) -> Writer:
    """What writes to a database, and to a file of anchors with the key in a file where both are given."""
    witness = None if anchors is None or key is None else Anchors(anchors, read_key(key))
    return Writer(database, witness=witness)


def new_key(path: str | Path) -> bytes:
    """A new key in a new file that only its owner can read."""
    key = secrets.token_bytes(32)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError("key", str(path), f"a file that can be created ({error.strerror})") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(key.hex() + "\n")
    return key


def read_key(path: str | Path) -> bytes:
    """The key in a file."""
    try:
        key = bytes.fromhex(Path(path).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        raise InputError("key", str(path), "a file with 64 hexadecimal digits") from None
    if len(key) != 32:
        raise InputError("key", f"{len(key)} bytes", "32 bytes as 64 hexadecimal digits")
    return key


def read_anchors(path: str | Path, key: bytes) -> list[Anchor]:
    """The anchors in a file; a line that was cut off by a crash is left out if it is the last.

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
            anchor = Anchor(**json.loads(line))
            valid = anchor.valid(key)
        except (ValueError, TypeError):
            valid = False
        if not valid:
            raise InputError("anchors", f"{path}, line {number}", "an anchor that this key has signed")
        anchors.append(anchor)
    return anchors


def _sign(key: bytes, trial: str, sequence: int, hash_: str, at: int) -> str:
    return hmac.new(key, canonical(["takeup anchor", trial, sequence, hash_, at]).encode(), hashlib.sha256).hexdigest()
