"""What a chapter of the report consists of: plain data that the terminal and the HTML page both show."""

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
"""A cell of a table."""


@dataclass(frozen=True, slots=True)
class Checked:
    """Claims under a caption, each with its verdict."""

    caption: str
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows under a caption; the first `words` columns hold words, the others figures."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Entry, ...], ...]
    words: int = 1


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A chart that has yet to be drawn: the name of its files, a caption, and a text alternative to the picture.

    `draw` makes the chart and needs the extra `report`.
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
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[ReportFigure, ...] = ()


def figure(value: float) -> str:
    """Two decimals, and one from a hundred on, as the paper prints."""
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}"


def with_error(value: float, error: float) -> str:
    """A figure and its Monte Carlo error."""
    return f"{figure(value)} ± {figure(error)}"
