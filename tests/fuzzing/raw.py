"""HTTP that is hardly HTTP: odd lines, headers without end, lengths that lie, requests one upon the other."""

from fuzzing import wire
from fuzzing.furniture import Furniture
from fuzzing.values import Dice, mangled

HOST = b"Host: 127.0.0.1\r\n"
METHODS = (
    b"GET",
    b"HEAD",
    b"OPTIONS",
    b"TRACE",
    b"PATCH",
    b"PROPFIND",
    b"CONNECT",
    b"get",
    b"G\x00T",
    b"",
    b"X" * 5_000,
)
TARGETS = (
    b"/health",
    b"*",
    b"//",
    b"/%",
    b"/%zz",
    b"/..%2f..",
    b"/\xff\xfe",
    b"http://a/health",
    b"",
    b"/ /",
    b"/#",
    b"?",
)
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/9", b"http/1.1", b"", b"HTTP/1.1 ")
ENDS = (b"\r\n", b"\n", b"\r", b"\r\n\r\n")
ODD_HEADERS = (
    b"Content-Length: 5\r\nContent-Length: 6\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 1e3\r\n",
    b"Content-Length: 99999999999999999999999\r\n",
    b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: chunked, chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Expect: 100-continue\r\nContent-Length: 2\r\n",
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x\r\nSec-WebSocket-Version: 13\r\n",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    b"Connection: close\r\n",
    b"Host: b\r\n",
    b" folded: x\r\n y\r\n",
    b"no colon\r\n",
    b": no name\r\n",
    b"a b: c\r\n",
    b"Cookie: \xff\xfe; =; ;;; takeup=; takeup\r\n",
    b"Authorization: Bearer \xc3\x28\r\n",
    b"Range: bytes=0-,-1,5-2\r\n",
    b"Accept-Encoding: gzip;q=nan\r\n",
    b"X-Forwarded-For: ::, 1.2.3.4.5\r\nX-Forwarded-Proto: gopher\r\n",
    b"X-HTTP-Method-Override: DELETE\r\n",
)
CHUNKS = (
    b"2\r\n{}\r\n0\r\n\r\n",
    b"2;a=b\r\n{}\r\n0\r\nT: x\r\n\r\n",
    b"zz\r\n",
    b"-1\r\n\r\n",
    b"ffffffffffffffffff\r\n",
    b"2\r\n{}",
)


def raw(dice: Dice, furniture: Furniture, mark: str) -> bytes:
    """Bytes for a connection of their own."""
    good = wire.request(
        "POST",
        "/trials/t/decisions",
        {"Authorization": f"Bearer {furniture.key('all')}", "Content-Type": "application/json", "X-Request-ID": mark},
        b'{"unit": "%s", "context": 0}' % mark.encode(),
    )
    match dice.whole(0, 9):
        case 0:
            line = b" ".join((dice.pick(METHODS), dice.pick(TARGETS), dice.pick(VERSIONS)))
            return line + dice.pick(ENDS) + HOST + dice.pick(ENDS)
        case 1:
            return b"GET /%s HTTP/1.1\r\n" % (b"a" * dice.size(1_000, 200_000)) + HOST + b"\r\n"
        case 2:
            return b"GET /health HTTP/1.1\r\n" + HOST + _flood(dice) + b"\r\n"
        case 3:
            return b"GET /app/sign-in HTTP/1.1\r\n" + HOST + b"Cookie: " + _cookie(dice) + b"\r\n\r\n"
        case 4 | 5:
            body = dice.pick((b"", b"{}", b'{"unit": 1}'))
            start = dice.pick(
                (b"POST /trials/t/decisions", b"GET /health", b"POST /app/sign-in", b"PUT /trials/draft/spec")
            )
            return start + b" HTTP/1.1\r\n" + HOST + dice.pick(ODD_HEADERS) + b"\r\n" + body
        case 6:
            head, _, _ = good.partition(b"Content-Length")
            return head + b"Transfer-Encoding: chunked\r\n\r\n" + dice.pick(CHUNKS)
        case 7:
            return b"".join(
                dice.pick((good, b"GET /health HTTP/1.1\r\n" + HOST + b"\r\n")) for _ in range(dice.size(2, 30))
            )
        case 8:
            return good[: dice.whole(1, len(good) - 1)]
    return mangled(dice, good)


def _flood(dice: Dice) -> bytes:
    if dice.chance(0.5):
        return b"".join(b"X-%d: %d\r\n" % (i, i) for i in range(dice.size(10, 5_000)))
    return b"X: " + b"x" * dice.size(1_000, 200_000) + b"\r\n"


def _cookie(dice: Dice) -> bytes:
    size = dice.size(1_000, 200_000)
    return dice.pick(
        (
            b'takeup="' + b"\\0" * (size // 2) + b'"',
            b'takeup="' + b"\\042" * (size // 4),
            b"; ".join(b"a%d=b" % i for i in range(size // 8)),
            b"takeup=" + b"a" * size,
            b'"' * size,
            b"=;" * (size // 2),
        )
    )
