"""Bodies, read strictly: what two readers could understand differently is refused."""

import asyncio
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar
from urllib.parse import parse_qsl

from takeup.service.problem import ProblemError

MOST_DEPTH = 32
MOST_VALUES = 200_000
"""The most values of a body: twice as many as a batch of 10,000 reports needs."""
MOST_KEYS = 10_000
"""The most keys of one object."""
MOST_PARTS = 8
"""The most parts of a dotted key in TOML."""
MOST_FIELDS = 1_000
MOST_TOML = 256_000
"""The most bytes of TOML, which takes a hundred times as long to read as JSON."""
MOST_DIGITS, MOST_BITS = 100, 340
READ_AT_ONCE = 16_384
"""The most bytes of a body that is read at once, which takes milliseconds."""
_STRINGS = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_TOML_TEXTS = re.compile(
    rb'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5})?|"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?'
    rb"|'''(?:[^']|'(?!''))*+(?:'{3,5})?|'[^'\n]*+'?|#[^\n]*+",
    re.DOTALL,
)
"""Strings of all four kinds, and comments."""
_TOML_PLACES = re.compile(rb"[=\[\]{},\n]")
_UNTELLABLE = re.compile("[\0\ud800-\udfff]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))

Result = TypeVar("Result")


class BodyReader:
    """Reads bodies: small ones at once, larger ones one after the other in a thread, while others are served."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="takeup-bodies")

    async def read(self, parse: Callable[[bytes], Result], body: bytes) -> Result:
        """What `parse` makes of a body."""
        if len(body) <= READ_AT_ONCE:
            return parse(body)
        return await asyncio.get_running_loop().run_in_executor(self._thread, parse, body)


def parse_json(body: bytes) -> Any:
    """JSON with no key twice in an object, no NaN, no number beyond a float, no NUL and no lone surrogate in a text."""
    _check_size(body, _STRINGS)
    try:
        found = _JSON.decode(body.decode())
    except UnicodeDecodeError as error:
        raise _malformed(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        said = error.msg.removesuffix(" at")  # some of Python's end so
        raise _malformed(f"it is not JSON: {said} at character {error.pos}") from None
    if b"\\u" in body:  # without an escape no text can hold either
        _check(found)
    return found


def parse_toml(body: bytes) -> dict[str, Any]:
    """TOML with what JSON can say: no dates, no NaN, no infinity."""
    if len(body) > MOST_TOML:
        raise ProblemError(
            "too-large",
            f"the body has more than {MOST_TOML} bytes of TOML; send JSON",
            allowed=f"{MOST_TOML} bytes of TOML",
        )
    _check_size(body, _TOML_TEXTS)
    if body.count(b".") >= MOST_PARTS:  # tomllib takes the cube of the parts of a key a.b.c
        keys = _TOML_PLACES.split(_TOML_TEXTS.sub(b"", body))
        if max(key.count(b".") for key in keys) >= MOST_PARTS:
            raise _malformed(f"a key has more than {MOST_PARTS} parts")
    try:
        found = tomllib.loads(body.decode())
    except UnicodeDecodeError as error:
        raise _malformed(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    except (ValueError, RecursionError) as error:
        raise _malformed(f"it is not TOML: {str(error)[:200]}") from None
    _check(found)
    return found


def parse_form(body: bytes) -> dict[str, str]:
    """The fields of a form, as a browser sends them; texts without spaces around them."""
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
    except ValueError as error:  # a UnicodeError is one
        raise _malformed(f"it is not a form: {str(error)[:200]}") from None
    found = _object(pairs)
    _check(found)
    return {name: value.strip() for name, value in found.items()}


def _check_size(body: bytes, texts: re.Pattern[bytes]) -> None:
    """Refuse too many values, and brackets that are nested too deep, outside of texts; cheap where it can be."""
    opened, many = body.count(b"[") + body.count(b"{"), body.count(b",")
    if opened <= MOST_DEPTH and opened + many <= MOST_VALUES:
        return
    if body.count(b'"') - body.count(b'\\"') > 4 * MOST_VALUES:  # at least two texts a value; finding them takes long
        raise _too_many()
    bare = texts.sub(b"", body)
    brackets = bare.translate(None, _OTHERS)
    if bare.count(b",") + len(brackets) // 2 > MOST_VALUES:
        raise _too_many()
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > MOST_DEPTH:
            raise _too_deep()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > MOST_KEYS:
        raise _malformed(f"an object has more than {MOST_KEYS} keys")
    found = dict(pairs)
    if len(found) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _malformed(f"the key {ascii(twice)[:100]} is there twice")
    return found


def _constant(name: str) -> NoReturn:
    raise _malformed(f"{name} is not a JSON number")


def _float(digits: str) -> float:
    found = float(digits)
    if math.isinf(found):
        raise _malformed(f"the number {digits[:40]} is too large")
    return found


def _int(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise _malformed(f"the number {digits[:40]}.. is too large")
    return int(digits)


def _check(value: Any, depth: int = 0) -> None:
    """Refuse what JSON does not have, and texts that a database or a reader may not be able to hold."""
    if depth > MOST_DEPTH:
        raise _too_deep()
    match value:
        case str():
            if _UNTELLABLE.search(value):
                raise _malformed(f"the text {ascii(value)[:100]} holds NUL or a lone surrogate")
        case dict():
            for name, each in value.items():
                _check(name, depth + 1)
                _check(each, depth + 1)
        case list():
            for each in value:
                _check(each, depth + 1)
        case bool() | None:
            pass
        case int():
            if value.bit_length() > MOST_BITS:
                raise _malformed("a number is too large")
        case float():
            if not math.isfinite(value):
                raise _malformed(f"{value} is not a number that is allowed")
        case _:
            raise _malformed(f"{value} is not a text, a number, a list or a table")


def _malformed(detail: str) -> ProblemError:
    return ProblemError("malformed", detail)


def _too_deep() -> ProblemError:
    return _malformed(f"it is nested more than {MOST_DEPTH} deep")


def _too_many() -> ProblemError:
    return _malformed(f"it has more than {MOST_VALUES} values")


_JSON = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)
