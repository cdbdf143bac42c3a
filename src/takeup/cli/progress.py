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


class _Speed(ProgressColumn):
    """Decisions a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if not speed else f"{speed:,.0f} decisions/s", style="progress.data.speed")


@contextmanager
def watched(
    what: str, work: float, done: int = 0, *, decisions: bool = False
) -> Iterator[tuple[Callable[[float], None], Callable[[str], None]]]:
    """A bar on standard error; yields what reports progress to it and what names the stage it is in.

    Where standard error is no terminal, each stage is a line. Work that is counted in decisions has a speed.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield (lambda made: None), (lambda stage: console.print(f"{stage} ..", highlight=False, soft_wrap=True))
        return
    counted = _Speed() if decisions else TaskProgressColumn()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), counted)
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(what, total=work, completed=done)
        yield (lambda made: bar.advance(task, made)), (lambda stage: bar.update(task, description=stage))
