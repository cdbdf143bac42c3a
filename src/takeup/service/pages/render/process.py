"""The process that renders pages, so that the one that decides need not: how it is asked, and what it answers."""

import gzip
from dataclasses import dataclass
from typing import Any

from takeup.errors import TakeupError
from takeup.live.tally import Tally
from takeup.log import Log
from takeup.pipes import running
from takeup.service.child_process import ChildError, ChildProcess
from takeup.trial.book import Book

MODULE = "takeup.service.pages.render.child"
PATIENCE = 60.0
"""How many seconds a rendering may take."""


@dataclass(frozen=True, slots=True)
class RenderTask:
    """What to render.

    Attributes:
        trial: which trial.
        at: what time it is.
        full: the whole dashboard, or its brief alone.
        database: where the trial is.
        book: the trial itself, with its late outcomes, where no other process can open the database,
        log: and what it was read from, where it is not too long to be sent,
        tally: and who was met.
    """

    trial: str
    at: int
    full: bool
    database: str
    book: tuple[Book, int] | None = None
    log: Log | None = None
    tally: Tally | None = None


@dataclass(frozen=True, slots=True)
class Brief:
    """A trial in two lines.

    Attributes:
        standing: which proposal is best, and how surely.
        warnings: what to know before anything else.
    """

    standing: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rendered:
    """What a page shows of one state of a trial.

    Attributes:
        sequence: the trial's last event in it.
        at: when it was rendered, in microseconds since 1970, UTC.
        lasts: whether it stays right as long as nothing happens; outcomes can become late by themselves.
        brief: the trial in two lines; None for blinded readers.
        html: the dashboard; empty where the brief alone was asked for.
        packed: the same, as gzip.
        failed: why there is no dashboard, where there is none.
        seconds: of a processor that it took.
        state: the trial's, as rendered; empty where there is no dashboard.
    """

    sequence: int
    at: int
    lasts: bool = True
    brief: Brief | None = None
    html: bytes = b""
    packed: bytes = b""
    failed: str | None = None
    seconds: float = 0.0
    state: str = ""

    @classmethod
    def of(cls, html: str, **known: Any) -> "Rendered":
        """With its HTML compressed as well."""
        content = html.encode()
        return cls(html=content, packed=gzip.compress(content, 5), **known)


class RenderError(TakeupError):
    """A trial was not rendered."""


class RenderProcess(ChildProcess):
    """The one process that renders."""

    def __init__(self, command: tuple[str, ...] = running(MODULE), patience: float = PATIENCE) -> None:
        super().__init__("renders", command, patience)

    async def ask(self, task: RenderTask) -> Rendered:
        """Have a task done; one at a time.

        Raises:
            RenderError: it was not done.
        """
        try:
            answer = await super().ask(task)
        except ChildError as error:
            raise RenderError(str(error)) from error
        if isinstance(answer, Rendered):
            return answer
        raise RenderError(str(answer))
