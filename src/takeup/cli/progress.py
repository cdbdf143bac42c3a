"""The progress bar that all long commands share."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from takeup.simulation.engine import Progress as Report


class _Speed(ProgressColumn):
    """Decisions a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{speed:,.0f} decisions/s", style="progress.data.speed")


@contextmanager
def watched(what: str, decisions: int, done: int = 0) -> Iterator[Report]:
    """A bar on standard error over so many decisions; yields what reports progress to it."""
    columns = (TextColumn("{task.description}"), BarColumn(), _Speed(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=decisions, completed=done)

        def report(made: int) -> None:
            bar.advance(task, made)

        yield report
