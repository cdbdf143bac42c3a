"""Passwords: which are taken, and how they are hashed without holding up anybody else.

argon2 takes 64 MB and a twentieth of a second on purpose. So it runs in few threads of its own (it lets go of Python's
lock meanwhile), the event loop goes on, and where very many wait, one more is told to come again: whoever sends
sign-ins without end slows down other sign-ins, and neither decisions nor pages.
"""

import asyncio
import unicodedata
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from takeup.errors import InputError
from takeup.service.problem import ProblemError

LEAST, MOST = 12, 500
"""How many characters a password has."""
AT_ONCE = 2
"""How many are hashed at the same time: 64 MB each."""
MOST_WAITING = 60
FEW = 5
"""A password of fewer different characters is no secret."""

Result = TypeVar("Result")


class Passwords:
    """Hashes passwords and compares them.

    Attributes:
        hasher: how costly that is. No setting reaches it; tests put a cheap one here.
    """

    def __init__(self) -> None:
        self.hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="takeup-password")
        self._waiting = 0
        self._nobody: tuple[PasswordHasher, str] | None = None

    async def hash(self, password: str) -> str:
        """What is stored of a password."""
        return await self._run(lambda: self.hasher.hash(_plain(password)))

    async def matches(self, hashed: str | None, password: str) -> bool:
        """Whether this is the password. Where there is none to compare with it takes as long, and is false.

        Who has an account can then not be told from how long the answer takes.
        """
        return await self._run(lambda: self._matches(hashed, password))

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _matches(self, hashed: str | None, password: str) -> bool:
        stranger = self._stranger()  # whoever is the first to try: that takes twice as long for all alike
        try:
            self.hasher.verify(stranger if hashed is None else hashed, _plain(password))
        except (VerificationError, InvalidHashError):
            return False
        return hashed is not None

    def _stranger(self) -> str:
        """A hash that costs as much as anybody's."""
        if self._nobody is None or self._nobody[0] is not self.hasher:
            self._nobody = self.hasher, self.hasher.hash("somebody who is not here")
        return self._nobody[1]

    async def _run(self, call: Callable[[], Result]) -> Result:
        if self._waiting >= MOST_WAITING:
            detail = "very many people are signing in; try again in a moment"
            raise ProblemError("unavailable", detail, headers={"Retry-After": "5"})
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, call)
        finally:
            self._waiting -= 1


def check_new(password: str, about: Iterable[str]) -> None:
    """Refuse a password that is short, or that others would try first; which kinds of characters it has is not asked.

    Args:
        password: what was chosen.
        about: what others know of its owner: name and login.
    """
    kept = _plain(password)
    if len(kept) < LEAST:
        raise InputError(
            "password", f"{len(kept)} characters", f"at least {LEAST} characters; four words make a good one"
        )
    if len(kept) > MOST:
        raise InputError("password", f"{len(kept)} characters", f"at most {MOST} characters")
    if _repetitive(kept):
        raise InputError("password", "hidden", "something less regular than a repetition or a row of neighbours")
    if len(_without(kept.casefold(), about)) < LEAST // 2:
        raise InputError("password", "hidden", "something else than your own name or login")


def _plain(password: str) -> str:
    """The same text however a keyboard composes its letters."""
    return unicodedata.normalize("NFKC", password)


def _repetitive(password: str) -> bool:
    """Few characters, a piece again and again, or neighbours in a row, as in 123456789012."""
    if len(set(password)) < FEW:
        return True
    if any(password[:-period] == password[period:] for period in range(1, (len(password) + 1) // 2 + 1)):
        return True
    steps = [ord(after) - ord(before) for before, after in pairwise(password)]
    return max(steps.count(step) for step in (-1, 0, 1)) >= len(steps) - 2


def _without(password: str, about: Iterable[str]) -> str:
    """What is left where its owner's name and login are taken out."""
    words = {
        word
        for each in about
        for word in (each.casefold(), *each.casefold().replace("@", " ").replace(".", " ").split())
    }
    for word in sorted(words, key=len, reverse=True):
        if len(word) >= 3:
            password = password.replace(word, "")
    return password
