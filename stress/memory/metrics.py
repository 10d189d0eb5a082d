"""What an instance tells Prometheus; label values come from closed lists, so the number of series is bounded."""

from __future__ import annotations

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

CONTENT_TYPE = CONTENT_TYPE_LATEST

_METHODS = frozenset({"GET", "POST", "PUT", "DELETE"})
_BUCKETS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)

disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """The counters of one instance."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "goldfish_memory_requests",
            "Requests answered.",
            ["method", "route", "status"],
            registry=self._registry,
        )
        self._latency = Histogram(
            "goldfish_memory_latency_seconds",
            "Time from the parsed request head to the answer, successful appends and recalls only.",
            ["operation"],
            buckets=_BUCKETS_S,
            registry=self._registry,
        )
        self._recalls = Counter(
            "goldfish_memory_recalls",
            "Recalls answered with messages, by the source that served them.",
            ["source"],
            registry=self._registry,
        )

    def answered(self, method: str, route: str, status: int) -> None:
        """Count one answer."""
        self._requests.labels(method if method in _METHODS else "other", route, str(status)).inc()

    def appended(self, seconds: float) -> None:
        """Note how long a successful append took."""
        self._latency.labels("append").observe(seconds)

    def recalled(self, seconds: float, source: str) -> None:
        """Note how long a successful recall took and who served it."""
        self._latency.labels("recall").observe(seconds)
        self._recalls.labels(source).inc()

    def exposition(self) -> bytes:
        """All of it in Prometheus' text format."""
        return generate_latest(self._registry)
