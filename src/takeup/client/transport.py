"""HTTP/1.1 by Python's own library, with one deadline for everything that a request waits for.

The client has no dependencies: it runs at trial sites, on machines that others look after.
"""

import http.client
import io
import math
import os
import socket
import ssl
import threading
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from takeup.errors import InputError

MOST_IDLE = 8
"""The most connections that are kept open for later requests."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What came back."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes


class NotSentError(OSError):
    """Nothing has reached the service, so that the request can be repeated safely."""


class Transport:
    """Connections to one service, kept open between requests; any number of threads may use it, and those of a child.

    Args:
        url: `http://host:port` or `https://host:port`, perhaps with a path in front of the service's own.
        context: a TLS context, where the system's default is not what is wanted.
    """

    def __init__(self, url: str, context: ssl.SSLContext | None = None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise InputError("url", repr(url), "the service's address, such as http://127.0.0.1:8000")
        self.url = url
        self._host, self._port, self._path = parts.hostname, parts.port, parts.path.rstrip("/")
        self._context = (context or ssl.create_default_context()) if parts.scheme == "https" else None
        self._idle: list[_Connection] = []
        self._closed = False
        self._lock, self._process = threading.Lock(), os.getpid()

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str], until: float) -> HttpAnswer:
        """One request, and its answer before the moment `until` of `time.monotonic()`.

        Raises:
            NotSentError: there was no connection.
            OSError: the connection broke, or time ran out, after the request was sent.
        """
        connection = self._take(until)
        try:
            connection.until(until)
            connection.request(method, self._path + path, body, headers)
            response = connection.getresponse()
            answer = HttpAnswer(response.status, response.headers, response.read())
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise error if isinstance(error, OSError) else ConnectionError(repr(error)) from error
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._give(connection)
        return answer

    def close(self) -> None:
        """Let go of idle connections, and of those that are in use once they are not."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _take(self, until: float) -> "_Connection":
        if self._process != os.getpid():
            self._forked()
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect(until)
            if connection.alive():
                return connection
            connection.close()

    def _forked(self) -> None:
        """Begin anew in a child: on a connection of its parent it would read the answers of others."""
        idle, self._idle, self._lock = self._idle, [], threading.Lock()
        self._process = os.getpid()
        for connection in idle:
            connection.close()

    def _connect(self, until: float) -> "_Connection":
        left = until - time.monotonic()
        if left <= 0:
            raise NotSentError("no time was left to connect")
        connection = _Connection(self._host, self._port, left, self._context)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise NotSentError(str(error)) from error
        return connection

    def _give(self, connection: "_Connection") -> None:
        with self._lock:
            if len(self._idle) < MOST_IDLE and not self._closed:
                self._idle.append(connection)
                return
        connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection of which every wait ends at one deadline."""

    def __init__(self, host: str, port: int | None, timeout: float, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port or (80 if context is None else 443), timeout=timeout)
        self._context = context

    def connect(self) -> None:
        """Connect, with TLS where the address asks for it."""
        super().connect()
        plain: socket.socket = self.sock
        if self._context is not None:
            plain = self._context.wrap_socket(plain, server_hostname=self.host)
        self.sock: Any = _Timed(plain)

    def until(self, moment: float) -> None:
        """Set the deadline, a moment of `time.monotonic()`."""
        self.sock.until = moment

    def alive(self) -> bool:
        """Whether the other side has kept the connection open."""
        return bool(self.sock is not None and self.sock.quiet())


class _Timed:
    """A socket of which every wait ends at one deadline, however slowly bytes come in."""

    def __init__(self, plain: socket.socket) -> None:
        self.until = math.inf
        self._plain = plain

    def sendall(self, data: bytes) -> None:
        self._arm()
        self._plain.sendall(data)

    def recv_into(self, buffer: Any) -> int:
        self._arm()
        return self._plain.recv_into(buffer)

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(_Raw(self))

    def quiet(self) -> bool:
        """Whether there is nothing to read: on an idle connection that could only be its end."""
        self._plain.settimeout(0)
        try:
            self._plain.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        self._plain.close()

    def _arm(self) -> None:
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("time ran out")
        self._plain.settimeout(left)


class _Raw(io.RawIOBase):
    def __init__(self, timed: _Timed) -> None:
        self._timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._timed.recv_into(buffer)
