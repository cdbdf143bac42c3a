"""Keys in files of their own, which only their owner can read."""

import os
import secrets
from pathlib import Path

from takeup.errors import InputError


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


def read_key(path: str | Path, argument: str = "key") -> bytes:
    """The key in a file; an error calls it `argument`."""
    try:
        key = bytes.fromhex(Path(path).read_text(encoding="ascii").strip())
    except (OSError, ValueError):
        raise InputError(argument, str(path), "a file with 64 hexadecimal digits") from None
    if len(key) != 32:
        raise InputError(argument, f"{len(key)} bytes", "32 bytes as 64 hexadecimal digits")
    return key
