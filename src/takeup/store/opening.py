"""From a URL to a database."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, exc

from takeup.errors import StoreError
from takeup.store import postgres, sqlite
from takeup.store.migrate import HEAD, check_known, revision

LOG = logging.getLogger("takeup.store")
READERS = 6
"""How many connections of a store read; the service has as many threads for them."""

_BEFORE_HOST = re.compile(r"^((?>(?:[\w+]+:/+)?)[^:@]*):.*@", re.DOTALL)
"""All between a user's name and the last @."""
_NAMED = re.compile(r"(\w*pass\w*\s*=\s*)('[^']*'|[^&\s]*)", re.IGNORECASE)


def writing_engine(url: str, synchronous: sqlite.Synchronous) -> Engine:
    """The engine that writes."""
    if url.startswith("postgres"):
        return postgres.writer(url)
    if "://" in url and not url.startswith("sqlite://"):
        kind = url.partition(":")[0]
        raise StoreError(f"there is no store for {kind}; a database is sqlite:///file.db, a path or postgresql://..")
    path = sqlite.path_of(url)
    if path and not Path(path).absolute().parent.is_dir():
        raise StoreError(f"{shown(url)} cannot be opened: there is no folder for it")
    told = sqlite.exposed(path) if path and Path(path).exists() else None
    if told is not None:
        LOG.warning(told)
    return sqlite.writer(path, synchronous)


def reading_engine(url: str) -> Engine | None:
    """The engine that reads; None where only the writer may open the database."""
    if url.startswith("postgres"):
        return postgres.reader(url, READERS)
    return sqlite.reader(sqlite.path_of(url), READERS) if shared(url) else None


def open_file(url: str) -> sqlite.OpenFile | None:
    """The file of a database, to see that nobody replaces it; None where it is not in a file of its own."""
    path = "" if url.startswith("postgres") else sqlite.path_of(url)
    return sqlite.OpenFile(path, log=False) if path else None


def shared(url: str) -> bool:
    """Whether a database may be opened more than once, by this process or by others."""
    return url.startswith("postgres") or bool(sqlite.path_of(url) and sqlite.library().shared)


def shown(url: str) -> str:
    """A URL without its passwords, also where it was mistyped and is none."""
    return _NAMED.sub(r"\1***", _BEFORE_HOST.sub(r"\1:***@", url))


@contextmanager
def looking(url: str | Path) -> Iterator[Connection]:
    """One consistent state of a database, without writing to it: it is neither created nor migrated."""
    url = str(url)
    if url.startswith("postgres"):
        engine = postgres.reader(url, 1)
    else:
        path = sqlite.path_of(url)
        if not Path(path).is_file():
            raise StoreError(f"there is no database {shown(url)}")
        engine = sqlite.reader(path, 1)
    try:
        with engine.connect() as connection, connection.begin():
            found = revision(connection)
            check_known(found)
            if found != HEAD:
                words = f"{shown(url)} does not hold takeup's tables of schema {HEAD}; it is not changed here"
                raise StoreError(f"{words}: `takeup serve` or `Trial.open` brings an older one up to date")
            yield connection
    except exc.SQLAlchemyError as error:
        raise StoreError(f"{shown(url)} cannot be read: {said(error)}") from error
    finally:
        engine.dispose()


def said(error: exc.SQLAlchemyError) -> str:
    """The driver's own words, without the statement and its values."""
    return str(getattr(error, "orig", None) or error).strip().replace("\n", "; ")
