"""The trials at a glance."""

import asyncio
from dataclasses import dataclass

from fastapi import Response
from sqlalchemy import Connection

from takeup.live import Progress, progress_of_all
from takeup.service.callers import SCOPES
from takeup.service.pages.page import HOME, READERS, Pages, Visit
from takeup.service.pages.render.process import Brief
from takeup.service.pages.templates import plural
from takeup.service.pages.trial import render_cache_of
from takeup.store import reading

pages = Pages()
WAIT = 0.5
"""How many seconds the page waits for what is not known yet about its trials."""

MOST_ASKED = 20
"""How many trials a page asks about, at most."""


@dataclass(frozen=True, slots=True)
class ListedTrial:
    """A trial of the list.

    Attributes:
        progress: what everybody may see.
        decided: when the last decision was made.
        brief: what it has found; None for blinded readers, and as long as it is not known.
        awaited: whether it will be known in a moment.
    """

    progress: Progress
    decided: int | None
    brief: Brief | None = None
    awaited: bool = False

    @property
    def warnings(self) -> list[str]:
        """What needs attention."""
        late = self.progress.outcomes_late
        said = [f"{plural(late, 'outcome')} late"] if late else []
        if self.brief is not None:
            said = list(self.brief.warnings)
        return (["Paused: nothing is decided"] if self.progress.state == "paused" else []) + said


@pages.get(HOME, *SCOPES)
async def trials(visit: Visit) -> Response:
    """All trials that the visitor may see."""
    at = visit.service.store.clock()

    def look(connection: Connection) -> list[ListedTrial]:
        names = [name for name in reading.identifiers(connection) if visit.key.covers(name)]
        found = progress_of_all(connection, names, at)
        return [ListedTrial(each, reading.decided_at(connection, each.trial, each.decisions)) for each in found]

    lines = await visit.read(lambda: visit.service.store.read(look))
    if visit.unblinded:
        lines = await _told(visit, lines)
    return visit.page("trials", lines=lines, readable=visit.may(*READERS))


async def _told(visit: Visit, lines: list[ListedTrial]) -> list[ListedTrial]:
    """The same with what each has found; what is not ready in time comes when the page is loaded again."""
    cache = render_cache_of(visit.request)
    open_ = {each.progress.trial for each in lines if visit.key.within(each.progress.trial).unblinded}
    begun = [each.progress for each in lines if each.progress.decisions and each.progress.trial in open_]
    newest = sorted(begun, key=lambda each: -each.at)[:MOST_ASKED]
    await asyncio.gather(*(cache.look(each.trial, "brief", each.sequence, WAIT) for each in newest))
    asked = {each.trial for each in newest}

    def line(each: ListedTrial) -> ListedTrial:
        name = each.progress.trial
        if name not in open_:
            return each
        brief = cache.brief(name)
        awaited = brief is None and name in asked and cache.latest(name, "brief") is None
        return ListedTrial(each.progress, each.decided, brief, awaited)

    return [line(each) for each in lines]
