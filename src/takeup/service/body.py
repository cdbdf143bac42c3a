"""Bodies, read strictly: what two readers could understand differently is refused."""

import json
import math
import re
import tomllib
from collections import Counter
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from takeup.service.problem import Refused

MOST_DEPTH = 32
MOST_FIELDS = 1_000
MOST_DIGITS, MOST_BITS = 100, 340
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_UNTELLABLE = re.compile("[\0\ud800-\udfff]")
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))


def parse_json(body: bytes) -> Any:
    """JSON with no key twice in an object, no NaN, no number beyond a float, no NUL and no lone surrogate in a text."""
    if _depth(body) > MOST_DEPTH:
        raise _malformed(f"it is nested more than {MOST_DEPTH} deep")
    try:
        found = json.loads(
            body.decode(), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int
        )
    except UnicodeDecodeError as error:
        raise _malformed(f"it is not UTF-8: {error.reason} at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise _malformed(f"it is not JSON: {error.msg} at character {error.pos}") from None
    if b"\\u" in body:  # without an escape no text can hold either
        _check(found)
    return found


def parse_toml(body: bytes) -> dict[str, Any]:
    """TOML with what JSON can say: no dates, no NaN, no infinity."""
    if _depth(body) > MOST_DEPTH:
        raise _malformed(f"it is nested more than {MOST_DEPTH} deep")
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


def _depth(body: bytes) -> int:
    """How deep brackets are nested outside of strings; a cheap bound where that suffices."""
    opened = body.count(b"[") + body.count(b"{")
    if opened <= MOST_DEPTH:
        return opened
    depth = deepest = 0
    for bracket in _STRINGS.sub(b"", body).translate(None, _OTHERS):
        depth += 1 if bracket in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
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
        raise _malformed(f"it is nested more than {MOST_DEPTH} deep")
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


def _malformed(detail: str) -> Refused:
    return Refused("malformed", detail)
