"""Clients that are turned away before the application sees a request: what they are told, counted and logged."""

import logging
from collections import Counter
from collections.abc import Mapping
from http import HTTPStatus

from takeup.service.metrics import Metrics
from takeup.service.middleware import HEADERS
from takeup.service.problem import MEDIA, ProblemError

LOG = logging.getLogger("takeup.service")

REASONS: dict[str, tuple[str, str]] = {
    "full": ("unavailable", "too many connections are open"),
    "address": ("unavailable", "too many connections are open from this address"),
    "crowded": (
        "unavailable",
        "more decisions and reports come than can be written; ask again under the same idempotency key",
    ),
    "ahead": ("too-many", "too many requests were sent before the first was answered"),
    "malformed": ("malformed", "this is not HTTP"),
    "url": ("url-too-long", "the address is too long"),
    "headers": ("headers-too-large", "the headers are too large"),
    "slow head": ("timeout", "the headers took too long to arrive"),
    "slow body": ("timeout", "the body took too long to arrive"),
    "slow reader": ("timeout", "the answer was not read"),
    "handshake": ("timeout", "no TLS was agreed on"),
    "unread": ("too-large", "the body went on after the answer"),
}
"""Why a connection is refused or ended, or a request turned away: the kind of problem, and what happened."""
AGAIN: Mapping[str, str] = {"Retry-After": "1"}
"""A header for those who may come again, as there were too many."""


class Refusals:
    """What was refused: counted at once, and logged a line a reason at a time, however many there are."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._untold: Counter[str] = Counter()
        self._last: dict[str, str] = {}

    def add(self, reason: str, host: str) -> None:
        """A client was refused."""
        self._metrics.refused(reason)
        self.note(reason, host)

    def note(self, reason: str, host: str) -> None:
        """Log it, and no more: it is counted elsewhere."""
        self._untold[reason] += 1
        self._last[reason] = host

    def log(self) -> bool:
        """Write what has happened since the last time, if anything has."""
        any_ = bool(self._untold)
        for reason, many in self._untold.items():
            what = "requests" if reason == "crowded" else "connections"
            LOG.warning("%d %s refused: %s; the last from %s", many, what, REASONS[reason][1], self._last[reason])
        self._untold.clear()
        return any_


def answer(reason: str, *, last: bool = True) -> bytes:
    """What a client is told, as a problem like any other.

    Args:
        reason: why.
        last: whether the connection ends with it.
    """
    kind, detail = REASONS[reason]
    refused = ProblemError(kind, detail)
    body = refused.problem.model_dump_json(exclude_none=True).encode()
    headers = {"content-type": MEDIA, "content-length": str(len(body)), **HEADERS}
    if refused.status_code in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
        headers.update(AGAIN)
    if last:
        headers["connection"] = "close"
    head = [f"HTTP/1.1 {refused.status_code} {HTTPStatus(refused.status_code).phrase}"]
    head += [f"{name.lower()}: {value}" for name, value in headers.items()]
    return "\r\n".join([*head, "", ""]).encode() + body
