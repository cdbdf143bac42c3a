"""What a chapter of the report consists of: plain data that the terminal and the HTML page both show."""

from dataclasses import dataclass

from takeup.charts.document import ReportFigure, ReportTable
from takeup.paper.rules import Claim


@dataclass(frozen=True, slots=True)
class Checked:
    """Claims under a caption, each with its verdict."""

    caption: str
    claims: tuple[Claim, ...]


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
