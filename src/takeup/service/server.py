"""The process that serves."""

import asyncio
import gc
import logging
import os
import socket
import sys
import threading
from contextlib import suppress
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from takeup.errors import InputError
from takeup.service.app import create_app
from takeup.service.connections import Connections
from takeup.service.fast_routes import Application
from takeup.service.middleware import RequestLog
from takeup.service.service import Service
from takeup.service.settings import Settings
from takeup.store import Store

LOG = logging.getLogger("takeup.service")
BACKLOG = 2_048
DESCRIPTORS = 200
"""How many files may be open besides connections."""
YOUNG = 20_000
"""How many new objects make the garbage collector run."""
SWITCH_SECONDS = 0.001
END_SECONDS = 15
"""How long the service may take to end after its requests have."""


def listen(settings: Settings) -> socket.socket:
    """A socket that listens where the settings say."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or str(error)
        where = f"{settings.host}:{settings.port}"
        raise InputError("--host and --port", where, f"an address that can be listened on ({said})") from None


def address(settings: Settings, listening: socket.socket) -> str:
    """The URL of a socket that listens."""
    host, port = listening.getsockname()[:2]
    return f"{'https' if settings.tls_cert else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def serve(settings: Settings, store: Store, listening: socket.socket, log: RequestLog) -> None:
    """Serve until the process is told to stop; requests that were accepted are finished first."""
    app = create_app(settings, store, log)
    app.openapi()  # takes long, and nobody shall wait for somebody who asks for it
    _settle()
    with suppress(KeyboardInterrupt):
        _Server(uvicorn_config(settings, app), settings, app).run(sockets=[listening])


def uvicorn_config(settings: Settings, app: ASGIApp) -> uvicorn.Config:
    """What uvicorn is told."""
    return uvicorn.Config(
        app,
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=None if settings.tls_key is None else str(settings.tls_key),
        timeout_keep_alive=settings.keep_alive_seconds,
        timeout_graceful_shutdown=settings.grace_seconds,
        lifespan="on",
        ws="none",
    )


class _Server(uvicorn.Server):
    """A server that limits its connections, and tells answers that would never end that it is about to stop."""

    def __init__(self, config: uvicorn.Config, settings: Settings, app: Application) -> None:
        super().__init__(config)
        most = _room(settings.connections)
        service: Service = app.state.service
        self._connections = Connections(settings, most, service.metrics, config, self.server_state, app.no_room)
        self._closing = service.closing

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and let clients in."""
        await super().startup(sockets=[])  # uvicorn would let in everybody
        state = self.lifespan.state
        self._accepting = [asyncio.create_task(self._connections.accept(each, state)) for each in sockets or []]
        self._watching = asyncio.create_task(self._connections.watch())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; whatever hangs, the process is gone a little after the time that requests may take."""
        super().handle_exit(sig, frame)
        last = threading.Timer((self.config.timeout_graceful_shutdown or 0) + END_SECONDS, _give_up)
        last.daemon = True
        last.start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted, and stop."""
        self._closing.set()
        for task in self._accepting:
            task.cancel()
        await self._connections.settle()
        await super().shutdown(sockets)
        self._watching.cancel()


def _room(wanted: int) -> int:
    """How many connections there can be: the limit on open files is raised if it must and may be."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + DESCRIPTORS
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    allowed = max(1, soft - DESCRIPTORS)
    LOG.warning("%d files may be open: no more than %d connections instead of %d", soft, allowed, wanted)
    return allowed


def _give_up() -> None:
    LOG.critical("something hangs, and the service ends without it; nothing that was acknowledged is lost")
    os._exit(1)


def _settle() -> None:
    """Make the slowest requests faster.

    The garbage collector no longer looks at what was imported, and runs less often. Where the writer is a thread of
    this process, the thread that answers requests waits for it no longer than `SWITCH_SECONDS` at a time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 50)
    sys.setswitchinterval(SWITCH_SECONDS)
