"""The progress bar that all long commands share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
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


@contextmanager
def staged(what: str, work: float) -> Iterator[tuple[Callable[[float], None], Callable[[str], None]]]:
    """A bar over work of several kinds; yields what reports progress to it and what names the stage it is in.

    Where standard error is no terminal, each stage is a line.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        said: list[str] = []

        def say(stage: str) -> None:
            if said != [stage]:
                console.print(f"{stage} ..", highlight=False, soft_wrap=True)
            said[:] = [stage]

        say(what)
        yield (lambda done: None), say
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=work)
        yield (lambda done: bar.advance(task, done)), (lambda stage: bar.update(task, description=stage))
