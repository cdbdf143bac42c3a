"""Chance that can be repeated, values that people do not send, and ways to spoil a body or its bytes."""

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import hostile
from takeup.randomness import stream

Value = TypeVar("Value")
MOST_TEXT = 300_000
"""How long a text gets: a body that is too large is refused before it is read."""


class Dice:
    """Chance that is a function of a seed and of what it is for; everything it returns is Python's own."""

    def __init__(self, seed: int, *path: int | str) -> None:
        self._random = stream(seed, "fuzz", *path).random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return bool(self._random() < probability)

    def whole(self, low: int, high: int) -> int:
        """A whole number from low to high."""
        return low + int(self._random() * (high - low + 1))

    def between(self, low: float, high: float) -> float:
        """A number, every order of magnitude as likely as another."""
        return float(math.exp(math.log(low) + self._random() * (math.log(high) - math.log(low))))

    def size(self, low: int, high: int) -> int:
        """A whole number, every order of magnitude as likely as another."""
        return min(high, int(self.between(low, high + 1)))

    def pick(self, values: Sequence[Value]) -> Value:
        """One of these."""
        return values[int(self._random() * len(values))]

    def bytes(self, count: int) -> bytes:
        """Any bytes."""
        return bytes(int(256 * self._random()) for _ in range(count))


class Raw(str):
    """A JSON token that no Python value is written as."""


@dataclass(frozen=True, slots=True)
class Twice:
    """The pairs of an object some of whose keys may be there twice."""

    pairs: list[tuple[str, Any]]


NUMBERS: tuple[Any, ...] = (
    *(0, -1, 1, 2, 7, 0.5, -0.0, 1e-320, 5e-324, 1e-300, 1e-12, 1 - 2**-53, 1 + 2**-52, 1e6, 1e12, 1e13, 1e150, 1e300),
    *(1.7e308, -1e308, 2**31, 2**53 + 1, 2**62, 2**63, 2**64, -(2**63), 10**30, 10**99, math.nan, math.inf, -math.inf),
    *map(Raw, ("1e400", "-1e400", "1e-400", "-0", "1E5", "01", "+1", ".5", "1" * 99, "9" * 5_000, "0." + "1" * 5_000)),
)
ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        "",
        " ",
        "0",
        "1",
        "nan",
        "inf",
        "-inf",
        "1e5",
        "null",
        "true",
        "1 day",
        "99999999999999 weeks",
    ),
    *(
        [],
        {},
        [[]],
        [0],
        [1, 1],
        [1, 2, 3],
        [None],
        [True],
        ["a"],
        [0.5, 0.5],
        [2**62],
        [1e308, 1e308],
        [[1, 2], [3, 4]],
    ),
    *(
        [[1], [2, 3]],
        [math.nan],
        {"kind": "TS"},
        {"kind": "Uniform"},
        {"kind": None},
        {"a": {"b": []}},
        {"": 1},
        {"0": 0.5},
    ),
)
LETTERS = (*hostile.texts(), "\0", "a\0b", "\ud800", "\udfff\ud800", "\x1f", "\x7f", "e\u0301", "\u00e9")


def hostile_value(dice: Dice, size: int = 20_000) -> Any:
    """A value that is likely to be wrong wherever it stands."""
    match dice.whole(0, 9):
        case 0 | 1 | 2:
            return dice.pick(NUMBERS)
        case 3 | 4 | 5:
            return copy.deepcopy(dice.pick(ODD))
        case 6 | 7:
            return dice.pick(LETTERS)
        case 8:
            return [dice.pick((0, 1, 0.5, "a", None, 1e300, {}, []))] * dice.size(1, size)
        case _:
            return nested(dice.size(1, 60))


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a body has values; the whole is not among them."""
    pairs = body.items() if isinstance(body, Mapping) else enumerate(body) if isinstance(body, list) else ()
    for name, value in pairs:
        yield (*path, name)
        yield from places(value, (*path, name))


def spoiled(dice: Dice, body: Any) -> Any:
    """The body with one thing wrong, or odd."""
    found = list(places(body))
    if not found or dice.chance(0.02):
        return hostile_value(dice)
    whole = copy.deepcopy(body)
    path = dice.pick(found)
    inside = whole
    for step in path[:-1]:
        inside = inside[step]
    return dice.pick(WAYS)(dice, whole, inside, path[-1])


def _replace(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    inside[name] = hostile_value(dice)
    return whole


def _remove(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    del inside[name]
    return whole


def _rename(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    if isinstance(inside, dict):
        inside[dice.pick((f"{name} ", str(name).upper(), f"{name}s", dice.pick(LETTERS)))] = inside.pop(name)
    return whole


def _add(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    if isinstance(inside, dict):
        inside[dice.pick((*LETTERS, "kind", "seed", "draws", "alpha"))] = hostile_value(dice)
    else:
        inside.insert(name, hostile_value(dice))
    return whole


def _wrap(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    value = inside[name]
    inside[name] = dice.pick(([value], [value, value], {"value": value}, str(value), [[value]]))
    return whole


def _stretch(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    """The same, but much more of it."""
    value, times = inside[name], dice.size(2, 20_000)
    match value:
        case bool() | None | Twice():
            inside[name] = [value] * min(times, 100)
        case int() | float():
            inside[name] = dice.pick((value * times, -value, value / times, value + 0.5, value * 10**30))
        case str():
            inside[name] = dice.pick(
                ((value * times)[:MOST_TEXT], value + dice.pick(LETTERS), value.upper(), value[::-1])
            )
        case list():
            inside[name] = value * min(times, 20_000 // max(1, len(value)) + 2)
        case dict():
            inside[name] = {**value, **{f"{name} {i}": 1 for i in range(times)}}
    return whole


def _repeat(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    """A key twice."""
    if isinstance(inside, dict) and inside is whole:
        return Twice([*inside.items(), (name, dice.pick((inside[name], hostile_value(dice))))])
    inside[name] = Twice([("a", 1)] * dice.size(2, 2_000))
    return whole


def _trade(dice: Dice, whole: Any, inside: Any, name: Any) -> Any:
    """Another value of the same body."""
    other = whole
    for step in dice.pick(list(places(whole))):
        other = other[step]
    inside[name] = copy.deepcopy(other)
    return whole


WAYS: tuple[Callable[[Dice, Any, Any, Any], Any], ...] = (
    *(_replace, _replace, _replace, _stretch, _stretch),
    *(_remove, _rename, _add, _wrap, _repeat, _trade),
)


def as_json(value: Any) -> bytes:
    """JSON, or what looks like it; half of the texts as escapes."""
    return _json(value).encode("utf-8", "surrogatepass")


def _json(value: Any) -> str:
    match value:
        case Raw():
            return str(value)
        case Twice():
            return "{" + ", ".join(f"{json.dumps(name)}: {_json(each)}" for name, each in value.pairs) + "}"
        case dict():
            return "{" + ", ".join(f"{json.dumps(str(name))}: {_json(each)}" for name, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_json, value)) + "]"
        case str():
            return json.dumps(value, ensure_ascii=len(value) % 2 == 0)
    return json.dumps(value)


def as_toml(content: Any) -> bytes:
    """TOML, or what looks like it: a line a key, tables within a line."""
    if not isinstance(content, dict | Twice):
        return _toml(content).encode("utf-8", "surrogatepass")
    pairs = content.pairs if isinstance(content, Twice) else list(content.items())
    lines = [f"{json.dumps(str(name))} = {_toml(each)}\n" for name, each in pairs if each is not None]
    return "".join(lines).encode("utf-8", "surrogatepass")


def _toml(value: Any) -> str:
    match value:
        case Twice() | dict():
            pairs = value.pairs if isinstance(value, Twice) else list(value.items())
            said = ", ".join(f"{json.dumps(str(name))} = {_toml(each)}" for name, each in pairs if each is not None)
            return "{" + said + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case float() if not math.isfinite(value):
            return str(value)
        case None:
            return '""'
    return _json(value)


def mangled(dice: Dice, body: bytes) -> bytes:
    """Bytes with a few flipped, cut out, repeated or put in."""
    found = bytearray(body or b"{}")
    for _ in range(dice.size(1, 6)):
        at = dice.whole(0, max(0, len(found) - 1))
        until = min(len(found), at + dice.size(1, 64))
        match dice.whole(0, 5):
            case 0 if found:
                found[at] ^= 1 << dice.whole(0, 7)
            case 1:
                del found[at:until]
            case 2:
                found[at:at] = found[at:until] * dice.size(1, 50)
            case 3:
                found[at:at] = dice.bytes(dice.size(1, 8))
            case 4:
                found[at:at] = dice.pick(
                    (b"{", b"[", b'"', b"\\", b"\\u0000", b"\\ud800", b"\xff", b"\0", b",", b":", b"=", b"\n")
                )
            case _:
                del found[at:]
    return bytes(found)
