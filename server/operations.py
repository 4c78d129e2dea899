"""For whoever runs the server: is it alive, is it ready, and in figures."""

import hmac

from flask import Blueprint, Response, jsonify, request
from werkzeug.exceptions import Forbidden

from server.context import context
from server.metrics import exposition

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
    """Give the figures to whoever shows the researcher's token."""
    context().limits.refuse_guessing()
    expected = f"Bearer {context().secrets.researcher_token}"
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected.encode()):
        context().limits.count_wrong_key()
        raise Forbidden("Send the header `Authorization: Bearer ` with the token in the file `researcher-token`.")
    text = exposition(context().study, context().store)
    return Response(text, content_type="text/plain; version=0.0.4; charset=utf-8")
