"""Health checks and metrics for the operator of the server."""

from flask import Blueprint, Response, jsonify

from server.context import context
from server.metrics import exposition
from server.researchers.signed_in import require_token

health = Blueprint("health", __name__)


@health.get("/healthz")
def alive() -> Response:
    """Reply with status 200 as long as the process runs."""
    return jsonify(status="alive")


@health.get("/readyz")
def ready() -> Response:
    """Reply with status 200 while responses can be stored, otherwise with status 503."""
    context().store.check()
    return jsonify(status="ready")


@health.get("/metrics")
def metrics() -> Response:
    """Return the metrics. The request needs the researcher's token."""
    require_token()
    text = exposition(context().study, context().store)
    return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")
