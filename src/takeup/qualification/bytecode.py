"""The compiled copies (.pyc) that Python runs in place of a module's source: are they what the source says?"""

import marshal
import warnings
from collections.abc import Iterable
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path

HEAD = 16
"""Bytes before the code: Python's number, flags, and the source's hash, or its time and size."""


def differing(sources: Iterable[Path]) -> tuple[int, tuple[Path, ...]]:
    """How many copies this Python would run in place of these sources, and which of them are not what it makes of them.

    Copies that it would make anew, as they belong to another Python or another state of the source, are not run.
    """
    count, wrong = 0, []
    for source in sources:
        for optimize, named in enumerate(("", "1", "2")):
            copy = Path(cache_from_source(str(source), optimization=named))
            if not copy.exists():
                continue
            code, content = source.read_bytes(), copy.read_bytes()
            if _run(content[:HEAD], source, code):
                count += 1
                if not _same(content[HEAD:], code, optimize):
                    wrong.append(copy)
    return count, tuple(wrong)


def _run(head: bytes, source: Path, code: bytes) -> bool:
    """Whether Python takes a copy with this head for this source."""
    if len(head) < HEAD or head[:4] != MAGIC_NUMBER:
        return False
    flags = int.from_bytes(head[4:8], "little")
    if flags & 1:
        return not flags & 2 or head[8:] == source_hash(code)
    known = source.stat()
    return head[8:] == b"".join((int(each) & 0xFFFFFFFF).to_bytes(4, "little") for each in (known.st_mtime, len(code)))


def _same(copy: bytes, source: bytes, optimize: int) -> bool:
    """Whether a copy has the code of a source, at the place that the copy says it was compiled from."""
    try:
        there = marshal.loads(copy)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = compile(source, there.co_filename, "exec", dont_inherit=True, optimize=optimize)
        return marshal.dumps(there, 2) == marshal.dumps(
            made, 2
        )  # version 2: one form whatever else refers to an object
    except (AttributeError, EOFError, SyntaxError, TypeError, ValueError):
        return False
