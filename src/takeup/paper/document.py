"""What a chapter of the report consists of: plain data that a terminal and a page show alike."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from takeup.paper.rules import Claim


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure with its verdict."""

    text: str
    holds: bool


Entry: TypeAlias = str | Judged
"""What stands in a table."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a caption.

    Attributes:
        caption: what the table shows.
        columns: the names of its columns.
        rows: as many entries each as there are columns.
        words: how many of the first columns are words, and not figures.
    """

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Checked:
    """Claims under a caption, each with its verdict."""

    caption: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart that has yet to be drawn.

    Attributes:
        name: of its files.
        caption: what it shows, and how to read it.
        alternative: what can be seen on it, for those who do not.
        draw: makes the chart; needs the extra `report`.
    """

    name: str
    caption: str
    alternative: str
    draw: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Chapter:
    """One result of the paper, measured again.

    Attributes:
        title: of the chapter.
        verdict: what came out, in a sentence.
        text: paragraphs that say what was run and by what rule it was judged.
        checked: what the paper says in words, with verdicts.
        tables: the figures.
        figures: the charts.
    """

    title: str
    verdict: str
    text: tuple[str, ...]
    checked: tuple[Checked, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()


def figure(value: float) -> str:
    """Two decimals, and one from a hundred on, as the paper prints."""
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def with_error(value: float, error: float) -> str:
    """A figure and its Monte Carlo error."""
    return f"{figure(value)} ± {figure(error)}"
