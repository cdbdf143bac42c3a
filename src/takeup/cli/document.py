"""Chapters on a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table as RichTable

from takeup.charts.document import Entry, ReportTable
from takeup.paper.document import Chapter, Checked

YES, NO = "[green]✓[/]", "[red]✗[/]"


def show(console: Console, chapter: Chapter) -> None:
    """Title, claims, tables and the verdict; charts are for the page."""
    console.rule(f"[bold]{escape(chapter.title)}", align="left")
    for table in chapter.tables:
        console.print(rich(table))
    for checked in chapter.checked:
        _claims(console, checked)
    console.print(f"[bold]{escape(chapter.verdict)}[/]\n")


def rich(table: ReportTable) -> RichTable:
    """The table with marks for verdicts."""
    drawn = RichTable(title=escape(table.caption), title_justify="left")
    for i, column in enumerate(table.columns):
        drawn.add_column(column, justify="left" if i < table.words else "right", no_wrap=i < table.words)
    for row in table.rows:
        drawn.add_row(*map(_entry, row))
    return drawn


def _entry(entry: Entry) -> str:
    if isinstance(entry, str):
        return escape(entry)
    return f"{escape(entry.text)} {YES if entry.holds else NO}"


def _claims(console: Console, checked: Checked) -> None:
    console.print(f"[italic]{escape(checked.caption)}[/]")
    for claim in checked.claims:
        console.print(f"{YES if claim.holds else NO} {escape(claim.claim)}")
        console.print(Padding(f"[dim]{escape(claim.found)}[/]", (0, 0, 0, 2)))
