"""A disk whose power can fail: SQLite's file layer, with a record of what had been synced.

SQLite reaches the operating system through a table of functions (a VFS). This one hands everything on to the usual one;
after each sync of a file it keeps a copy of it, in one atomic step. What a power failure leaves is then known: the last
copy of each file, with any of the sectors that were written since, in any combination.
"""

import ctypes
import importlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from takeup.store import sqlite

SECTOR = 512
_POINTERS = ctypes.c_void_p


class _Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = [  # ctypes wants a list
        ("version", ctypes.c_int),
        ("close", _POINTERS),
        ("read", _POINTERS),
        ("write", _POINTERS),
        ("truncate", _POINTERS),
        ("sync", _POINTERS),
        ("others", _POINTERS * 13),
    ]


class _File(ctypes.Structure):
    """sqlite3_file."""

    _fields_ = [("methods", ctypes.POINTER(_Methods))]


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = [
        ("version", ctypes.c_int),
        ("file_size", ctypes.c_int),
        ("path_size", ctypes.c_int),
        ("next", _POINTERS),
        ("name", ctypes.c_char_p),
        ("data", _POINTERS),
        ("open", _POINTERS),
        ("others", _POINTERS * 14),
    ]


_Open = ctypes.CFUNCTYPE(
    ctypes.c_int, _POINTERS, _POINTERS, ctypes.POINTER(_File), ctypes.c_int, ctypes.POINTER(ctypes.c_int)
)
_Sync = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_File), ctypes.c_int)


class Recorder:
    """Keeps in `folder` what had been synced of every file; to be made before a database is opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        module = importlib.import_module(f"{sqlite.library().module}.{'_sqlite3'}" if _bundled() else "_sqlite3")
        library = ctypes.CDLL(module.__file__)
        library.sqlite3_vfs_find.restype = ctypes.POINTER(_Vfs)
        library.sqlite3_vfs_find.argtypes = [ctypes.c_char_p]
        library.sqlite3_vfs_register.argtypes = [ctypes.POINTER(_Vfs), ctypes.c_int]
        self._usual = library.sqlite3_vfs_find(None)
        self._vfs = _Vfs.from_buffer_copy(self._usual.contents)
        self._vfs.name, self._vfs.next = b"recorder", None
        self._usual_open = _Open(self._usual.contents.open)
        self._open = _Open(self._opened)
        self._sync = _Sync(self._synced)
        self._vfs.open = ctypes.cast(self._open, ctypes.c_void_p).value
        self._methods: dict[int, _Methods] = {}
        self._usual_sync: dict[int, Callable[..., int]] = {}
        self._paths: dict[int, Path] = {}
        assert library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1) == 0

    def keep(self, path: Path) -> None:
        """Take a file as synced as it is now."""
        copy = self.folder / f"{path.name}.{os.getpid()}"
        shutil.copyfile(path, copy)
        copy.replace(self.folder / path.name)

    def _opened(self, _: int, name: int, file: "ctypes._Pointer[_File]", flags: int, out: object) -> int:
        """Open as usual; then put our own sync into the file's table of functions."""
        code: int = self._usual_open(ctypes.cast(self._usual, ctypes.c_void_p), name, file, flags, out)
        if code == 0 and name and file.contents.methods:
            address = ctypes.addressof(file.contents.methods.contents)
            if address not in self._methods:
                methods = _Methods.from_buffer_copy(file.contents.methods.contents)
                self._usual_sync[ctypes.addressof(methods)] = _Sync(methods.sync)
                methods.sync = ctypes.cast(self._sync, ctypes.c_void_p).value
                self._methods[address] = methods
            file.contents.methods = ctypes.pointer(self._methods[address])
            path = ctypes.string_at(name).decode()
            self._paths[ctypes.addressof(file.contents)] = Path(path)
        return code

    def _synced(self, file: "ctypes._Pointer[_File]", flags: int) -> int:
        usual = self._usual_sync[ctypes.addressof(file.contents.methods.contents)]
        code: int = usual(file, flags)
        if code == 0:
            self.keep(self._paths[ctypes.addressof(file.contents)])
        return code


def after_power_failure(synced: Path, written: Path, to: Path, rng: np.random.Generator) -> None:
    """What the disk may hold: what was synced, and any of the sectors that were written later."""
    old = synced.read_bytes() if synced.exists() else b""
    new = written.read_bytes() if written.exists() else b""
    kind = rng.integers(3)  # nothing later arrived; a beginning of it did; any part of it did
    if kind == 0:
        to.write_bytes(old)
        return
    size = max(len(old), len(new))
    sectors = -(-size // SECTOR)
    arrived = np.arange(sectors) < rng.integers(sectors + 1) if kind == 1 else rng.random(sectors) < rng.random()
    old, new = old.ljust(size, b"\0"), new.ljust(size, b"\0")
    parts = ((new if arrived[i] else old)[i * SECTOR : (i + 1) * SECTOR] for i in range(sectors))
    to.write_bytes(b"".join(parts))


def _bundled() -> bool:
    return sqlite.library().module != "sqlite3"
