"""The analysis of a trial, for those who may know what each arm does: computed when asked for, by another process."""

from fastapi import Response
from markupsafe import Markup

from takeup.service.pages.page import Pages, Visit
from takeup.service.problem import ProblemError
from takeup.store import reading, shared
from takeup.trial import Design

pages = Pages()


@pages.get("/app/trials/{trial}/analysis", "read-unblinded")
async def look(visit: Visit) -> Response:
    """What was found the last time, and how much has happened since."""
    store = visit.service.store
    head = await visit.read(lambda: store.read(lambda connection: reading.head(connection, visit.trial)))
    last = visit.service.drafts.analyses.get(visit.trial)
    found = None if last is None else last.found
    return visit.page(
        "analysis",
        trial=visit.trial,
        name=Design.of_text(head.spec).spec.name,
        state=head.state,
        possible=shared(store.url),
        job=None if last is None else last.job,
        found=found,
        chart=None if found is None or found["chart"] is None else Markup(found["chart"]),  # our own charts made it
        since=0 if found is None else head.sequence - found["sequence"],
    )


@pages.post("/app/trials/{trial}/analysis", "read-unblinded")
async def analyse(visit: Visit) -> Response:
    """Start an analysis, unless one is under way."""
    store = visit.service.store
    await visit.read(lambda: store.read(lambda connection: reading.head(connection, visit.trial)))
    if not shared(store.url):
        raise ProblemError("unavailable", "this database cannot be read by the process that analyses")
    visit.service.drafts.analyse(store.url, visit.trial)
    return visit.see(f"/app/trials/{visit.trial}/analysis")
