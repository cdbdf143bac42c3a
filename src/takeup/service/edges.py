"""What one key may ask for at the edge: how many leases at once and a minute, and how many rows at once."""

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from takeup.service.key_cache import Limiter
from takeup.service.problem import ProblemError

MOST_ROWS_AT_ONCE = 200_000
"""How many rows of one key are taken at once: two full batches."""


class EdgeLimits:
    """Counts leases and rows by key, in this process.

    Args:
        leases: how many leases a key may have at once; it gains as many a minute.
    """

    def __init__(self, leases: float) -> None:
        self._leases, self._most = Limiter(leases / 60, leases), leases
        self._rows: Counter[str] = Counter()

    def lease(self, key: str) -> None:
        """One more lease.

        Raises:
            ProblemError: the key has had too many.
        """
        wait = self._leases.wait(key)
        if wait:
            said = (
                f"the key has had more leases than {self._most:g} at once and as many a minute after that; let leases"
                " last longer ([edge] seconds, most)"
            )
            raise ProblemError("too-many", said, headers={"Retry-After": str(math.ceil(wait))})

    @contextmanager
    def taking(self, key: str, rows: int) -> Iterator[None]:
        """While so many rows of a key are taken.

        Raises:
            ProblemError: too many of them are.
        """
        if self._rows[key] and self._rows[key] + rows > MOST_ROWS_AT_ONCE:
            said = (
                f"{self._rows[key]} rows of this key are being taken, and {MOST_ROWS_AT_ONCE} may be; send them later"
            )
            raise ProblemError("too-many", said, headers={"Retry-After": "1"})
        self._rows[key] += rows
        try:
            yield
        finally:
            self._rows[key] -= rows
            if not self._rows[key]:
                del self._rows[key]
