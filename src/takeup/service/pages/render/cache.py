"""What pages show of trials: each state is drawn once, by another process, for all who look at it."""

import asyncio
import gzip
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Literal

from takeup.errors import NotFoundError
from takeup.live import progress_in
from takeup.service.core import Service
from takeup.service.models import AuditShown
from takeup.service.pages import sentences
from takeup.service.pages.render.process import Brief, Rendered, RenderError, RenderProcess, RenderTask
from takeup.service.pages.templates import render
from takeup.store import reading, shared
from takeup.trial.secret import Secret

LOG = logging.getLogger("takeup.service")
EVERY = 5.0
"""A trial is drawn again after so many seconds at the earliest, however fast its events come."""

SHARE = 4.0
"""For so many times the processor time of a drawing its trial is left alone."""

AGAIN = 15.0
"""After a drawing failed it is tried again after so many seconds."""

AGES = 30.0
"""After so many seconds, in which outcomes may have become late, a trial with windows is drawn again."""

MOST = 128
"""So many drawings are kept."""

Kind = Literal["full", "brief", "blinded"]
_TOLD: tuple[Kind, ...] = ("full", "brief")


@dataclass(slots=True, eq=False)
class _Entry:
    """The latest drawing of a kind, and the next one on its way."""

    rendered: Rendered | None = None
    began: float = -1e9
    ended: float = -1e9
    task: "asyncio.Task[None] | None" = None

    def shows(self, sequence: int) -> bool:
        """Whether the latest drawing is of this state of the trial."""
        found = self.rendered
        if found is None or found.failed is not None or found.sequence < sequence:
            return False
        return found.lasts or time.monotonic() - self.ended < AGES

    @property
    def rests(self) -> bool:
        """Whether it is too early to draw again."""
        if self.rendered is None:
            return False
        pause = max(EVERY, SHARE * self.rendered.seconds) if self.rendered.failed is None else AGAIN
        return time.monotonic() - self.began < pause


class RenderCache:
    """The drawings of a service."""

    def __init__(self, service: Service, worker: RenderProcess | None = None) -> None:
        self.service = service
        self.worker = worker or RenderProcess()
        self.audits: dict[tuple[str, bool], tuple[int, AuditShown]] = {}
        self._entries: OrderedDict[tuple[str, Kind], _Entry] = OrderedDict()
        self._ways: dict[Kind, Callable[[str], Awaitable[Rendered]]] = {
            "full": lambda trial: self._asked(trial, full=True),
            "brief": lambda trial: self._asked(trial, full=False),
            "blinded": self._blinded,
        }

    def latest(self, trial: str, kind: Kind) -> Rendered | None:
        """What there is."""
        entry = self._entries.get((trial, kind))
        return None if entry is None else entry.rendered

    def brief(self, trial: str) -> Brief | None:
        """The latest that is known in short."""
        known = [found for kind in _TOLD if (found := self.latest(trial, kind)) is not None and found.brief is not None]
        return max(known, key=lambda each: each.sequence).brief if known else None

    async def sequence(self, trial: str) -> int:
        """The number of the trial's last event."""
        store = self.service.store
        return await self.service.read(lambda: store.read(lambda c: int(reading.head(c, trial).sequence)))

    async def look(self, trial: str, kind: Kind, sequence: int, wait: float) -> Rendered | None:
        """A drawing of this state of a trial, if it comes in time, or else the latest that there is.

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
            entry.task = asyncio.create_task(self._draw(entry, trial, kind, sequence))
        await asyncio.wait({entry.task}, timeout=wait)
        return entry.rendered

    async def close(self) -> None:
        """Draw no more."""
        tasks = [entry.task for entry in self._entries.values() if entry.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.worker.close()

    def _entry(self, trial: str, kind: Kind) -> _Entry:
        entry = self._entries.setdefault((trial, kind), _Entry())
        self._entries.move_to_end((trial, kind))
        idle = [key for key, each in self._entries.items() if each.task is None or each.task.done()]
        for key in idle[: len(self._entries) - MOST]:
            if key != (trial, kind):
                del self._entries[key]
        return entry

    async def _draw(self, entry: _Entry, trial: str, kind: Kind, sequence: int) -> None:
        try:
            entry.rendered = await self._ways[kind](trial)
        except RenderError as error:
            LOG.error("trial %s was not rendered: %s", trial, error)  # where it happened says nothing
            html = render("not_rendered", sequence=sequence, at=self.service.store.clock(), reason=str(error)).encode()
            entry.rendered = Rendered(
                sequence, self.service.store.clock(), False, None, html, gzip.compress(html), str(error)
            )
        except NotFoundError:
            entry.rendered = None
        except Exception:
            LOG.exception("trial %s was not drawn", trial)
        entry.ended = time.monotonic()

    async def _asked(self, trial: str, *, full: bool) -> Rendered:
        store = self.service.store
        at = store.clock()
        task = RenderTask(trial, at, full, store.url)
        if not shared(store.url):
            book, late = await self.service.read(
                lambda: store.read(lambda c: (reading.snapshot(c, trial), reading.late(c, trial, at)))
            )
            book.secret = Secret("", "")  # no drawing needs it
            task = replace(task, book=(book, late))
        return await self.worker.ask(task)

    async def _blinded(self, trial: str) -> Rendered:
        store = self.service.store
        at = store.clock()
        progress = await self.service.read(lambda: store.read(lambda c: progress_in(c, trial, at)))
        headline = sentences.blinded_headline(progress)
        html = render("blinded", progress=progress, at=at, headline=headline).encode()
        return Rendered(progress.sequence, at, False, None, html, gzip.compress(html), state=progress.state)
