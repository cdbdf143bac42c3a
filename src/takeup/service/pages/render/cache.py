"""What pages show of trials: each state of a trial is rendered once, by another process, for all who look at it."""

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Literal

from sqlalchemy import Connection

from takeup.errors import NotFoundError
from takeup.live import progress_in
from takeup.live.log import log_of
from takeup.live.tally import tally_of
from takeup.service.pages import sentences
from takeup.service.pages.render.planned import SHORT
from takeup.service.pages.render.process import Brief, Rendered, RenderError, RenderProcess, RenderTask
from takeup.service.pages.templates import render
from takeup.service.routes.log import AuditShown
from takeup.service.service import Service
from takeup.store import reading, shared
from takeup.trial.secret import Secret

LOG = logging.getLogger("takeup.service")
EVERY = 5.0
"""How many seconds a rendering is kept at least, however fast events come."""

SHARE = 4.0
"""How many times its processor time a rendering is kept at least, so that it takes at most a quarter of a core."""

AGAIN = 15.0
"""How many seconds after a failure rendering is tried again."""

AGES = 30.0
"""How many seconds a rendering of a trial with an outcome window is shown: outcomes become late without an event."""

MOST = 128
"""How many renderings are kept."""

Kind = Literal["full", "brief", "blinded"]
_TOLD: tuple[Kind, ...] = ("full", "brief")


@dataclass(slots=True, eq=False)
class _Entry:
    """The latest rendering of a kind, and the next one on its way."""

    rendered: Rendered | None = None
    began: float = -1e9
    ended: float = -1e9
    task: "asyncio.Task[None] | None" = None

    def shows(self, sequence: int) -> bool:
        """Whether the latest rendering is of this state of the trial."""
        found = self.rendered
        if found is None or found.failed is not None or found.sequence < sequence:
            return False
        return found.lasts or time.monotonic() - self.ended < AGES

    @property
    def rests(self) -> bool:
        """Whether it is too early to render again."""
        if self.rendered is None:
            return False
        pause = max(EVERY, SHARE * self.rendered.seconds) if self.rendered.failed is None else AGAIN
        return time.monotonic() - self.began < pause


class RenderCache:
    """The renderings of a service, by trial and reader."""

    def __init__(self, service: Service, process: RenderProcess | None = None) -> None:
        self.service = service
        self.process = process or RenderProcess()
        self.audits: dict[tuple[str, bool], tuple[int, AuditShown]] = {}
        self._entries: OrderedDict[tuple[str, Kind], _Entry] = OrderedDict()

    def latest(self, trial: str, kind: Kind) -> Rendered | None:
        """The latest rendering; None where there is none."""
        entry = self._entries.get((trial, kind))
        return None if entry is None else entry.rendered

    def brief(self, trial: str) -> Brief | None:
        """The latest two lines about a trial; None where nobody has looked yet."""
        known = [found for kind in _TOLD if (found := self.latest(trial, kind)) is not None and found.brief is not None]
        return max(known, key=lambda each: each.sequence).brief if known else None

    async def sequence(self, trial: str) -> int:
        """The number of the trial's last event."""
        store = self.service.store
        return await self.service.read(lambda: store.read(lambda c: int(reading.head(c, trial).sequence)))

    async def look(self, trial: str, kind: Kind, sequence: int, wait: float) -> Rendered | None:
        """A rendering of this state of a trial, if it comes in time, or else the latest that there is.

        Args:
            trial: which trial.
            kind: for whom.
            sequence: the number of the trial's last event.
            wait: how many seconds to wait.
        """
        whole = self._entries.get((trial, "full")) if kind == "brief" else None
        if whole is not None and whole.shows(sequence):
            return whole.rendered
        entry = self._entry(trial, kind)
        if entry.shows(sequence) or entry.rests:
            return entry.rendered
        if entry.task is None or entry.task.done():
            entry.began = time.monotonic()
            entry.task = asyncio.create_task(self._render(entry, trial, kind, sequence))
        await asyncio.wait({entry.task}, timeout=wait)
        return entry.rendered

    async def close(self) -> None:
        """Render no more."""
        tasks = [entry.task for entry in self._entries.values() if entry.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.process.close()

    def _entry(self, trial: str, kind: Kind) -> _Entry:
        entry = self._entries.setdefault((trial, kind), _Entry())
        self._entries.move_to_end((trial, kind))
        idle = [key for key, each in self._entries.items() if each.task is None or each.task.done()]
        for key in idle[: len(self._entries) - MOST]:
            if key != (trial, kind):
                del self._entries[key]
        return entry

    async def _render(self, entry: _Entry, trial: str, kind: Kind, sequence: int) -> None:
        try:
            entry.rendered = await (self._blinded(trial) if kind == "blinded" else self._unblinded(trial, kind))
        except RenderError as error:
            LOG.error("trial %s was not rendered: %s", trial, error)  # its traceback would be that of the pipe
            at = self.service.store.clock()
            html = render("not_rendered", sequence=sequence, at=at, reason=str(error))
            entry.rendered = Rendered.of(html, sequence=sequence, at=at, lasts=False, failed=str(error))
        except NotFoundError:
            entry.rendered = None
        except Exception:
            LOG.exception("trial %s was not rendered", trial)
        entry.ended = time.monotonic()

    async def _unblinded(self, trial: str, kind: Kind) -> Rendered:
        store = self.service.store
        at = store.clock()
        task = RenderTask(trial, at, kind == "full", store.url)
        if not shared(store.url):
            task = await self.service.read(lambda: store.read(lambda connection: _carrying(connection, task)))
        return await self.process.ask(task)

    async def _blinded(self, trial: str) -> Rendered:
        store = self.service.store
        at = store.clock()
        progress = (await self.service.read(lambda: store.read(lambda c: progress_in(c, trial, at)))).blinded
        headline = sentences.blinded_headline(progress)
        html = render("blinded", progress=progress, at=at, headline=headline)
        return Rendered.of(html, sequence=progress.sequence, at=at, lasts=False, state=progress.state)


def _carrying(connection: Connection, task: RenderTask) -> RenderTask:
    """A task with the trial itself, for a process that cannot open the database."""
    book, late = reading.snapshot(connection, task.trial), reading.late(connection, task.trial, task.at)
    book.secret = Secret("", "")  # no page needs it
    log = log_of(connection, task.trial) if book.decisions <= SHORT else None
    tally = tally_of(connection, task.trial, book.design) if task.full else None
    return replace(task, book=(book, late), log=log, tally=tally)
