"""The application."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from takeup.errors import BusyError, TakeupError
from takeup.service import openapi, pages, problem
from takeup.service.accounts import Accounts
from takeup.service.drafts import Drafts
from takeup.service.edges import EdgeLimits
from takeup.service.fast_routes import Application, FastRoute
from takeup.service.key_cache import KeyCache, Limiter
from takeup.service.metrics import Metrics
from takeup.service.middleware import LargeBodies, RequestLog, RequestMiddleware
from takeup.service.pages.live_updates import LiveUpdates
from takeup.service.pages.render.cache import RenderCache
from takeup.service.readiness import Readiness
from takeup.service.routes import routes
from takeup.service.service import Service
from takeup.service.sessions import Sessions
from takeup.service.settings import Settings
from takeup.service.waiting import Waiting
from takeup.store import READERS, Store, reading
from takeup.trial import Tick

LOG = logging.getLogger("takeup.service")
ENTRANCE = 2
"""How many of the threads that read do so for keys, sessions and readiness alone: nothing else keeps anybody out."""
ROUNDS = 100
"""How often a trial with very many outcome windows to close is asked to go on, before the next look at all trials."""
ROUND_SECONDS = 0.2
"""How long others have the writer to themselves between two of them."""
CLOSE_SECONDS = 5.0
"""How long requests that nobody waits for any more may still take when the service ends."""


def create_app(
    settings: Settings = Settings(), store: Store | None = None, log: RequestLog = RequestLog(None)
) -> Application:
    """The service as an ASGI application.

    Args:
        settings: how it is set up.
        store: where the trials are, if it is open already; it is closed when the application shuts down.
        log: where a line a request goes.
    """
    opened = store or settings.store()
    readers = ThreadPoolExecutor(READERS - ENTRANCE, thread_name_prefix="takeup-reader")
    entrance = ThreadPoolExecutor(ENTRANCE, thread_name_prefix="takeup-entrance")
    readiness = Readiness(opened, entrance, settings.queue_limit)
    keys = KeyCache(opened, entrance, settings.key_seconds)
    people = Accounts(opened, entrance, settings.key_seconds, settings.invitation_seconds)
    sessions = Sessions(
        opened,
        entrance,
        keys,
        people,
        seconds=settings.session_seconds,
        idle=settings.idle_seconds,
        stale=settings.key_seconds,
    )
    service = Service(
        settings,
        opened,
        readers,
        keys,
        people,
        sessions,
        Limiter(settings.rate, settings.burst),
        Metrics(lambda: opened.queued, lambda: opened.oldest, lambda: readiness.ready),
        readiness,
        Waiting(settings.waiting_limit),
        EdgeLimits(settings.leases),
        drafts=Drafts(settings.decision_seconds),
    )
    cache = RenderCache(service)
    updates = LiveUpdates(cache)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        ticking = asyncio.create_task(_tick(service))
        try:
            yield
        finally:
            ticking.cancel()
            await asyncio.wait({ticking})
            for close in (updates.close, cache.close, service.drafts.close):
                with _logged("not everything could be closed"):
                    await close()
            await asyncio.to_thread(opened.close, CLOSE_SECONDS)
            people.passwords.close()
            for threads in (readers, entrance):
                threads.shutdown(wait=False, cancel_futures=True)

    app = Application(
        title=openapi.TITLE,
        description="Adaptive experiments in which people do not do what they are told: live trials.",
        docs_url=None,  # they would load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service, app.state.render_cache, app.state.live_updates = service, cache, updates
    app.openapi = lambda: openapi.describe(app)  # type: ignore[method-assign]  # FastAPI's own way to extend it
    for error in (HTTPException, RequestValidationError, TakeupError):
        app.add_exception_handler(error, problem.handle)
    bodies = LargeBodies(settings.bodies_limit, max(settings.bodies_limit // 4, settings.batch_limit))
    middleware = partial(RequestMiddleware, settings=settings, metrics=service.metrics, log=log, bodies=bodies)
    app.add_middleware(middleware)
    # Not include_router: it looks every route up twice, which decisions would pay for.
    app.router.routes.extend([*routes(), *pages.routes()])
    app.add_fast_routes([route for route in routes() if isinstance(route, FastRoute)], middleware)
    return app


async def _tick(service: Service) -> None:
    """Close outcome windows in trials that nobody asks anything of, and look whether the service is ready."""
    while True:
        await asyncio.sleep(service.settings.tick_seconds)
        with _logged("outcome windows were not looked after; trying again later"):
            await _close_windows(service)
        with _logged("whether the service is ready is not known"):
            for problem in await service.readiness.problems():
                LOG.error("not ready: %s", problem)


async def _close_windows(service: Service) -> None:
    """In all trials where some are due; where they are too many for one transaction, in rounds."""
    due = await service.read(partial(service.store.read, partial(reading.due, at=service.store.clock())))
    for _ in range(ROUNDS):
        busy = []
        for trial in due:
            with _logged(f"the outcome windows of trial {trial} were not looked after; trying again later"):
                try:
                    await service.submit(trial, Tick())
                except BusyError:
                    busy.append(trial)
        if not busy:
            return
        due = busy
        await asyncio.sleep(ROUND_SECONDS)


@contextmanager
def _logged(what: str) -> Iterator[None]:
    """Log an exception, whatever it is, and go on."""
    try:
        yield
    except Exception:
        LOG.exception(what)
