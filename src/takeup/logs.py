"""Logs as JSON lines."""

import json
import logging
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


def configure(stream: IO[str], level: int = logging.INFO) -> None:
    """Send the logs of takeup and uvicorn to a stream."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    for name in ("takeup", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
