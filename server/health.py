"""For anyone who runs the server: is it alive, is it ready, and in figures."""

from flask import Blueprint, Response, jsonify

from server.context import context
from server.metrics import exposition
from server.researchers.progress_page import require_token

operations = Blueprint("operations", __name__)


@operations.get("/healthz")
def alive() -> Response:
    """Answer as long as the process does."""
    return jsonify(status="alive")


@operations.get("/readyz")
def ready() -> Response:
    """Answer 200 while answers can be stored, else 503."""
    context().store.check()
    return jsonify(status="ready")


@operations.get("/metrics")
def metrics() -> Response:
    """Give the figures to anyone who shows the researcher's token."""
    require_token()
    text = exposition(context().study, context().store)
    return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")
