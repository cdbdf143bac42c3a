"""A line a request. It names requests and keys; bodies, headers and query strings never get here."""

import time
from typing import IO, Any

from takeup.logs import line


class RequestLog:
    """Straight to a stream: Python's logging would cost as much as the rest of the middleware."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def write(self, fields: dict[str, Any]) -> None:
        """A request was answered."""
        if self._stream is not None:
            self._stream.write(line(time.time(), "info", "takeup.requests", "request", fields))
