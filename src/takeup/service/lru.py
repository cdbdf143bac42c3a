"""A cache of a bounded number of items, which forgets those that nobody has asked for in a while."""

import time
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

Item = TypeVar("Item")


class LruCache(Generic[Item]):
    """Items by name.

    Args:
        most: how many are kept; the one that was not asked for the longest makes room.
        seconds: how long an item is kept that nobody asks for.
        drop: called with every item that is dropped.
    """

    def __init__(self, most: int, seconds: float, drop: Callable[[Item], None] = lambda _: None) -> None:
        self._most, self._seconds, self._drop = most, seconds, drop
        self._items: dict[str, tuple[float, Item]] = {}

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter([item for _, item in self._items.values()])

    def get(self, name: str) -> Item | None:
        """The item of this name, if it is still there."""
        self._sweep()
        found = self._items.pop(name, None)
        if found is None:
            return None
        self._items[name] = (time.monotonic(), found[1])
        return found[1]

    def put(self, name: str, item: Item) -> None:
        """Keep an item, in place of one with the same name."""
        self.remove(name)
        self._sweep()
        while len(self._items) >= self._most:
            self.remove(next(iter(self._items)))
        self._items[name] = (time.monotonic(), item)

    def remove(self, name: str) -> None:
        """Drop an item, if it is there."""
        found = self._items.pop(name, None)
        if found is not None:
            self._drop(found[1])

    def clear(self) -> None:
        """Drop all items."""
        for name in list(self._items):
            self.remove(name)

    def _sweep(self) -> None:
        before = time.monotonic() - self._seconds
        for name in [name for name, (at, _) in self._items.items() if at < before]:
            self.remove(name)
