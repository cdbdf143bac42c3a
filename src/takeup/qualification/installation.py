"""Installation qualification: what is installed, and whether it is what was built."""

import base64
import hashlib
import os
import platform
import py_compile
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import Distribution, PathDistribution
from importlib.util import cache_from_source
from pathlib import Path

import takeup
from takeup.errors import TakeupError
from takeup.qualification.bytecode import differing
from takeup.qualification.check import Check, Finding, Group, NotHereError
from takeup.qualification.needs import EXTRAS, Need, installed, missing, needed, unmet
from takeup.version import __version__

_CACHED = re.compile(r"(^|/)__pycache__/")
_CODE = (".py", ".so", ".pyd")
_OURS = ("", "pip", "uv")
"""Who writes a RECORD and leaves it there; systems' own tools may not."""
_MADE_ELSEWHERE = (
    "; copies that another patch release of Python made, or that were made with other settings, may differ too: delete "
    "the folders __pycache__, or make them anew by python -m compileall -f FOLDER, and check again"
)


@dataclass(frozen=True, slots=True)
class Package:
    """An installed distribution.

    Attributes:
        name: what the index calls it.
        version: which one.
        files: how many of its files have a hash in its RECORD.
        different: those of them that are gone or are not what the RECORD says, and code of which it has no hash.
        sha256: one over all names and hashes, as they are here.
        unchecked: why it rightly has no RECORD to compare with; "" where it has one, or should.
    """

    name: str
    version: str
    files: int
    different: tuple[str, ...]
    sha256: str
    unchecked: str = ""


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


def different(root: Path, record: Iterable[tuple[str, str]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """SHA-256 of files, and which are gone or not what is expected (base64 without padding, as RECORD has it)."""
    there, wrong = dict[str, str](), []
    for name, expected in record:
        try:
            digest = hashlib.sha256((root / name).read_bytes())
        except OSError as error:
            wrong.append(f"{name} ({error.strerror or error})")
            continue
        there[name] = digest.hexdigest()
        if _in_record(digest.digest()) != expected:
            wrong.append(name)
    return there, tuple(wrong)


def _in_record(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def package(found: Distribution) -> Package:
    """An installed distribution, its files compared with its RECORD."""
    unchecked = _unchecked(found)
    files = () if unchecked else found.files or ()
    record = {str(each): each.hash.value for each in files if each.hash is not None and each.hash.mode == "sha256"}
    there, wrong = different(Path(str(found.locate_file(""))), record.items())
    bare = [f"{each} (no hash)" for each in files if each.suffix in _CODE and str(each) not in record]
    return Package(str(found.metadata["Name"]), found.version, len(record), (*wrong, *bare), together(there), unchecked)


def _unchecked(found: Distribution) -> str:
    """Why a distribution rightly has no RECORD of the files that run: it is no wheel, or not from one."""
    if found.read_text("PKG-INFO") is not None:
        return "an egg"
    if re.search(r'"editable":\s*true', found.read_text("direct_url.json") or ""):
        return "runs from a folder"
    installer = (found.read_text("INSTALLER") or "").strip()
    return "" if found.files is not None or installer in _OURS else f"installed by {installer}"


def unrecorded(found: Distribution, names: Iterable[str]) -> tuple[str, ...]:
    """Which of these files the RECORD of a distribution does not name: somebody put them there."""
    known = {each.as_posix() for each in found.files or ()}
    return tuple(f"{name} (not in the record)" for name in names if name not in known)


def dependencies() -> Iterator[Distribution]:
    """What takeup needs, directly and by what it needs, as far as it is installed; what its extras name as well."""
    names = dict.fromkeys(need.name for need in needed())
    return (found for name in names if name != "takeup" and (found := installed(name)) is not None)


def group(folder: Path) -> Group:
    """The checks of the installation; `folder` is for copies."""
    return Group(
        "Installation",
        (
            Check(title="Files of takeup against its wheel's RECORD", requirements=("R-11.1",), look=_files),
            Check(title="Files of its dependencies against theirs", requirements=("R-11.1",), look=_dependencies),
            Check(title="Their compiled copies (.pyc) against their sources", requirements=("R-11.6",), look=_copies),
            Check(title="What is needed is there, in versions that are allowed", requirements=("R-11.7",), look=_needs),
            Check(
                title="Control: one byte of a copy is changed",
                requirements=("R-11.1",),
                look=lambda: _planted(folder / "bytes"),
                control=True,
            ),
            Check(
                title="Control: a compiled copy of another source",
                requirements=("R-11.6",),
                look=lambda: _compiled(folder / "compiled"),
                control=True,
            ),
            Check(
                title="Control: a package and a version that nobody has",
                requirements=("R-11.7",),
                look=_unmet,
                control=True,
            ),
            Check(title="Every commit waits for the disk", requirements=("R-3.2",), look=lambda: _synced(folder)),
        ),
    )


def _files() -> Finding:
    found, root, there = installed("takeup"), Path(takeup.__file__).parent, hashes()
    if found is None or Path(str(found.locate_file("takeup"))).resolve() != root.resolve():
        raise NotHereError(f"runs from a source tree, which has no record; all files: {together(there)}")
    known, more = package(found), unrecorded(found, [f"takeup/{name}" for name in there])
    return _compared([replace(known, different=(*known.different, *(more if known.files else ())))])


def _dependencies() -> Finding:
    return _compared([package(each) for each in dependencies()])


def _compared(packages: list[Package]) -> Finding:
    """What differs; where nothing does, and a package cannot be checked, that is no pass."""
    wrong = [f"{each.name}: {', '.join(each.different[:3])}" for each in packages if each.different]
    lacking = [each.name for each in packages if not (each.files or each.different or each.unchecked)]
    unchecked = [f"{each.name} ({each.unchecked})" for each in packages if each.unchecked]
    count = sum(each.files for each in packages)
    found = f"{count:,} files compared; packages: {len(packages)}, with differences: {len(wrong)}"
    found += "".join(f"; {each}" for each in wrong) + (f"; without a record: {', '.join(lacking)}" if lacking else "")
    if unchecked:
        found += f"; not checked: {len(unchecked)}: {', '.join(unchecked)}"
        if not wrong and not lacking:
            raise NotHereError(found)
    return Finding(
        "every package has a record, no file differs from it", found, not wrong and not lacking and count > 0
    )


def sources() -> Iterator[Path]:
    """The modules of takeup and of its dependencies."""
    yield from Path(takeup.__file__).parent.rglob("*.py")
    for each in dependencies():
        yield from (Path(str(each.locate_file(file))) for file in each.files or () if file.suffix == ".py")


def _copies() -> Finding:
    count, wrong = differing(each for each in sources() if each.exists())
    said = "".join(f"; {each}" for each in wrong[:3]) + (_MADE_ELSEWHERE if wrong else "")
    return Finding("none differs", f"{count:,} compiled again, different: {len(wrong)}{said}", not wrong)


def _needs() -> Finding:
    count, wrong = unmet(needed())
    said = "".join(f"; {each}" for each in wrong)
    return Finding("all met", f"{count} requirements of packages, not met: {len(wrong)}{said}", count > 0 and not wrong)


def _planted(folder: Path) -> Finding:
    about, files = folder / "planted-1.dist-info", list[Path]()
    about.mkdir(parents=True)
    for each in sorted(Path(takeup.__file__).parent.joinpath("trial").glob("*.py")):
        files.append(folder / each.name)
        files[-1].write_bytes(each.read_bytes())  # without the mode: what is installed may be there to be read alone
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: planted\nVersion: 1\n", encoding="utf-8")
    record = [f"{each.name},sha256={_in_record(hashlib.sha256(each.read_bytes()).digest())}," for each in files]
    (about / "RECORD").write_text("\n".join(record), encoding="utf-8")
    before = _compared([package(PathDistribution(about))])
    content = bytearray(files[0].read_bytes())
    content[-1] ^= 1
    files[0].write_bytes(bytes(content))
    after = _compared([package(PathDistribution(about))])
    right = before.passed and not after.passed and after.found.endswith(f"planted: {files[0].name}")
    return Finding(f"before: no difference; after: {files[0].name}", f"{before.found}. {after.found}", right)


def _compiled(folder: Path) -> Finding:
    folder.mkdir()
    source, found = folder / "planted.py", []
    source.write_text("SIDE = 1\n", encoding="utf-8")
    copy = Path(cache_from_source(str(source)))
    for text in ("SIDE = 1\n", "SIDE = 2\n"):
        (folder / "other.py").write_text(text, encoding="utf-8")
        timed = py_compile.PycInvalidationMode.TIMESTAMP
        py_compile.compile(str(folder / "other.py"), str(copy), doraise=True, invalidation_mode=timed)
        known = source.stat()
        head = b"".join((int(each) & 0xFFFFFFFF).to_bytes(4, "little") for each in (known.st_mtime, known.st_size))
        copy.write_bytes(copy.read_bytes()[:8] + head + copy.read_bytes()[16:])
        found.append(differing([source]))
    words = "; ".join(f"{count} compiled again, different: {len(wrong)}" for count, wrong in found)
    return Finding("1 compiled again, different: 0; and then 1", words, found == [(1, ()), (1, (copy,))])


def _unmet() -> Finding:
    planted = ("nobody-has-this-package", "numpy>=9999", "numpy>=1")
    found = unmet(Need("planted", "", each) for each in planted)
    right = found[0] == len(planted) and [each.split(",")[0] for each in found[1]] == [
        f"planted needs {each}" for each in planted[:2]
    ]
    return Finding("the package and the version", "; ".join(found[1]) or "nothing", right)


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
