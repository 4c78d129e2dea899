"""The Flask application: one blueprint per audience, one store, strict headers, errors that say what to do."""

import logging

from flask import Flask, Response, jsonify
from werkzeug.exceptions import HTTPException

from experiment.study import Study
from server.participants import participants
from server.researchers import researchers
from server.store import Conflict, Store, StoreUnavailable

MAX_BODY_BYTES = 64 * 1024
"""A response is far smaller; anything larger is a mistake or an attack."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)


def create_app(study: Study, store: Store, researcher_token: str) -> Flask:
    """Make the application that serves a study.

    Parameters
    ----------
    study
        The study, read and checked.
    store
        Where its answers go; the application registers the study with it.
    researcher_token
        Secret that opens the researcher's pages.
    """
    store.register_study(study)
    app = Flask("server", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY_BYTES
    app.extensions["equipoise"] = {"study": study, "store": store, "researcher_token": researcher_token}
    app.register_blueprint(participants)
    app.register_blueprint(researchers, url_prefix="/researcher")
    app.after_request(_add_headers)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Conflict, _conflict)
    app.register_error_handler(StoreUnavailable, _unavailable)
    app.register_error_handler(Exception, _internal_error)
    return app


def _add_headers(response: Response) -> Response:
    response.headers.update(
        {
            "Content-Security-Policy": CONTENT_SECURITY_POLICY,
            # Cross-origin isolation: without it the browser coarsens its clocks.
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Embedder-Policy": "require-corp",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
        }
    )
    response.headers.setdefault("Cache-Control", "no-store")
    return response


def _error(message: str, status: int) -> Response:
    response = jsonify(error=message)
    response.status_code = status
    return response


def _http_error(error: HTTPException) -> Response:
    messages = {
        404: "There is nothing at this address.",
        405: "This address does not take that kind of request.",
        413: f"The request is larger than {MAX_BODY_BYTES // 1024} KB.",
    }
    status = error.code or 500
    response = _error(messages.get(status, error.description or "The request failed."), status)
    if status == 405:
        response.headers["Allow"] = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
    return response


def _conflict(error: Conflict) -> Response:
    return _error(str(error), 409)


def _unavailable(error: StoreUnavailable) -> Response:
    logging.getLogger("equipoise").error("the store cannot be written: %s", error)
    response = _error("Your answer could not be saved just now; it will be sent again.", 503)
    response.headers["Retry-After"] = "1"
    return response


def _internal_error(error: Exception) -> Response:
    logging.getLogger("equipoise").exception("unexpected error", exc_info=error)
    return _error("Something went wrong on our side; please try again.", 500)
