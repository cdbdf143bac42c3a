"""Installation qualification: what is installed, and whether it is what was built."""

import base64
import hashlib
import importlib.util
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

import takeup
from takeup.errors import TakeupError
from takeup.qualification.check import Check, Finding, Group, NotHereError
from takeup.version import __version__

EXTRAS = {
    "sim": ("numba", "polars"),
    "server": ("fastapi", "uvicorn", "sqlalchemy", "alembic"),
    "postgres": ("psycopg",),
    "report": ("altair", "vl_convert", "jinja2"),
    "dask": ("dask", "distributed"),
}
"""The modules by which it is seen whether an extra is installed."""

_CACHED = re.compile(r"(^|/)__pycache__/|\.pyc$")


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution.

    Attributes:
        name: what the index calls it.
        version: which one.
        files: how many of its files have a hash in its RECORD.
        different: those of them that are gone or are not what the RECORD says.
    """

    name: str
    version: str
    files: int
    different: tuple[str, ...]


def facts() -> dict[str, str]:
    """What takeup runs on here, by what it is."""
    import numpy as np
    import scipy

    found = {
        "takeup": __version__,
        "Python": f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})",
        "operating system": platform.platform(),
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }
    try:
        from takeup.store.sqlite import library

        found["SQLite"] = str(library())
    except TakeupError as error:
        found["SQLite"] = str(error)
    for extra in EXTRAS:
        found[f"extra {extra}"] = "installed" if not (lacking := missing(extra)) else f"lacks {', '.join(lacking)}"
    return found


def missing(extra: str) -> list[str]:
    """The modules of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{named[0]} ({platform.machine()})" if named else platform.processor() or platform.machine()


def hashes() -> dict[str, str]:
    """SHA-256 of every file of the package that is installed here, by its path in it."""
    root = Path(takeup.__file__).parent
    files = sorted(each for each in root.rglob("*") if each.is_file())
    named = ((file.relative_to(root).as_posix(), file) for file in files)
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in named if not _CACHED.search(name)}


def together(files: dict[str, str]) -> str:
    """One SHA-256 over all names and hashes."""
    return hashlib.sha256("".join(f"{name} {digest}\n" for name, digest in sorted(files.items())).encode()).hexdigest()


def recorded(name: str) -> Distribution:
    """A distribution whose RECORD has the hashes of its files."""
    try:
        found = metadata.distribution(name)
    except PackageNotFoundError:
        raise NotHereError(f"{name} runs from a folder and is not installed: there is no record to compare") from None
    return found


def different(root: Path, record: Iterable[tuple[str, str]]) -> tuple[int, tuple[str, ...]]:
    """How many files have a hash (base64 without padding, as RECORD has it), and which of them are not what it says."""
    count, wrong = 0, []
    for name, expected in record:
        count += 1
        try:
            digest = hashlib.sha256((root / name).read_bytes()).digest()
        except OSError as error:
            wrong.append(f"{name} ({error.strerror or error})")
            continue
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != expected:
            wrong.append(name)
    return count, tuple(wrong)


def package(found: Distribution) -> Package:
    """An installed distribution, its files compared with its RECORD."""
    files = [each for each in found.files or () if each.hash is not None and each.hash.mode == "sha256"]
    record = [(str(each), each.hash.value) for each in files if each.hash is not None]
    count, wrong = different(Path(str(found.locate_file(""))), record)
    return Package(found.metadata["Name"], found.version, count, wrong)


def unrecorded(found: Distribution, names: Iterable[str]) -> tuple[str, ...]:
    """Which of these files the RECORD of a distribution does not name: somebody put them there."""
    known = {each.as_posix() for each in found.files or ()}
    return tuple(f"{name} (not in the record)" for name in names if name not in known)


def dependencies() -> Iterator[Distribution]:
    """What takeup needs, directly and by what it needs, as far as it is installed; what its extras name as well."""
    waiting, seen = ["takeup"], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = metadata.distribution(name)
        except PackageNotFoundError:
            continue
        if name != "takeup":
            yield found
        wanted = [each for each in found.requires or () if "extra ==" not in each or _of_takeup(name, each)]
        waiting += [_plain(each) for each in wanted]


def _of_takeup(name: str, requirement: str) -> bool:
    """Whether takeup itself names it, for one of the extras that trials run with."""
    return name == "takeup" and any(re.search(rf"extra == ['\"]{extra}['\"]", requirement) for extra in EXTRAS)


def _plain(requirement: str) -> str:
    """The name that a requirement begins with, as an index spells it."""
    named = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", named[0]).lower() if named else ""


def group(folder: Path) -> Group:
    """The checks of the installation; `folder` is for copies."""
    return Group(
        "Installation",
        (
            Check(title="Files of takeup against its wheel's RECORD", requirements=("R-11.1",), look=_files),
            Check(title="Files of its dependencies against theirs", requirements=("R-11.1",), look=_dependencies),
            Check(
                title="Control: one byte of a copy is changed",
                requirements=("R-11.1",),
                look=lambda: _planted(folder),
                control=True,
            ),
            Check(title="Every commit waits for the disk", requirements=("R-3.2",), look=lambda: _synced(folder)),
        ),
    )


def _files() -> Finding:
    found, there = recorded("takeup"), hashes()
    more = unrecorded(found, [f"takeup/{name}" for name in there])
    if len(more) == len(there):
        raise NotHereError(f"installed from a source tree, without a record; all files: {together(there)}")
    known = package(found)
    return _compared([replace(known, different=(*known.different, *more))])


def _dependencies() -> Finding:
    return _compared([package(each) for each in dependencies()])


def _compared(packages: list[Package]) -> Finding:
    wrong = [f"{each.name}: {', '.join(each.different[:3])}" for each in packages if each.different]
    unknown = [each.name for each in packages if each.files == 0]
    count = sum(each.files for each in packages)
    found = f"{count:,} files compared; packages: {len(packages)}, with differences: {len(wrong)}"
    said = "".join(f"; {each}" for each in wrong) + (f"; without a record: {', '.join(unknown)}" if unknown else "")
    return Finding("no file differs from its record", found + said, not wrong and count > 0)


def _planted(folder: Path) -> Finding:
    copy = folder / "copy"
    shutil.copytree(Path(takeup.__file__).parent / "trial", copy, ignore=shutil.ignore_patterns("__pycache__"))
    files = sorted(copy.iterdir())
    record = [
        (each.name, base64.urlsafe_b64encode(hashlib.sha256(each.read_bytes()).digest()).rstrip(b"=").decode())
        for each in files
    ]
    before = different(copy, record)[1]
    content = bytearray(files[0].read_bytes())
    content[-1] ^= 1
    files[0].write_bytes(bytes(content))
    after = different(copy, record)[1]
    found = f"before: {', '.join(before) or 'none'}; after: {', '.join(after) or 'none'}"
    return Finding(f"before: none; after: {files[0].name}", found, (before, after) == ((), (files[0].name,)))


def _synced(folder: Path) -> Finding:
    from takeup.store import sqlite

    engine = sqlite.writer(str(folder / "synced.db"))
    try:
        with engine.connect() as connection:
            mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            level = connection.exec_driver_sql("PRAGMA synchronous").scalar()
    finally:
        engine.dispose()
    found = f"journal_mode {mode}, synchronous {level}; {sqlite.library()}"
    return Finding("journal_mode wal, synchronous 2 (FULL)", found, (mode, level) == ("wal", 2))
