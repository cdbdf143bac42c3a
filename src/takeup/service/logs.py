"""Logs as JSON lines. They name requests and keys; bodies, headers and query strings never get here."""

import json
import logging
import time
from datetime import UTC, datetime
from typing import IO, Any

_ENCODE = json.JSONEncoder().encode


def line(at: float, level: str, logger: str, message: str, fields: dict[str, Any]) -> str:
    """One line of a log."""
    moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
    return _ENCODE({"time": moment, "level": level, "logger": logger, "message": message, **fields}) + "\n"


class JsonFormatter(logging.Formatter):
    """Python's log records as such lines."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        said = {} if not record.exc_info else {"exception": self.formatException(record.exc_info)}
        return line(record.created, record.levelname.lower(), record.name, record.getMessage(), said).rstrip("\n")


class RequestLog:
    """A line a request, straight to a stream: Python's logging would cost as much as the rest of the gate."""

    def __init__(self, stream: IO[str] | None) -> None:
        self._stream = stream

    def write(self, fields: dict[str, Any]) -> None:
        """A request was answered."""
        if self._stream is not None:
            self._stream.write(line(time.time(), "info", "takeup.requests", "request", fields))


def configure(stream: IO[str], level: int = logging.INFO) -> RequestLog:
    """Send the logs of takeup and uvicorn to a stream; returns the one for requests."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    for name in ("takeup", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
    return RequestLog(stream)
