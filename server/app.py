"""The Flask application, with one blueprint per audience, one store, and strict security headers."""

from secrets import token_urlsafe

from flask import Flask, Response, jsonify, request
from werkzeug.exceptions import HTTPException, TooManyRequests
from werkzeug.middleware.proxy_fix import ProxyFix

from experiment.study.definition import Study
from server.asset_copies import keep_assets
from server.context import Context, context
from server.health import health
from server.laboratory import laboratory
from server.locations import assets_folder
from server.logs import logger
from server.metrics import measure, note_unavailable
from server.participants.assets import assets
from server.participants.error_page import error_page, wants_page
from server.participants.participant_auth import NoEntry, NoSession
from server.participants.study_page import web_client
from server.participants.views import participants
from server.participants.withdrawal_page import withdrawal
from server.request_body import MAX_RESPONSES_LENGTH, Json, refuse_unread_body
from server.researchers.dashboard import add_live_dashboard
from server.researchers.pages import researchers
from server.researchers.preview import add_previews
from server.response_headers import StrictHeaders
from server.security.allowed_hosts import Hosts
from server.security.secret_files import Secrets
from server.settings import Settings
from server.store import Conflict, NotYourSession, Refusal, Store, StoreUnavailable

LONGEST_MESSAGE = 500


def create_app(study: Study, store: Store, secrets: Secrets, settings: Settings) -> Flask:
    """Make the application that serves a study.

    Parameters
    ----------
    study
        The study that the application serves.
    store
        The store of the responses. The function saves the study's definition in the store.
    secrets
        The key that signs cookies, and the researcher's token.
    settings
        Limits and other settings.
    """
    app = _make_app(study, store, secrets, settings)

    def make_preview(study: Study, store: Store, preview: str) -> Flask:
        # With another key, cookies of the preview and of the real study are never mixed up.
        return _make_app(study, store, Secrets(token_urlsafe(), token_urlsafe()), settings, preview)

    add_previews(app, study, make_preview)
    return app


def _make_app(study: Study, store: Store, secrets: Secrets, settings: Settings, preview: str | None = None) -> Flask:
    store.register_study(study)
    keep_assets(study, assets_folder(study, settings))
    app = Flask("server", static_folder=None)
    app.json = Json(app)
    app.url_map.merge_slashes = False  # Otherwise Flask would redirect "//other.site/" to another site.
    app.config["MAX_CONTENT_LENGTH"] = settings.max_body_kb * 1024
    app.config[MAX_RESPONSES_LENGTH] = settings.max_responses_kb * 1024
    app.extensions["equipoise"] = parts = Context(study, store, secrets, settings, preview)
    add_live_dashboard(app, parts)
    has_plugins = bool(study.definition.plugins)
    app.wsgi_app = StrictHeaders(app.wsgi_app, has_plugins)  # type: ignore[method-assign]
    if settings.proxies:
        if not settings.hosts:
            logger.warning(
                "no public name is set, so the server accepts only requests to the name of its machine or to a numeric "
                "address. Fix: set EQUIPOISE_HOSTS to the name under which participants reach the server, such as "
                "study.example.org."
            )
        n = settings.proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=n, x_proto=n, x_host=n)  # type: ignore[method-assign]
    measure(app)
    app.before_request(refuse_unread_body)
    app.before_request(Hosts(settings).refuse_others)
    app.register_blueprint(web_client)
    app.register_blueprint(assets)
    app.register_blueprint(participants)
    app.register_blueprint(laboratory)
    app.register_blueprint(withdrawal)
    app.register_blueprint(researchers, url_prefix="/researcher")
    app.register_blueprint(health)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Conflict, _conflict)
    app.register_error_handler(NotYourSession, _not_your_session)
    app.register_error_handler(StoreUnavailable, _unavailable)
    app.register_error_handler(Exception, _internal_error)
    return app


def _error(message: str, status: int) -> Response:
    if len(message) > LONGEST_MESSAGE:  # The invalid input may be quoted, and may be long.
        message = f"{message[:LONGEST_MESSAGE]}..."
    if wants_page():
        response = error_page(message, status)
    else:
        response = jsonify(error=message)
        response.status_code = status
    response.vary.add("Accept")
    return response


def _http_error(error: HTTPException) -> Response:
    messages = {
        404: "This address does not exist. Fix: check the address.",
        405: "This address does not accept this method. Fix: use a method in the header `Allow`.",
        413: f"The request is larger than {(request.max_content_length or 0) // 1024} KB. Fix: send less data.",
    }
    status = error.code or 500
    if isinstance(error, NoSession | NoEntry | TooManyRequests):
        text = "too_many_requests" if isinstance(error, TooManyRequests) else error.text
        message = _say(text)
    else:
        message = messages.get(status, error.description or "The request failed.")
    response = _error(message, status)
    if status == 405:
        response.headers["Allow"] = ", ".join(sorted(getattr(error, "valid_methods", None) or ()))
    if isinstance(error, TooManyRequests):
        response.headers["Retry-After"] = str(error.retry_after)
    return response


def _conflict(error: Conflict) -> Response:
    return _error(_say(error.text, **error.values) if isinstance(error, Refusal) else str(error), 409)


def _not_your_session(_: NotYourSession) -> Response:
    # The message is the same as without a session, because only some servers still know the old session.
    return _error(_say(NoSession.text), 401)


def _say(text: str, **values: object) -> str:
    return context().study.words.say(text, **values)


def _unavailable(error: StoreUnavailable) -> Response:
    note_unavailable(error)
    response = _error(_say("not_saved_now"), 503)
    response.headers["Retry-After"] = "1"
    return response


def _internal_error(error: Exception) -> Response:
    logger.exception("unexpected error", exc_info=error)
    return _error(_say("server_error"), 500)
