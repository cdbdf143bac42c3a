"""Logs as JSON lines. They name requests and keys; bodies, headers and query strings never get here."""

import json
import logging
import sys
from datetime import UTC, datetime
from typing import IO

REQUESTS = logging.getLogger("takeup.service.requests")
FIELDS = "takeup"
"""The attribute of a log record that holds further fields."""


class JsonFormatter(logging.Formatter):
    """A line a record."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as JSON."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, FIELDS, {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=True)


def configure(stream: IO[str] | None = None, level: int = logging.INFO) -> None:
    """Send the logs of takeup and uvicorn to a stream, standard error where left out."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("takeup", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
