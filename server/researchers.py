"""The researcher's page: how far data collection has come. Opened by a link whose token leaves the URL at once."""

import hashlib
import hmac

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.exceptions import Forbidden

from server.context import context
from server.cookies import SignedCookie

researchers = Blueprint("researchers", __name__, template_folder="templates")

COOKIE = SignedCookie("researcher", samesite="Strict", path="/researcher/")
COOKIE_MAX_AGE_S = 12 * 3600


@researchers.get("/enter/<token>")
def enter(token: str) -> Response:
    """Exchange the token in the link for a cookie."""
    context().limits.refuse_guessing()
    if not hmac.compare_digest(token.encode(), context().secrets.researcher_token.encode()):
        context().limits.count_wrong_key()
        raise Forbidden("This link is not valid; take the one that `equipoise serve` printed.")
    response = redirect(url_for("researchers.progress"))
    assert isinstance(response, Response)
    COOKIE.send(response, _cookie_value(), COOKIE_MAX_AGE_S)
    return response


@researchers.get("/")
def progress() -> str:
    """What has become of the sessions, by kind and group."""
    if COOKIE.read(COOKIE_MAX_AGE_S) != _cookie_value():
        raise Forbidden("Open this page with the researcher's link that `equipoise serve` printed.")
    study, store = context().study, context().store
    return render_template("progress.html", study=study, progress=store.progress(study))


@researchers.get("/style.css")
def style() -> Response:
    """The page's style sheet (the content security policy forbids styles inside the page)."""
    return Response(render_template("progress.css"), mimetype="text/css")


def require_token() -> None:
    """Refuse a request of a program that does not show the researcher's token."""
    context().limits.refuse_guessing()
    expected = f"Bearer {context().secrets.researcher_token}"
    if not hmac.compare_digest(request.headers.get("Authorization", "").encode(), expected.encode()):
        context().limits.count_wrong_key()
        raise Forbidden(
            "The request does not bring this server's token. Copy it from the file `data/researcher-token` on the "
            "server, not on this machine: for `equipoise lab` into EQUIPOISE_RESEARCHER_TOKEN, else into the header "
            "`Authorization: Bearer`."
        )


def _cookie_value() -> str:
    """Return what a researcher's cookie holds: a new `researcher-token` makes the cookies of the old one worthless."""
    return hashlib.sha256(f"researcher cookie {context().secrets.researcher_token}".encode()).hexdigest()
