"""The page of a trial: how it stands, live updates, its audit."""

from collections.abc import AsyncIterator

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from markupsafe import Markup

from takeup.service.pages.live_updates import LiveUpdates, news
from takeup.service.pages.page import CONTENT_POLICY, READERS, Pages, Visit
from takeup.service.pages.render.cache import Kind, RenderCache
from takeup.service.pages.render.process import Rendered
from takeup.service.pages.spec_sentences import blinded_sentences, spec_sentences
from takeup.service.routes.log import AuditShown, audited
from takeup.store import reading
from takeup.trial import Design

pages = Pages()
WAIT = 0.7
"""How many seconds a page waits for its dashboard; after that scripts fetch it, or the page loads itself again."""

FRAGMENT_WAIT = 10.0


@pages.get("/app/trials/{trial}", *READERS)
async def trial(visit: Visit) -> Response:
    """The whole page."""
    store, name, cache = visit.service.store, visit.trial, render_cache_of(visit.request)
    head, seeded = await visit.read(
        lambda: store.read(lambda connection: (reading.head(connection, name), reading.seeded(connection, name)))
    )
    design = Design.of_text(head.spec)
    spec = design.spec
    rendered = await cache.look(name, _kind(visit), head.sequence, WAIT)
    audit = cache.audits.get((name, visit.unblinded))
    whole = visit.unblinded or (head.state == "draft" and visit.may("design"))  # who can change it can read it
    return visit.page(
        "trial",
        trial=name,
        name=spec.name,
        rehearsal=spec.rehearsal,
        refused=design.refused,
        design=spec_sentences(design) if whole else blinded_sentences(design),
        whole=whole,
        taken_over=head.decisions > 0,
        seeded=seeded,
        limits=spec.fallback_limits,
        state=head.state,
        sequence=head.sequence,
        rendered=rendered,
        dashboard=None if rendered is None else Markup(rendered.html.decode()),  # our own template made it
        audit=audit,
        anchored=visit.service.settings.anchors is not None,
    )


@pages.get("/app/trials/{trial}/dashboard", *READERS)
async def dashboard(visit: Visit) -> Response:
    """The part of the page that changes; no content where the reader has the latest."""
    cache, kind, seen = render_cache_of(visit.request), _kind(visit), _number(visit.request, "after")
    rendered = cache.latest(visit.trial, kind)
    if rendered is None or rendered.at <= seen:
        rendered = await cache.look(visit.trial, kind, await cache.sequence(visit.trial), FRAGMENT_WAIT)
    if rendered is None or rendered.at <= seen:
        return Response(status_code=204)
    return _fragment(visit.request, rendered)


@pages.get("/app/trials/{trial}/stream", *READERS)
async def stream(visit: Visit) -> Response:
    """Server-sent events: there is something new to see."""
    updates: LiveUpdates = visit.request.app.state.live_updates
    await render_cache_of(visit.request).sequence(visit.trial)  # an error where there is no such trial
    listener = updates.join(visit.trial, visit.key.id, _kind(visit), _number(visit.request, "after"))

    async def welcome() -> bool:
        key = await visit.service.sessions.find(visit.cookie)
        return key is not None and key.allows(READERS) and key.covers(visit.trial)

    async def said() -> AsyncIterator[bytes]:
        try:
            async for part in news(listener, welcome):
                yield part
        finally:
            updates.leave(visit.trial, listener)

    return StreamingResponse(said(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@pages.post("/app/trials/{trial}/audit", *READERS)
async def audit(visit: Visit) -> Response:
    """Derive everything again from the log, and show what was found."""
    found = await audited(visit.service, visit.trial)
    at, audits = visit.service.store.clock(), render_cache_of(visit.request).audits
    for unblinded in (False, True):
        audits[visit.trial, unblinded] = (at, AuditShown.of(found, blinded=not unblinded))
    return visit.see(f"/app/trials/{visit.trial}#audit")


def render_cache_of(request: Request) -> RenderCache:
    """The renderings of the service that a request has come to."""
    found: RenderCache = request.app.state.render_cache
    return found


def _kind(visit: Visit) -> Kind:
    return "full" if visit.unblinded else "blinded"


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _fragment(request: Request, rendered: Rendered) -> Response:
    headers = {"Content-Security-Policy": CONTENT_POLICY, "Vary": "Accept-Encoding"}
    content = rendered.html
    if "gzip" in request.headers.get("accept-encoding", ""):
        headers["Content-Encoding"], content = "gzip", rendered.packed
    return Response(content, media_type="text/html; charset=utf-8", headers=headers)
