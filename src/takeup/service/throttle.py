"""How often passwords and keys may be tried.

A password that is tried takes a token of three buckets: of the login from this address, of the login, of the address. A
try that succeeds gives them back. The first is small, so that nobody guesses for long; that of the login alone is
large, so that a stranger who fails on purpose keeps nobody out who comes from elsewhere (those who can fail from very
many addresses still can). Logins that nobody has are counted like others: being slowed down tells nothing.

The counts are in memory: every process of the service has its own, and none after a restart. There are at most
`MOST_NAMES` of them. Those that were not asked for the longest go first; a flood of made-up logins cannot push out
the bucket of the address that it comes from, as each of them uses that.

A key that is wrong takes a token of its address alone, and one that is right takes none and is never held up. Keys are
256 random bits, which nobody guesses at any speed; whoever shares an address with a client that has a wrong key, or
with somebody who sends wrong ones on purpose, goes on working.
"""

import time
from collections.abc import Callable, Mapping

MOST_NAMES = 20_000
LIMITS: Mapping[str, tuple[float, float]] = {
    "login here": (8, 1 / 30),
    "login": (100, 1 / 6),
    "address": (60, 1 / 2),
}
"""How many tries each bucket has at once, and how many more it gains a second."""
WRONG_KEYS = (200.0, 2.0)
"""The same of wrong keys, of an address."""


class Throttle:
    """Counts tries, by what they are about."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, login: str, address: str) -> float:
        """Take a token of each: 0, or the seconds until all have one again, and none is taken."""
        found = {name: self._tokens(name) for name in _names(login, address)}
        wait = max((1 - tokens) / LIMITS[kind][1] for (kind, _), tokens in found.items())
        for name, tokens in found.items():
            self._put(name, tokens - 1 if wait <= 0 else tokens)
        return max(0.0, wait)

    def succeeded(self, login: str, address: str) -> None:
        """Give back what a try took."""
        for name in _names(login, address):
            self._put(name, min(LIMITS[name[0]][0], self._tokens(name) + 1))

    def _tokens(self, name: tuple[str, str]) -> float:
        most, rate = LIMITS[name[0]]
        tokens, before = self._buckets.get(name, (most, self._clock()))
        return min(most, tokens + (self._clock() - before) * rate)

    def _put(self, name: tuple[str, str], tokens: float) -> None:
        self._buckets.pop(name, None)
        while len(self._buckets) >= MOST_NAMES:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[name] = tokens, self._clock()


class WrongKeys:
    """Counts keys that were wrong, by the address that they came from."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, address: str) -> float:
        """Take a token for a key that was wrong: 0, or the seconds until there will be one."""
        (most, rate), at = WRONG_KEYS, self._clock()
        tokens, before = self._buckets.pop(address, (most, at))
        tokens = min(most, tokens + (at - before) * rate)
        while len(self._buckets) >= MOST_NAMES:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[address] = max(0.0, tokens - 1) if tokens >= 1 else tokens, at
        return 0.0 if tokens >= 1 else (1 - tokens) / rate


def _names(login: str, address: str) -> tuple[tuple[str, str], ...]:
    kept = login.strip().casefold()[:200]
    return ("login here", f"{kept} {address}"), ("login", kept), ("address", address)
