"""The decisions that an edge remembers: the latest, in a bounded memory."""

import json
import threading
from collections.abc import Iterable, Iterator

from takeup.client.edge_rows import EdgeDecision
from takeup.trial.ingested import Lapse

Place = str | tuple[str, str]
"""A unit, or a unit and an occasion."""


class Remembered:
    """Decisions by unit; at least the latest half of `most` of them are there, and never more than `most`.

    Two tables take turns: when the later is full it becomes the earlier, and what that had is forgotten. Looking
    something up takes no lock.

    Attributes:
        latest: what was decided last.
        earlier: what was decided before.
        half: how many decisions a table holds.
    """

    __slots__ = ("_lock", "earlier", "half", "latest")

    def __init__(self, most: int) -> None:
        self.latest: dict[Place, EdgeDecision] = {}
        self.earlier: dict[Place, EdgeDecision] = {}
        self.half = most // 2
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self.latest) + len(self.earlier)

    def turn(self) -> None:
        """Begin a new table, if the later one is full."""
        with self._lock:
            if len(self.latest) >= self.half:
                self.earlier, self.latest = self.latest, {}

    def of(self, unit: str, occasion: str | None) -> EdgeDecision | None:
        """What is remembered of a unit."""
        place = unit if occasion is None else (unit, occasion)
        return self.latest.get(place) or self.earlier.get(place)

    def forget(self, lapse: Lapse) -> None:
        """Forget what was drawn from a lease at this time or later."""
        with self._lock:
            for table in (self.earlier, self.latest):
                for place, made in table.copy().items():
                    if (made.lease, made.lease_hash) == (lapse.lease, lapse.lease_hash) and made.drawn >= lapse.drawn:
                        table.pop(place, None)

    def read(self, batches: Iterable[bytes]) -> None:
        """Remember what batches say that was decided, the latest first; what would be forgotten again is not read."""
        found: dict[Place, EdgeDecision] = {}
        for lines in batches:
            for place, made in reversed(dict(map(_placed, _decided(lines))).items()):
                found.setdefault(place, made)
            if len(found) >= 2 * self.half:
                break
        for place, made in reversed(found.items()):
            self.latest[place] = made
            if len(self.latest) >= self.half:
                self.turn()


def _decided(lines: bytes) -> Iterator[EdgeDecision]:
    """The decisions that a batch has, or repeats."""
    for said in map(json.loads, lines.splitlines()):
        if "lease" in said:
            yield EdgeDecision(*map(said.get, EdgeDecision._fields))


def _placed(made: EdgeDecision) -> tuple[Place, EdgeDecision]:
    return made.unit if made.occasion is None else (made.unit, made.occasion), made
