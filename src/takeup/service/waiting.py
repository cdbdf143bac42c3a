"""How many single decisions and reports are on their way: where more come than can be written, some are turned away."""

from collections import Counter
from types import TracebackType


class Waiting:
    """Requests that wait for the database, by trial.

    As long as there is room all are let in. Then those of a trial that has its share already are turned away, so that
    a rush to one trial is not paid for by another, and whoever is let in is answered soon.

    Args:
        most: how many there is room for.
    """

    def __init__(self, most: int) -> None:
        self._most, self._total = most, 0
        self._counts: Counter[str] = Counter()

    def full(self, trial: str) -> bool:
        """Whether one more for this trial is to be turned away."""
        return self._total >= self._most and self._counts[trial] * len(self._counts) >= self._most

    def place(self, trial: str) -> "Place":
        """A place for one request, as long as the block lasts."""
        return Place(self, trial)

    def come(self, trial: str) -> None:
        """One more."""
        self._total += 1
        self._counts[trial] += 1

    def gone(self, trial: str) -> None:
        """One less."""
        self._total -= 1
        self._counts[trial] -= 1
        if not self._counts[trial]:
            del self._counts[trial]


class Place:
    """A place among those who wait."""

    __slots__ = ("_trial", "_waiting")

    def __init__(self, waiting: Waiting, trial: str) -> None:
        self._waiting, self._trial = waiting, trial

    def __enter__(self) -> None:
        self._waiting.come(self._trial)

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._waiting.gone(self._trial)
