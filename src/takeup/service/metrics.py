"""What Prometheus may know: how the service is doing, and nothing about any trial."""

import time
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from takeup.version import __version__

MEDIA = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Metrics:
    """Counters of one process, in a registry of its own.

    Args:
        queued: how many requests wait for the database.
        oldest: for how many seconds the oldest of them has waited.
        ready: whether the last look found that the service can do its work.
    """

    def __init__(self, queued: Callable[[], int], oldest: Callable[[], float], ready: Callable[[], bool]) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "takeup_requests", "Requests that were answered.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "takeup_request_seconds",
            "Time from a request's headers to the end of its answer.",
            ["method", "route"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.running = Gauge("takeup_requests_running", "Requests on their way.", registry=self._registry)
        self.connections = Gauge("takeup_connections", "Open connections.", registry=self._registry)
        self._refused = Counter(
            "takeup_connections_refused",
            "Connections that were refused or ended, by reason.",
            ["reason"],
            registry=self._registry,
        )
        Gauge("takeup_queued", "What waits for the database.", registry=self._registry).set_function(queued)
        Gauge(
            "takeup_oldest_seconds", "How long the oldest request has waited for the database.", registry=self._registry
        ).set_function(oldest)
        Gauge(
            "takeup_ready", "Whether the last look found that it can do its work.", registry=self._registry
        ).set_function(ready)
        Gauge("takeup_start_time_seconds", "When the process started.", registry=self._registry).set(time.time())
        Gauge("takeup_info", "The version.", ["version"], registry=self._registry).labels(__version__).set(1)
        self._children: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        place = (method, route, status)
        children = self._children.get(place)
        if children is None:
            labels = self._requests.labels(method, route, str(status)), self._seconds.labels(method, route)
            children = self._children[place] = labels
        children[0].inc()
        children[1].observe(seconds)

    def refused(self, reason: str) -> None:
        """A connection was refused or ended."""
        self._refused.labels(reason).inc()

    def text(self) -> bytes:
        """In Prometheus' text format."""
        return generate_latest(self._registry)
