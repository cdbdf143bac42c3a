"""All connections of a server: how many there may be, from everywhere and from one address, and who has to go."""

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import uvicorn
from starlette.types import Scope
from uvicorn.server import ServerState

from takeup.service.connection import ENDING, HEAD, IDLE, LINGER, Connection
from takeup.service.metrics import Metrics
from takeup.service.refusals import Refusals, answer
from takeup.service.settings import Settings

EVERY = 1.0
"""How many seconds pass between two looks at all connections."""
LOG_EVERY = 10.0
AT_ONCE = 16
"""So many clients are let in before the others have their turn: under load a turn of the event loop takes long."""


class Connections:
    """Lets clients in, looks after their connections, and counts whom it refused.

    Args:
        settings: how many there may be, and how long they may take.
        most: how many there may be, which is fewer where the machine does not allow as many.
        metrics: where what is refused is counted.
        config: uvicorn's.
        state: uvicorn's; has the connections.
        no_room: whether a request whose head was read is to be turned away.
    """

    def __init__(
        self,
        settings: Settings,
        most: int,
        metrics: Metrics,
        config: uvicorn.Config,
        state: ServerState,
        no_room: Callable[[Scope], bool] = lambda _: False,
    ) -> None:
        self._settings, self._most, self._config, self._state = settings, most, config, state
        self._refusals, self._no_room = Refusals(metrics), no_room
        self._count = 0
        self._from: Counter[str] = Counter()
        self._meeting: dict[Connection, asyncio.Task[None]] = {}
        metrics.connections.set_function(lambda: self._count)

    async def accept(self, listening: socket.socket, app_state: dict[str, Any]) -> None:
        """Let clients in, for ever."""
        loop = asyncio.get_running_loop()
        listening.setblocking(False)
        while True:
            try:
                self._let_in(*await loop.sock_accept(listening), app_state)
                with suppress(BlockingIOError):  # nobody else is there
                    for _ in range(AT_ONCE - 1):
                        self._let_in(*listening.accept(), app_state)
            except OSError:  # it has gone again, or there are no descriptors left
                self._refusals.add("full", "elsewhere")
                await asyncio.sleep(0.1)
                continue
            await asyncio.sleep(0)  # however many come, the others have their turn

    def _let_in(self, client: socket.socket, address: Any, app_state: dict[str, Any]) -> None:
        """Let a client in, or turn it away."""
        host = str(address[0])
        reason = self._crowded(host)
        if reason is not None:
            self._refusals.add(reason, host)
            _turn_away(client, None if self._config.ssl is not None else answer(reason))
            return
        self._count += 1
        self._from[host] += 1
        connection = Connection(
            host,
            self._settings,
            self._refusals,
            self._left,
            self._no_room,
            config=self._config,
            server_state=self._state,
            app_state=app_state,
        )
        client.setblocking(False)
        self._meeting[connection] = asyncio.get_running_loop().create_task(self._meet(client, connection))

    async def settle(self) -> None:
        """Wait for those who were let in a moment ago."""
        if self._meeting:
            await asyncio.wait(self._meeting.values(), timeout=EVERY)

    async def watch(self) -> None:
        """Look at all connections every second, for ever."""
        loop = asyncio.get_running_loop()
        log_at = loop.time()
        try:
            while True:
                await asyncio.sleep(EVERY)
                now = loop.time()
                self.look(now)
                if now >= log_at and self._refusals.log():
                    log_at = now + LOG_EVERY
        finally:
            self._refusals.log()

    def look(self, now: float) -> None:
        """End the connections whose clients let the service wait for too long."""
        for connection in self._open():
            connection.look(now)

    def _open(self) -> list[Connection]:
        return [each for each in self._state.connections if isinstance(each, Connection)]

    def _all(self) -> list[Connection]:
        """Those that are open, and those that have yet to agree on TLS."""
        return [*self._open(), *(each for each in self._meeting if not each.begun)]

    async def _meet(self, client: socket.socket, connection: Connection) -> None:
        """Hand a socket to its connection, once TLS is agreed on."""
        tls = self._config.ssl
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: connection,
                client,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else self._settings.head_seconds,
            )
        except OSError:
            self._refusals.add("handshake", connection.host)
        finally:
            self._meeting.pop(connection, None)
            if not connection.begun:  # nobody else will say that it has ended
                self._left(connection.host)
                _turn_away(client, None)

    def _left(self, host: str) -> None:
        self._count -= 1
        self._from[host] -= 1
        if not self._from[host]:
            del self._from[host]

    def _crowded(self, host: str) -> str | None:
        """Why a client cannot be let in; where there is a connection that does nothing, that one has to go."""
        if self._count >= self._most:
            return None if self._make_room("full", self._all()) else "full"
        if not self._settings.behind_proxy and self._from[host] >= self._settings.connections_per_address:
            same = (each for each in self._all() if each.host == host)
            return None if self._make_room("address", same) else "address"
        return None

    def _make_room(self, reason: str, among: Iterable[Connection]) -> bool:
        """Close the connection that is of least use, unless all are being answered or go already.

        First goes one that was answered or refused and has not sent all that it began; then one that has long been
        silent before it asked for anything. The others that rest go by address, so that nobody takes the places of all
        others: one of the address with the most, where one that is yet to ask goes before the one at rest for longest.
        """
        silent_since = asyncio.get_running_loop().time() - LINGER

        def use(each: Connection) -> tuple[int, int, bool, float]:
            rank = 0 if each.stage > HEAD else 1 if each.stage == HEAD and each.since < silent_since else 2
            return rank, -self._from[each.host], each.stage == IDLE, each.since

        gone = min((each for each in among if each.resting), key=use, default=None)
        if gone is None:
            return False
        self._refusals.add(reason, gone.host)
        gone.stage = ENDING
        if gone.begun:
            gone.transport.abort()
        else:
            self._meeting.pop(gone).cancel()
        return True


def _turn_away(client: socket.socket, said: bytes | None) -> None:
    with suppress(OSError):
        if said is not None:
            client.send(said)
        client.close()
