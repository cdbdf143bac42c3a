"""The compiled copies (.pyc) that Python runs in place of a module's source: are they what the source says?"""

import marshal
import warnings
from collections.abc import Iterable
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from operator import attrgetter
from pathlib import Path
from types import CodeType

HEAD = 16
"""Bytes before the code: Python's number, flags, and the source's hash, or its time and size."""

_parts = attrgetter(
    *("co_name", "co_qualname", "co_filename", "co_firstlineno", "co_flags", "co_stacksize", "co_code", "co_names"),
    *("co_varnames", "co_cellvars", "co_freevars", "co_nlocals", "co_linetable", "co_exceptiontable"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
"""All that code is made of but its constants."""


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
        return alike(there, made)
    except (AttributeError, EOFError, RecursionError, SyntaxError, TypeError, ValueError):
        return False


def alike(one: CodeType, other: CodeType) -> bool:
    """Whether two code objects have the same parts, and so has code within them; their own == leaves some out."""
    return _form(one) == _form(other)


def _form(value: object) -> object:
    """What is equal where constants are the same: 1, 1.0 and True are not, nor are 0.0 and -0.0."""
    match value:
        case CodeType():
            return CodeType, _parts(value), _form(value.co_consts)
        case tuple():
            return tuple, *map(_form, value)
        case frozenset():
            return frozenset, frozenset(map(_form, value))
        case slice():
            return slice, _form((value.start, value.stop, value.step))
        case float() | complex():
            return type(value), repr(value)
    return type(value), value
