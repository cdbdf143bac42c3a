"""One-time codes: six digits that change every half minute, as RFC 6238 has them (and every authenticator app)."""

import base64
import hmac
import re
import secrets
from urllib.parse import quote

SECONDS, DIGITS = 30, 6
DRIFT = 1
"""How many half minutes a clock may be wrong, either way."""
SECRET = re.compile(r"[A-Z2-7]{32}")


def new_secret() -> str:
    """160 random bits, as the RFC asks for, in the letters that apps take."""
    return base64.b32encode(secrets.token_bytes(20)).decode()


def code(secret: str, step: int) -> str:
    """The code of one half minute: RFC 4226's truncation of HMAC-SHA-1."""
    mac = hmac.digest(base64.b32decode(secret), step.to_bytes(8, "big"), "sha1")
    place = mac[-1] & 0xF
    number = int.from_bytes(mac[place : place + 4], "big") & 0x7FFF_FFFF
    return f"{number % 10**DIGITS:0{DIGITS}}"


def step_of(secret: str, given: str, at: int, after: int = 0) -> int | None:
    """The half minute whose code this is; None where it is none, or not later than one that was used before.

    Args:
        secret: what codes are made from.
        given: what was typed; apps show a space in the middle.
        at: now, in microseconds since 1970.
        after: the half minute of the last code that was used.
    """
    typed, now = given.replace(" ", ""), at // (SECONDS * 1_000_000)
    found = None
    for step in range(now - DRIFT, now + DRIFT + 1):  # all are compared, so that the time says nothing
        if hmac.compare_digest(code(secret, step).encode(), typed.encode(errors="replace")) and step > after:
            found = step
    return found


def address(secret: str, login: str) -> str:
    """What an app reads: the address of an authenticator's key."""
    return f"otpauth://totp/takeup:{quote(login)}?secret={secret}&issuer=takeup&digits={DIGITS}&period={SECONDS}"
