"""Bodies that break readers: numbers that are none, half characters, keys twice, depth, length, and how they arrive.

A good body of an operation or a form has one value, or its bytes, replaced by something of this kind. It then comes
whole, in chunks, drop by drop, or never to its end.
"""

import codecs
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from urllib.parse import quote_plus, urlencode

from fuzzing import wire
from fuzzing.furniture import FORM, Furniture
from fuzzing.requests import BATCH_KINDS, BODIES, FORMS, MARK, TRIALS
from fuzzing.values import Dice, as_json, as_toml, places
from takeup.service.sessions import form_token

HOLE = "\x01HOLE\x01"
DEEP = 10_000
MOST = 1_500_000
"""A little more than a body may have."""
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1", "cp1252", "utf-8-sig")
MARKS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF32_BE)
DROPS = 24
PAUSE = 0.01
"""How many drops there are at most, and the seconds between two."""
NEVER = 0.003
"""How many bodies never end: the service has to end each of them, which takes it half a minute."""

NUMBERS = ("NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "0x10", "1_000", "١٢", "- 1", "1.", "∞")
HALVES = ('"\\ud800"', '"\\udfff\\ud800"', '"a\\udc00b"', '"\\ud83d"', '"\\u0000"', '"\\uD83D\\u0041"', '"\\u12"')
PARTS = (b"x", b"\\n", b"\\u00e9", b"\xc3\xa9")
VALUES: dict[str, Callable[[Dice], bytes]] = {
    "a number": lambda dice: dice.pick(NUMBERS).encode(),
    "digits": lambda dice: b"-"[: dice.whole(0, 1)] + b"9" * dice.size(20, 300_000),
    "decimals": lambda dice: b"0." + b"0" * dice.size(20, 300_000) + b"1",
    "an exponent": lambda dice: b"1e" + b"9" * dice.size(3, 100_000),
    "half a character": lambda dice: dice.pick(HALVES).encode(),
    "raw half a character": lambda dice: b'"' + "\ud800".encode("utf-8", "surrogatepass") * dice.size(1, 9) + b'"',
    "bytes that are no text": lambda dice: b'"' + dice.bytes(dice.size(1, 40)) + b'"',
    "a control character": lambda dice: b'"' + bytes([dice.whole(0, 31)]) + b'"',
    "a long text": lambda dice: b'"' + dice.pick(PARTS) * dice.size(1_000, 200_000) + b'"',
    "a key twice": lambda dice: b'{"a": 1' + b', "a": 1' * dice.size(1, 20_000) + b"}",
    "keys": lambda dice: b"{" + b", ".join(b'"k%d": 0' % i for i in range(dice.size(1, 12_000))) + b"}",
    "depth of lists": lambda dice: b"[" * (deep := dice.pick((33, 500, 5_000, DEEP))) + b"]" * deep,
    "depth of tables": lambda dice: b'{"a":' * (deep := dice.pick((33, 500, 5_000, DEEP))) + b"1" + b"}" * deep,
    "depth without end": lambda dice: dice.pick((b"[", b'{"a":', b'[{"a":')) * DEEP,
    "many values": lambda dice: b"[" + b"0," * dice.size(1_000, 250_000) + b"0]",
    "backslashes": lambda dice: b'"' + b"\\\\" * dice.size(10, 100_000) + b'\\"',
}
"""What stands in the place of a value, as JSON."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A request.

    Attributes:
        what: what is wrong with it, in words.
        pieces: its bytes; where there is more than one piece they come one after the other.
        ends: whether it ever ends.
    """

    what: str
    pieces: tuple[bytes, ...]
    ends: bool = True


def broken(dice: Dice, furniture: Furniture, mark: str) -> Broken:
    """Such a request, to any operation or form."""
    what, raw = _body(dice, mark)
    head, body = raw
    return _arriving(dice, what, head(furniture, mark), body)


def _body(dice: Dice, mark: str) -> tuple[str, tuple[Callable[[Furniture, str], dict[str, Any]], bytes]]:
    """What is wrong, who sends it where, and the body."""
    if dice.chance(0.2):
        path, good = dice.pick(list(FORMS.items()))
        fields: dict[str, str] = {name: value.replace(MARK, mark) for name, value in good.items()}
        return _form(dice, path, fields)
    (method, path), given = dice.pick(list(BODIES.items()))
    body = json.loads(json.dumps(given).replace(MARK, mark))
    trial = {"state": "moved", "spec": "draft"}.get(path.rpartition("/")[2]) or dice.pick(TRIALS)
    toml = path in ("/trials", "/trials/{trial}/spec") and dice.chance(0.3)
    kind = "application/toml" if toml else "application/json"
    query = ""
    if path.endswith("/ingest"):  # a row, which is a batch
        kind, query = dice.pick(BATCH_KINDS), f"?batch={mark}"
    what, raw = _spoiled(dice, body, toml=toml)

    def head(furniture: Furniture, mark: str) -> dict[str, Any]:
        key = furniture.key("all" if dice.chance(0.9) else dice.pick(("decide", "report", "design", "site", "nobody")))
        return {
            "method": method,
            "path": path.replace("{trial}", trial) + query,
            "headers": {"Authorization": f"Bearer {key}", "Content-Type": kind, "X-Request-ID": mark},
        }

    return what, (head, raw)


def _spoiled(dice: Dice, body: dict[str, Any], *, toml: bool) -> tuple[str, bytes]:
    """What was done to a body, and its bytes."""
    write = as_toml if toml else as_json
    if any(places(body)) and dice.chance(0.7):
        what = dice.pick(list(VALUES))
        inside, path = body, dice.pick(list(places(body)))
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = HOLE
        hole = write({"": HOLE}).rpartition(b'"')[0].rpartition(b'"')[2]
        return what, write(body).replace(b'"' + hole + b'"', VALUES[what](dice))
    raw = write(body)
    match dice.whole(0, 5):
        case 0:
            name = dice.pick(ENCODINGS)
            return f"in {name}", raw.decode().encode(name, "replace")
        case 1:
            return "a mark of byte order", dice.pick(MARKS) + raw
        case 2:
            return "cut off", raw[: dice.whole(0, len(raw) - 1)]
        case 3:
            return "something after it", raw + dice.pick((raw, b"\0", b"}", b" " * dice.size(1, 100_000) + b"x"))
        case 4:
            return "blanks", b"\n" * dice.size(1_000, MOST) + raw
    return "nothing but a value", VALUES[dice.pick(list(VALUES))](dice)


def _form(
    dice: Dice, path: str, fields: dict[str, str]
) -> tuple[str, tuple[Callable[[Furniture, str], dict[str, Any]], bytes]]:
    """The same for a form of a page; its token is put in where the sender is known."""
    names = list(fields) or ["x"]
    name, rest = dice.pick(names), dict(fields)
    match dice.whole(0, 6):
        case 0:
            what, more = "half a character", f"&{name}=%ED%A0%80".encode()
        case 1:
            what, more = "bytes that are no text", b"&" + name.encode() + b"=" + dice.bytes(20)
        case 2:
            what, more = "a key twice", f"&{name}=1&{name}=2".encode()
        case 3:
            what, more = "keys", b"".join(b"&k%d=" % i for i in range(dice.size(10, 20_000)))
        case 4:
            what, more = "a long text", b"&x=" + b"%00" * dice.size(1_000, 300_000)
        case 5:
            what, more = "escapes that are none", b"&x=%zz%%%u1234&=&&=;"
        case _:
            what, more = "a value", b""
            rest[name] = dice.pick((*NUMBERS, "9" * 100_000, "[" * DEEP, "1e" + "9" * 5_000, "\ufeff", "a" * 300_000))
    whole = path.replace("{trial}", "t").replace("{id}", "ab" * 6)
    given = urlencode(rest, quote_via=quote_plus, errors="replace").encode()
    who = "leaving" if "sign-out" in path else dice.pick(("all", "all", "design", "site"))

    def head(furniture: Furniture, mark: str) -> dict[str, Any]:
        cookie = furniture.cookie(who)
        return {
            "method": "POST",
            "path": whole,
            "headers": {"Cookie": f"takeup={cookie}", "Content-Type": FORM, "X-Request-ID": mark},
            "token": f"&form_token={form_token(cookie)}".encode(),
        }

    return f"a form: {what}", (head, given + more)


def _arriving(dice: Dice, what: str, head: dict[str, Any], body: bytes) -> Broken:
    """How it comes."""
    body += head.pop("token", b"")
    if dice.chance(NEVER):
        return Broken(f"{what}, and no end", (_whole(head, body + b" ")[:-1],), ends=False)
    match dice.whole(0, 9):
        case 0 | 1:
            pieces = _cut(dice, body, 6)
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces if piece)
            head["headers"]["Transfer-Encoding"] = "chunked"
            return Broken(f"{what}, in chunks", (_whole(head, chunks + b"0\r\n\r\n"),))
        case 2:
            raw = _whole(head, body)
            return Broken(f"{what}, drop by drop", tuple(piece for piece in _cut(dice, raw, DROPS) if piece))
    return Broken(what, (_whole(head, body),))


def _whole(head: dict[str, Any], body: bytes) -> bytes:
    return wire.request(head["method"], head["path"], head["headers"], body)


def _cut(dice: Dice, raw: bytes, most: int) -> list[bytes]:
    """Bytes in several pieces."""
    places_ = sorted({0, len(raw), *(dice.whole(0, len(raw)) for _ in range(dice.whole(1, most)))})
    return [raw[one:other] for one, other in pairwise(places_)]
