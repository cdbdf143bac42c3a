"""The process that serves."""

import asyncio
import gc
import socket
import sys
from contextlib import suppress

import uvicorn

from takeup.errors import InputError
from takeup.service.app import create_app
from takeup.service.middleware import RequestLog
from takeup.service.settings import Settings
from takeup.store import Store

BACKLOG = 2_048
YOUNG = 20_000
"""How many new objects make the garbage collector run."""
SWITCH_SECONDS = 0.001


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
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=settings.behind_proxy,
        ssl_certfile=settings.tls_cert,
        ssl_keyfile=None if settings.tls_key is None else str(settings.tls_key),
        timeout_graceful_shutdown=settings.grace_seconds,
        lifespan="on",
        ws="none",
    )
    _settle()
    with suppress(KeyboardInterrupt):
        _Server(config, app.state.service.closing).run(sockets=[listening])


class _Server(uvicorn.Server):
    """A server that tells responses that would never end, such as live pages, that it is about to stop."""

    def __init__(self, config: uvicorn.Config, closing: asyncio.Event) -> None:
        super().__init__(config)
        self._closing = closing

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Finish what was accepted, and stop."""
        self._closing.set()
        await super().shutdown(sockets)


def _settle() -> None:
    """Make the slowest requests faster.

    The garbage collector no longer looks at what was imported, and runs less often. Where the writer is a thread of
    this process, the thread that answers requests waits for it no longer than `SWITCH_SECONDS` at a time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, 20, 50)
    sys.setswitchinterval(SWITCH_SECONDS)
