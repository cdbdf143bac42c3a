"""SQLite: a file, write-ahead logging, every commit on the disk before it is answered."""

import importlib
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.dialects.sqlite.base import SQLiteCompiler
from sqlalchemy.pool import QueuePool, StaticPool

FIRST_WITHOUT_BUG = (3, 51, 3)
"""From 3.7.0 to 3.51.2 two connections that write or checkpoint at once can corrupt the file (the WAL-reset bug)."""

BUSY_SECONDS = 10
Synchronous = Literal["FULL", "OFF"]


@dataclass(frozen=True, slots=True)
class Library:
    """The SQLite that is used.

    Attributes:
        module: the Python module that carries it.
        version: its version.
        shared: whether the file may be opened by several connections. Not with a version that has the WAL-reset bug:
            then one connection holds the file for itself, and reads wait for writes.
    """

    module: str
    version: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether several connections may open one file."""
        return self.version >= FIRST_WITHOUT_BUG

    def __str__(self) -> str:
        version = ".".join(map(str, self.version))
        if self.shared:
            return f"SQLite {version} from {self.module}, free of the WAL-reset bug: several connections share the file"
        return (
            f"SQLite {version} from {self.module} has the WAL-reset bug (3.7.0 to 3.51.2): a single connection holds"
            " the file for itself, and reads wait for writes; pip install pysqlite3 brings a current one"
        )


@cache
def library() -> Library:
    """The newest SQLite there is: that of pysqlite3 or that of Python."""
    found = [Library("sqlite3", sqlite3.sqlite_version_info)]
    with suppress(ImportError):
        found.append(Library("pysqlite3", importlib.import_module("pysqlite3").sqlite_version_info))
    return max(found, key=lambda each: each.version)


def path_of(url: str) -> str:
    """The file of a URL such as `sqlite:///file.db`, or of a plain path; empty for a database in memory."""
    return url.removeprefix("sqlite://").removeprefix("/") if url.startswith("sqlite://") else url


def writer(path: str, synchronous: Synchronous = "FULL") -> Engine:
    """The one connection that writes; an empty path is a database in memory."""
    _create(path)
    shared = library().shared

    def connect() -> Any:
        connection = _dbapi().connect(path or ":memory:", timeout=BUSY_SECONDS, check_same_thread=False)
        connection.isolation_level = None
        if not shared:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA checkpoint_fullfsync = 1")
        return connection

    return _engine(connect, "BEGIN IMMEDIATE", poolclass=StaticPool)


def reader(path: str) -> Engine:
    """Connections that read alone: they never write or checkpoint, so that the WAL-reset bug cannot touch them."""

    def connect() -> Any:
        uri = f"{Path(path).absolute().as_uri()}?mode=ro"
        connection = _dbapi().connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        connection.isolation_level = None
        connection.execute("PRAGMA query_only = 1")
        return connection

    return _engine(connect, "BEGIN", poolclass=QueuePool, pool_size=4)


def exposed(path: str | Path) -> str | None:
    """What to say of a file that others than its owner may open; None where they may not."""
    mode = stat.S_IMODE(Path(path).stat().st_mode)
    if os.name != "posix" or not mode & 0o077:
        return None
    return (
        f"{path} has mode {mode:04o}: others than its owner may open it, and whoever reads a database has the seeds and"
        f" the hashes of the keys; chmod 600 {path}*"
    )


def _create(path: str) -> None:
    """A new file that its owner alone may open, whatever the umask; SQLite gives those beside it the same mode."""
    with suppress(OSError):  # it is there, or SQLite says why not
        if path:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


class _Compiler(SQLiteCompiler):
    """SQLAlchemy leaves out table hints for SQLite, which has one: INDEXED BY."""

    def get_from_hint_text(self, table: Any, text: str | None) -> str | None:
        """A hint as it was given."""
        return text


def _engine(connect: Callable[[], Any], begin: str, **pool: Any) -> Engine:
    engine = create_engine("sqlite://", module=_dbapi(), creator=connect, hide_parameters=True, **pool)
    engine.dialect.statement_compiler = _Compiler
    event.listen(engine, "begin", _begin(begin))
    return engine


def _dbapi() -> Any:
    return importlib.import_module(library().module)


def _begin(statement: str) -> Callable[[Any], None]:
    """Python's driver would begin transactions by itself, and too late."""

    def begin(connection: Any) -> None:
        connection.exec_driver_sql(statement)

    return begin
