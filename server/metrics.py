"""Metrics for Prometheus, without data about persons."""

import os
import time
from dataclasses import dataclass
from functools import cache

from flask import Flask, Response, g, request
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest, multiprocess, values
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import REGISTRY, Collector

from experiment.study.definition import Study
from server.logs import logger
from server.store import Store, StoreUnavailable

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable with the folder in which all processes write their metrics. Prometheus' client library reads
the files in this folder.
"""


def share_figures(folder: str) -> None:
    """Set the folder in which all processes that start later write their metrics, so that the metrics can be summed."""
    os.environ[SHARED_FOLDER] = folder
    # The library itself reads the variable only at its import.
    values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Figures:
    """The counters and timers of this process."""

    requests: Counter
    seconds: Histogram
    stored: Counter
    unavailable: Counter


@cache
def figures() -> Figures:
    """Return the metrics of this process. Call `share_figures` before the first call."""
    return Figures(
        Counter("equipoise_requests", "Requests by endpoint and status.", ("endpoint", "status")),
        Histogram(
            "equipoise_request_seconds",
            "Time to answer a request.",
            ("endpoint",),
            buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
        ),
        Counter("equipoise_responses_stored", "Responses that were committed, each counted once."),
        Counter("equipoise_store_unavailable", "Requests that the store could not serve."),
    )


def note_unavailable(error: StoreUnavailable) -> None:
    """Count and log a request that the store could not serve."""
    figures().unavailable.inc()
    logger.error("the store cannot be used", extra={"reason": str(error)})


def measure(app: Flask) -> None:
    """Count and time an application's requests."""
    figures()  # Made by one thread: the first requests run at the same time, and each metric can be made only once.

    def begin() -> None:
        g.began_at = time.perf_counter()

    def end(response: Response) -> Response:
        endpoint = request.endpoint or "none"
        requests, seconds = _of_endpoint(endpoint, response.status_code)
        requests.inc()
        if "began_at" in g:
            seconds.observe(time.perf_counter() - g.began_at)
        return response

    app.before_request(begin)
    app.after_request(end)


@cache
def _of_endpoint(endpoint: str, status: int) -> tuple[Counter, Histogram]:
    return figures().requests.labels(endpoint, status), figures().seconds.labels(endpoint)


def exposition(study: Study, store: Store) -> bytes:
    """Return all metrics in Prometheus' text format."""
    if SHARED_FOLDER in os.environ:
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry = REGISTRY
    slots = CollectorRegistry()
    slots.register(_Slots(study, store))
    return generate_latest(registry) + generate_latest(slots)


class _Slots(Collector):
    def __init__(self, study: Study, store: Store) -> None:
        self._study = study
        self._store = store

    def collect(self) -> list[GaugeMetricFamily]:
        sessions = GaugeMetricFamily("equipoise_sessions", "Sessions by status.", labels=("kind", "group", "state"))
        for group in self._store.progress(self._study):
            for state in ("under_way", "completed", "lapsed", "replaced", "withdrawn"):
                sessions.add_metric((group.kind, str(group.group), state), getattr(group, f"n_{state}"))
        return [sessions]
