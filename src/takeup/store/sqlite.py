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

from takeup.errors import StoreError

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
    file = OpenFile(path, log=True) if path else None

    def connect() -> Any:
        if file is not None:
            file.reopen()
        connection = _dbapi().connect(path or ":memory:", timeout=BUSY_SECONDS, check_same_thread=False)
        connection.isolation_level = None
        if not shared:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {synchronous}")
        connection.execute("PRAGMA fullfsync = 1")
        connection.execute("PRAGMA checkpoint_fullfsync = 1")
        return connection

    engine = _engine(connect, "BEGIN IMMEDIATE", file, poolclass=StaticPool)
    if file is not None:
        commit = engine.dialect.do_commit

        def do_commit(connection: Any) -> None:
            commit(connection)
            file.check()  # as before, when it began: nobody is answered whose request went elsewhere

        engine.dialect.do_commit = do_commit  # type: ignore[method-assign, assignment]  # SQLAlchemy has no event after a commit
    return engine


def reader(path: str, connections: int) -> Engine:
    """Connections that read alone: they never write or checkpoint, so that the WAL-reset bug cannot touch them."""

    def connect() -> Any:
        uri = f"{Path(path).absolute().as_uri()}?mode=ro"
        connection = _dbapi().connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        connection.isolation_level = None
        connection.execute("PRAGMA query_only = 1")
        return connection

    return _engine(connect, "BEGIN", OpenFile(path, log=False), poolclass=QueuePool, pool_size=connections)


class OpenFile:
    """The files that a path stood for when they were opened.

    Who replaces or deletes one of them does not disturb whoever has it open: what is written from then on is lost.

    Args:
        path: of the database.
        log: whether to look at its write-ahead log as well.
    """

    def __init__(self, path: str, *, log: bool) -> None:
        self._path, self._log = path, f"{os.path.realpath(path)}-wal" if log else None
        self._file: tuple[int, int] | None = None
        self._log_file: tuple[int, int] | None = None

    def reopen(self) -> None:
        """Before it is opened: it must be the file that it was before, if there was one; its log may be another."""
        self._log_file = None
        if self._file is not None:
            self.check()

    def check(self) -> None:
        """Look where the names lead now; the first time, remember it.

        Raises:
            StoreError: one of them leads somewhere else.
        """
        file, log = place(self._path), None if self._log is None else place(self._log)
        self._file, self._log_file = self._file or file, self._log_file or log
        if (self._file, self._log_file) != (file, log):
            raise StoreError(
                "the database's file was replaced or deleted under the service, and nothing more is written to it;"
                " put the right file in its place and start the service again"
            )


def place(name: str | Path | int) -> tuple[int, int] | None:
    """The device and the inode that a name leads to, or of an open file; None where it leads to none."""
    try:
        found = os.stat(name)
    except OSError:
        return None
    return found.st_dev, found.st_ino


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


def _engine(connect: Callable[[], Any], begin: str, file: OpenFile | None, **pool: Any) -> Engine:
    engine = create_engine("sqlite://", module=_dbapi(), creator=connect, hide_parameters=True, **pool)
    engine.dialect.statement_compiler = _Compiler
    event.listen(engine, "begin", _begin(begin, file))
    return engine


def _dbapi() -> Any:
    return importlib.import_module(library().module)


def _begin(statement: str, file: OpenFile | None) -> Callable[[Any], None]:
    """Python's driver would begin transactions by itself, and too late."""

    def begin(connection: Any) -> None:
        connection.exec_driver_sql(statement)
        if file is not None:
            file.check()

    return begin
