"""The report: one self-contained HTML page, with its charts as files beside it."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

from takeup import charts
from takeup.charts.document import ReportFigure, page
from takeup.charts.extra import required
from takeup.errors import InputError
from takeup.paper.reproduction import Reproduction

PAGE = "report.html"


def check(directory: Path) -> None:
    """Raise an error if no report could be written there: before hours of work, not after."""
    for module in ("altair", "vl_convert", "jinja2"):
        required(module)
    if directory.exists() and not directory.is_dir():
        raise InputError("--out", directory, "a folder, or a name that is free", "choose another")
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory if directory.exists() else directory.parent):
            pass
    except OSError as error:
        raise InputError("--out", directory, "a folder that can be written to", str(error)) from None


def write(made: Reproduction, directory: Path, drawn: Callable[[float], object] = lambda _: None) -> Path:
    """Write page and charts, all of them or none; returns the page.

    Args:
        made: what was measured.
        directory: is made if it does not exist; files of the same names in it are replaced.
        drawn: called after each chart with its share of all drawing.
    """
    with _beside(directory) as folder:
        chapters = made.chapters()
        figures = [figure for chapter in chapters.values() for figure in chapter.figures]
        images = {}
        for figure in figures:
            images[figure.name] = _draw(figure, folder)
            drawn(1 / len(figures))
        written = page("paper/report.html.jinja", chapters=chapters, images=images, about=made.about())
        (folder / PAGE).write_text(written, encoding="utf-8")
        directory.mkdir(parents=True, exist_ok=True)
        for file in sorted(folder.iterdir(), key=lambda file: file.name == PAGE):  # the page last
            os.replace(file, directory / file.name)
    return directory / PAGE


def _draw(figure: ReportFigure, folder: Path) -> str:
    """Writes the files of a chart and returns it as part of a page."""
    chart = figure.draw()
    (folder / f"{figure.name}.svg").write_text(charts.svg(chart), encoding="utf-8")
    (folder / f"{figure.name}.png").write_bytes(charts.png(chart))
    return charts.inline(chart, figure.name, figure.alternative)


@contextmanager
def _beside(directory: Path) -> Iterator[Path]:
    """A temporary folder on the same disk, removed whatever happens."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".takeup-paper-", dir=directory.parent))
    try:
        yield folder
    finally:
        rmtree(folder)
