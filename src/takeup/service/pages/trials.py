"""The trials at a glance."""

from fastapi import Response
from sqlalchemy import Connection

from takeup.live import Progress, progress_in
from takeup.service.keys import SCOPES
from takeup.service.pages.page import HOME, READERS, Pages, Visit
from takeup.store import reading

pages = Pages()


@pages.get(HOME, *SCOPES)
async def trials(visit: Visit) -> Response:
    """All trials that the visitor's key is valid in."""
    at = visit.service.store.clock()

    def look(connection: Connection) -> list[Progress]:
        names = [name for name in reading.identifiers(connection) if visit.key.covers(name)]
        return [progress_in(connection, name, at) for name in names]

    found = await visit.read(lambda: visit.service.store.read(look))
    return visit.page("trials", trials=found, readable=visit.may(*READERS))
