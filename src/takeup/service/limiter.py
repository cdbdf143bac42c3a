"""How often a key may ask: a token bucket for each."""

import time
from collections.abc import Callable


class Limiter:
    """Buckets that hold `burst` tokens and gain `rate` of them a second; a request takes one."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, name: str) -> float:
        """Take a token: 0, or the seconds until there will be one."""
        at = self._clock()
        tokens, before = self._buckets.get(name, (self._burst, at))
        tokens = min(self._burst, tokens + (at - before) * self._rate)
        if tokens < 1:
            self._buckets[name] = tokens, at
            return (1 - tokens) / self._rate
        self._buckets[name] = tokens - 1, at
        return 0.0
