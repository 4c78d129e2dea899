"""Figures for Prometheus; none is about a person."""

import time
from functools import cache

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import REGISTRY, Collector

from experiment.study import Study
from server.store import Store

REQUESTS = Counter("equipoise_requests", "Requests by endpoint and status.", ("endpoint", "status"))
SECONDS = Histogram(
    "equipoise_request_seconds", "Time to answer a request.", ("endpoint",),
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)  # fmt: skip
STORED = Counter("equipoise_responses_stored", "Answers that were committed, each counted once.")
UNAVAILABLE = Counter("equipoise_store_unavailable", "Requests that the store could not serve.")

MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Set by `serving` where there are several processes, whose figures are then added up."""


def measure(app: Flask) -> None:
    """Count and time an application's requests."""

    def begin() -> None:
        g.began_at = time.perf_counter()

    def end(response: Response) -> Response:
        endpoint = request.endpoint or "none"
        requests, seconds = _figures(endpoint, response.status_code)
        requests.inc()
        if "began_at" in g:
            seconds.observe(time.perf_counter() - g.began_at)
        return response

    app.before_request(begin)
    app.after_request(end)


@cache
def _figures(endpoint: str, status: int) -> tuple[Counter, Histogram]:
    return REQUESTS.labels(endpoint, status), SECONDS.labels(endpoint)


def exposition(study: Study, store: Store, is_one_of_several: bool) -> bytes:
    """Return all figures in Prometheus' text format."""
    if is_one_of_several:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry = REGISTRY
    places = CollectorRegistry()
    places.register(_Places(study, store))
    return generate_latest(registry) + generate_latest(places)


class _Places(Collector):
    def __init__(self, study: Study, store: Store) -> None:
        self._study = study
        self._store = store

    def collect(self) -> list[GaugeMetricFamily]:
        sessions = GaugeMetricFamily(
            "equipoise_sessions", "Sessions by what has become of them.", labels=("kind", "group", "state")
        )
        for group in self._store.progress(self._study):
            for state in ("under_way", "completed", "lapsed", "replaced", "withdrawn"):
                sessions.add_metric((group.kind, str(group.group), state), getattr(group, f"n_{state}"))
        return [sessions]
