"""Secrets that the database holds sealed: those that have to be computed with, so that a hash would not do.

They are the seeds of trials and the keys of one-time codes. Where `TAKEUP_SEAL_KEY` names a file with a key, whatever
is written from then on is sealed with it, and a copy of the database gives away neither. What was written before stays
as it is. Every process that opens the database inherits the variable.

A text is added, bit by bit, to a stream that HMAC-SHA256 makes from the key and 128 random bits of its own, and what
comes out is signed together with whose it is, by another key: it cannot be read, changed or moved to another row. This
needs nothing but Python's standard library.
"""

import hashlib
import hmac
import os
import secrets
from functools import lru_cache

from takeup.errors import StoreError
from takeup.key_files import read_key

VARIABLE = "TAKEUP_SEAL_KEY"
_SEALED = "sealed 1"
_NONCE_BYTES = 16


class UnsealableError(StoreError):
    """What is sealed cannot be read, as there is no key for it."""


def sealed(text: str, whose: str) -> str:
    """The text as it is stored: sealed where there is a key, else as it is.

    Args:
        text: a secret.
        whose: the row that it belongs to, so that it is good nowhere else.
    """
    key = _key()
    if key is None:
        return text
    nonce = secrets.token_bytes(_NONCE_BYTES)
    return _sealed(key, nonce, _added(key, nonce, text.encode()), whose)


def opened(stored: str, whose: str) -> str:
    """The text that was stored.

    Raises:
        UnsealableError: it is sealed, and there is no key.
        StoreError: it was sealed with another key, or for another row, or was changed.
    """
    if not is_sealed(stored):
        return stored
    key = _key()
    if key is None:
        raise UnsealableError(f"the secret of {whose} is sealed; name the file with its key in {VARIABLE}")
    try:
        nonce, content = (bytes.fromhex(part) for part in stored.split()[2:4])
        fits = hmac.compare_digest(stored.encode(), _sealed(key, nonce, content, whose).encode())
    except ValueError:
        fits = False
    if not fits:
        raise StoreError(f"the secret of {whose} was sealed with another key than that in {VARIABLE}, or was changed")
    return _added(key, nonce, content).decode()


def is_sealed(stored: object) -> bool:
    """Whether a text was stored sealed; SQLite keeps anything in a column of texts."""
    return isinstance(stored, str) and stored.startswith(_SEALED)


def owner(trial: str) -> str:
    """The row of a trial."""
    return f"trial {trial}"


def _key() -> bytes | None:
    file = os.environ.get(VARIABLE)
    return _read(file) if file else None


@lru_cache(maxsize=4)
def _read(file: str) -> bytes:
    return read_key(file, VARIABLE)


def _sealed(key: bytes, nonce: bytes, content: bytes, whose: str) -> str:
    signed = f"{_SEALED} {nonce.hex()} {content.hex()}"
    return f"{signed} {_derived(_derived(key, b'sign'), f'{whose} {signed}'.encode()).hex()}"


def _added(key: bytes, nonce: bytes, content: bytes) -> bytes:
    """The bytes, each added to one of the stream; twice is once too often, and the bytes are back."""
    own = _derived(key, b"stream")
    blocks = (_derived(own, nonce + number.to_bytes(4, "big")) for number in range(len(content) // 32 + 1))
    return bytes(one ^ other for one, other in zip(content, b"".join(blocks), strict=False))


def _derived(key: bytes, what: bytes) -> bytes:
    return hmac.digest(key, what, hashlib.sha256)
