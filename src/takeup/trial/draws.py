"""How many fallbacks each client has drawn: a fold of the log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class ClientDraws:
    """The fallbacks that were recorded with one key.

    Attributes:
        proposals: how often each proposal was drawn, n[z].
        since: when the current stretch of a day began, with the first fallback after the one before.
        recent: how many were recorded in it.
    """

    proposals: tuple[int, ...]
    since: int
    recent: int

    @classmethod
    def none(cls, proposals: int) -> "ClientDraws":
        """Of somebody who has recorded none."""
        return cls((0,) * proposals, -DAY, 0)

    @classmethod
    def stored(cls, given: Mapping[str, Any]) -> "ClientDraws":
        """As JSON has it."""
        return cls(tuple(given["proposals"]), given["since"], given["recent"])

    def today(self, at: int) -> int:
        """How many count against the limit of a day."""
        return self.recent if at < self.since + DAY else 0

    def plus(self, proposal: int, at: int) -> "ClientDraws":
        """With one more."""
        drawn = tuple(n + (z == proposal) for z, n in enumerate(self.proposals))
        recent = self.today(at)
        return ClientDraws(drawn, self.since if recent else at, recent + 1)
