"""The application."""

import asyncio
import logging
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from takeup.errors import TakeupError
from takeup.live import trials
from takeup.service import openapi, pages, problem
from takeup.service.fast_routes import Application, FastRoute
from takeup.service.key_cache import KeyCache, Limiter
from takeup.service.metrics import Metrics
from takeup.service.middleware import LargeBodies, RequestLog, RequestMiddleware
from takeup.service.pages.live_updates import LiveUpdates
from takeup.service.pages.render.cache import RenderCache
from takeup.service.routes import routes
from takeup.service.service import Service
from takeup.service.sessions import Sessions
from takeup.service.settings import Settings
from takeup.store import Store
from takeup.trial import Tick

LOG = logging.getLogger("takeup.service")
READERS = 4
"""How many threads read; the database has as many connections for them."""


def create_app(
    settings: Settings = Settings(), store: Store | None = None, log: RequestLog = RequestLog(None)
) -> FastAPI:
    """The service as an ASGI application.

    Args:
        settings: how it is set up.
        store: where the trials are, if it is open already; it is closed when the application shuts down.
        log: where a line a request goes.
    """
    opened = store or settings.store()
    readers = ThreadPoolExecutor(READERS, thread_name_prefix="takeup-reader")
    keys = KeyCache(opened, readers, settings.key_seconds)
    service = Service(
        settings,
        opened,
        readers,
        keys,
        Sessions(opened, readers, keys, settings.session_seconds, settings.key_seconds),
        Limiter(settings.rate, settings.burst),
        Metrics(lambda: opened.queued),
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
            with suppress(asyncio.CancelledError):
                await ticking
            await updates.close()
            await cache.close()
            await service.drafts.close()
            await asyncio.to_thread(opened.close)
            readers.shutdown()

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
    bodies = LargeBodies(settings.bodies_limit)
    middleware = partial(RequestMiddleware, settings=settings, metrics=service.metrics, log=log, bodies=bodies)
    app.add_middleware(middleware)
    # Not include_router: it looks every route up twice, which decisions would pay for.
    app.router.routes.extend([*routes(), *pages.routes()])
    app.add_fast_routes([route for route in routes() if isinstance(route, FastRoute)], middleware)
    return app


async def _tick(service: Service) -> None:
    """Close outcome windows in trials that nobody asks anything of."""
    while True:
        await asyncio.sleep(service.settings.tick_seconds)
        try:
            for each in await service.read(lambda: trials(service.store)):
                if each.outcomes_waiting:
                    await service.submit(each.trial, Tick())
        except TakeupError:
            LOG.exception("outcome windows were not looked after; trying again later")
