"""Clients that are turned away before the application sees a request: what they are told, counted and logged."""

import logging
from collections import Counter
from http import HTTPStatus

from takeup.service.metrics import Metrics
from takeup.service.problem import MEDIA, ProblemError

LOG = logging.getLogger("takeup.service")

REASONS: dict[str, tuple[str, str]] = {
    "full": ("unavailable", "too many connections are open"),
    "address": ("unavailable", "too many connections are open from this address"),
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
"""Why a connection is refused or ended: the kind of problem, and what happened."""


class Refusals:
    """What was refused: counted at once, and logged a line a reason at a time, however many there are."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._untold: Counter[str] = Counter()
        self._last: dict[str, str] = {}

    def add(self, reason: str, host: str) -> None:
        """A client was refused."""
        self._metrics.refused(reason)
        self._untold[reason] += 1
        self._last[reason] = host

    def log(self) -> bool:
        """Write what has happened since the last time, if anything has."""
        any_ = bool(self._untold)
        for reason, many in self._untold.items():
            LOG.warning("%d connections refused: %s; the last from %s", many, REASONS[reason][1], self._last[reason])
        self._untold.clear()
        return any_


def answer(reason: str) -> bytes:
    """What a client is told, as a problem like any other."""
    kind, detail = REASONS[reason]
    refused = ProblemError(kind, detail)
    body = refused.problem.model_dump_json(exclude_none=True).encode()
    head = (
        f"HTTP/1.1 {refused.status_code} {HTTPStatus(refused.status_code).phrase}\r\n"
        f"content-type: {MEDIA}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body
