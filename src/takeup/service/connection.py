"""One connection: how long the head of a request may be, and how long a client may let the service wait.

It may wait for a head, for a body, or until the client reads its answer.
"""

from collections.abc import Callable
from typing import Any

import httptools
from starlette.types import Scope
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from takeup.service.refusals import Refusals, answer
from takeup.service.settings import Settings

SLOWEST = 5_000
"""Bytes a second at which a client that sends a body or reads an answer is never too slow."""
LINGER = 2.0
"""How many seconds a client that was answered or refused may still send what it had begun, so that it sees why."""
MOST_AHEAD = 1_000
"""How many requests a client may send before the first of them is answered."""
OVERHEAD = 8
"""Bytes that may come along with each byte of a body: a chunk of one byte is six bytes long."""

CROWDED, CROWDED_LAST = answer("crowded", last=False), answer("crowded")
"""Made once: they are sent where there is no time."""

IDLE, HEAD, BODY, ENDING = range(4)


class Connection(HttpToolsProtocol):
    """One connection, with limits that uvicorn does not have.

    Attributes:
        host: the client's address.
        stage: what the client is doing: nothing, sending a head, sending a body; or it was refused.
        since: when it began to; for a body later, by the time that what has come needs at the slowest.
    """

    def __init__(
        self,
        host: str,
        settings: Settings,
        refusals: Refusals,
        left: Callable[[str], None],
        no_room: Callable[[Scope], bool],
        **uvicorns: Any,
    ) -> None:
        super().__init__(**uvicorns)
        self.host, self._settings, self._refusals, self._left = host, settings, refusals, left
        self._no_room = no_room
        self._most = settings.head_limit
        self.stage, self.since = HEAD, self.loop.time()
        self._chunk = 0
        self._spare = 0  # bytes of this message that are not of its body, as far as is known
        self._got = self._seen = 0  # bytes of its body, in all and at the last look
        self._stuck: tuple[float, int] | None = None  # since when the client should read, and how much
        self._wrong, self.url = "malformed", b""
        self._running: RequestResponseCycle | None = None  # what is answered; uvicorn's `cycle` is what came last

    @property
    def begun(self) -> bool:
        """Whether requests can come: with TLS, once that is agreed on."""
        return self.transport is not None

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.disconnected

    @property
    def resting(self) -> bool:
        """Whether nothing is being answered, and the connection is not about to end either."""
        return not self.busy and not (self.stage == ENDING and self.transport.is_closing())

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._left(self.host)
        self._unset_keepalive_if_required()
        self._drop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, as far as the limits go."""
        self._unset_keepalive_if_required()
        if self.stage == IDLE:
            self.stage, self.since = HEAD, self.loop.time()
        elif self.stage == ENDING:
            self._throw_away(len(data))
            return
        self._chunk = len(data)
        self._spare += self._chunk
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # there is nothing to upgrade to: the request is answered like any other
        except httptools.HttpParserError:
            self.refuse(self._wrong)
            return
        if self._spare > self._most:
            self.refuse(self._too_large())
        elif self._spare < 0:
            self._spare = 0

    def on_message_begin(self) -> None:
        """A request begins."""
        if self.stage == IDLE:  # it follows another one in the same packet
            self.stage, self.since = HEAD, self.loop.time()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is there."""
        if self._chunk > self._most or self._spare > self._most:
            size = len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)
            if size > self._most:
                self._wrong = self._too_large()
                raise ValueError(self._wrong)
        if len(self.pipeline) >= MOST_AHEAD:
            self._wrong = "ahead"
            raise ValueError(self._wrong)
        super().on_headers_complete()  # it raises where the address is none: the request is not there yet
        self.stage, self.since = BODY, self.loop.time()
        self._spare = self._got = self._seen = 0
        if not self.pipeline:
            self._running = self.cycle
        self.headers = []  # what follows a body in chunks is no header of the request

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Have a request served, or turn it away where too many come: that costs next to nothing."""
        if self._no_room(cycle.scope):  # type: ignore[arg-type]  # uvicorn's own name for a scope
            # a moment later: who is told at once asks again, and the event loop would read on and do nothing else
            self.loop.call_soon(self._turn_away, cycle)
        else:
            super()._start_asgi_task(cycle, app)

    def _turn_away(self, cycle: RequestResponseCycle) -> None:
        if cycle.disconnected:
            return
        self._refusals.note("crowded", self.host)
        cycle.response_started = cycle.response_complete = True
        self.transport.write(CROWDED if cycle.keep_alive else CROWDED_LAST)
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._spare -= OVERHEAD * len(body)
        self._got += len(body)
        if self._got > self._settings.batch_limit and self.cycle.response_complete:
            self._wrong = "unread"
            raise ValueError(self._wrong)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is there."""
        self.stage, self._spare = IDLE, 0
        super().on_message_complete()
        if self.cycle.response_complete:  # it was answered before it was there
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        """The request is answered; the next one has its turn."""
        if self.pipeline:
            self._running = self.pipeline[-1][0]
        if self.stage == BODY and self.cycle.response_complete:  # nobody needs the rest
            self.since = self.loop.time()
            self._got = self._seen = 0
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        self._stuck = self.loop.time(), self.transport.get_write_buffer_size()
        super().pause_writing()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._stuck = None
        super().resume_writing()

    def look(self, now: float) -> None:
        """End the connection if its client lets the service wait for too long."""
        settings = self._settings
        if self.transport.is_closing() or self._stuck is not None:
            self._look_at_reading(now, settings.write_seconds)
        elif self.stage == ENDING:
            if now - self.since > LINGER and not self.busy:
                self.transport.close()
        elif self.flow.read_paused or (self.stage == HEAD and self.busy):  # it is not the client's turn
            self.since = now
            self._got = self._seen = 0
        elif self.stage == HEAD and now - self.since > settings.head_seconds:
            self.refuse("slow head")
        elif self.stage == BODY:
            # what has come buys time, but none to be saved up: who then falls silent has as long as who has just begun
            self.since = min(now, self.since + (self._got - self._seen) / SLOWEST)
            self._seen = self._got
            if now - self.since > (LINGER if self.cycle.response_complete else settings.body_seconds):
                self.refuse("slow body")

    def refuse(self, reason: str) -> None:
        """Say why, if that is possible, and close the connection."""
        self._refusals.add(reason, self.host)
        if self.stage == BODY:
            told = not self.cycle.response_started and not self.pipeline
        else:
            told = not self.busy and self._spare > 0  # whoever has said nothing would take it for an answer
        self._drop()
        self.stage, self.since, self._got = ENDING, self.loop.time(), 0
        if not told:
            self.transport.close()
            return
        self.flow.resume_reading()
        self.transport.write(answer(reason))
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _look_at_reading(self, now: float, seconds: float) -> None:
        """Closing waits until the client has read what there is: for ever, if it is let."""
        left = self.transport.get_write_buffer_size()
        if self._stuck is None:
            self._stuck = now, left
        elif now - self._stuck[0] > seconds + (self._stuck[1] - left) / SLOWEST:
            self._refusals.add("slow reader", self.host)
            self._drop()
            self.transport.abort()

    def _drop(self) -> None:
        """Answer nothing any more: neither the request that runs nor those that wait for it."""
        self.pipeline.clear()
        for cycle in (self._running, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    def _throw_away(self, size: int) -> None:
        self._got += size
        if self._got > self._settings.batch_limit:
            self.transport.close()

    def _too_large(self) -> str:
        return "url" if 2 * len(self.url) > self._most else "headers"
