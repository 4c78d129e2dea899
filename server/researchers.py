"""The researcher's page: how far data collection has come. Opened by a link whose token leaves the URL at once."""

import hashlib
import hmac

from flask import Blueprint, Response, current_app, redirect, render_template, request, url_for
from werkzeug.exceptions import Forbidden

from experiment.study import Study
from server.cookies import set_cookie
from server.store import Store

researchers = Blueprint("researchers", __name__, template_folder="templates")

COOKIE_MAX_AGE_S = 12 * 3600


@researchers.get("/enter/<token>")
def enter(token: str) -> tuple[Response, int] | Response:
    """Exchange the token in the link for a cookie."""
    if not hmac.compare_digest(token.encode(), _token().encode()):
        raise Forbidden("This link is not valid; take the one that `equipoise serve` printed.")
    response = redirect(url_for("researchers.progress"))
    assert isinstance(response, Response)
    set_cookie(
        response,
        _cookie_name(),
        _cookie_value(),
        max_age_s=COOKIE_MAX_AGE_S,
        samesite="Strict",
        path=url_for("researchers.progress"),
    )
    return response


@researchers.get("/")
def progress() -> str:
    """Sessions by kind, group and status."""
    if not hmac.compare_digest(request.cookies.get(_cookie_name(), "").encode(), _cookie_value().encode()):
        raise Forbidden("Open this page with the researcher's link that `equipoise serve` printed.")
    extension = current_app.extensions["equipoise"]
    study: Study = extension["study"]
    store: Store = extension["store"]
    return render_template("progress.html", study=study, progress=store.progress(study))


@researchers.get("/style.css")
def style() -> Response:
    """The page's style sheet (the content security policy forbids styles inside the page)."""
    return Response(render_template("progress.css"), mimetype="text/css")


def _token() -> str:
    token: str = current_app.extensions["equipoise"]["researcher_token"]
    return token


def _cookie_name() -> str:
    study: Study = current_app.extensions["equipoise"]["study"]
    return f"equipoise_researcher_{study.name}"


def _cookie_value() -> str:
    return hashlib.sha256(f"researcher cookie {_token()}".encode()).hexdigest()
