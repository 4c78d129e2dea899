"""Sign-in and sign-out of researchers, and the check of the researcher's token.

In the link that `equipoise serve` prints, the token comes after the `#`. Browsers do not send this part of an address
to a server. A script of the page removes the token from the address bar and signs in. Each sign-in adds an entry to
the study's log, and the cookie contains the number of the entry. Signing out adds a second entry, which makes all
copies of the cookie invalid.
"""

import hashlib
import hmac
import secrets
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from werkzeug.exceptions import Forbidden, TooManyRequests

from server.context import context
from server.cookies import SignedCookie
from server.logs import logger
from server.metrics import note_unavailable
from server.request_body import read_field
from server.security.fetch_metadata import refuse_other_sites
from server.store import Access, StoreUnavailable

sign_in_pages = Blueprint("sign_in", __name__)

COOKIE = SignedCookie("researcher", samesite="Strict", path="/researcher/")
COOKIE_MAX_AGE_S = 12 * 3600
REFUSED = "This is not the token of this server. Fix: use the link that the command equipoise serve printed."
TOO_MANY = "Too many wrong tokens came from your network. Fix: enter the right token, or wait a minute."
STORE_AWAY = "The store cannot be used now, so nobody can sign in or out. Fix: try again in a moment."


@sign_in_pages.post("/sign-in")
def sign_in() -> Response:
    """Check the token, and send a cookie that replaces the token in later requests."""
    refuse_other_sites()
    if not _is_right(read_field("token").strip(), context().secrets.researcher_token):
        _note_refused(context().limits.refused_sign_ins.count())
        context().limits.count_wrong_key()
        raise Forbidden(REFUSED)
    note_refused_sign_ins()
    name = secrets.token_hex(8)
    (number,) = _note(Access.SIGNED_IN, sign_in=name)
    response = _redirect_to_progress()
    COOKIE.send(response, f"{number}-{name}-{_token_mark()}", COOKIE_MAX_AGE_S)
    return response


@sign_in_pages.post("/sign-out")
def sign_out() -> Response:
    """End the sign-in of this browser, and make all copies of the browser's cookie invalid."""
    refuse_other_sites()
    name = find_sign_in()
    if name is not None:
        _note(Access.SIGNED_OUT, sign_in=name)
    response = _redirect_to_progress()
    COOKIE.delete(response)
    return response


@sign_in_pages.get("/sign-in.js")
def script() -> Response:
    """Return the script that signs in with the token after the `#` of the address."""
    return Response(render_template("sign-in.js"), mimetype="text/javascript")


@sign_in_pages.errorhandler(Forbidden)
def refused(error: Forbidden) -> tuple[str, int]:
    """Show an error on the sign-in page."""
    return sign_in_form(error.description), 403


@sign_in_pages.errorhandler(TooManyRequests)
def too_many(error: TooManyRequests) -> tuple[str, int, dict[str, str]]:
    """Ask the researcher to try again later."""
    return sign_in_form(TOO_MANY), 429, {"Retry-After": str(error.retry_after)}


@sign_in_pages.errorhandler(StoreUnavailable)
def store_is_away(error: StoreUnavailable) -> tuple[str, int, dict[str, str]]:
    """Show that nothing was done, because the store is unavailable."""
    note_unavailable(error)
    return sign_in_form(STORE_AWAY), 503, {"Retry-After": "5"}


def require_token() -> None:
    """Raise an error if a program's request does not have the researcher's token."""
    if not _is_right(request.headers.get("Authorization", ""), f"Bearer {context().secrets.researcher_token}"):
        context().limits.count_wrong_key()
        raise Forbidden(
            "The request does not contain this server's token. Fix: copy the token from the file "
            "`data/researcher-token` on the server, not on this machine. For `equipoise lab`, set "
            "EQUIPOISE_RESEARCHER_TOKEN to this token. Any other program must send this token in the header "
            "`Authorization: Bearer`."
        )


def note_refused_sign_ins() -> None:
    """Log the number of wrong tokens since the last entry about wrong tokens."""
    _note_refused(context().limits.refused_sign_ins.take_rest())


def _note_refused(number: int) -> None:
    """Log a number of wrong tokens. If the store is unavailable, add the number to the next entry."""
    if number:
        try:
            _note(Access.SIGN_IN_REFUSED, number=number)
        except StoreUnavailable:
            context().limits.refused_sign_ins.put_back(number)


def _is_right(given: str, expected: str) -> bool:
    """Return True if a secret is right. The comparison takes the same time for right and wrong secrets.

    The server counts only wrong secrets. So it accepts the right secret even after many wrong secrets from the same
    network.
    """
    return hmac.compare_digest(given.encode(), expected.encode())


def _note(access: Access, **details: Any) -> list[int]:
    """Record a researcher's action in the study's log and in the server's log."""
    logger.info("researcher: %s", access.value, extra=details)
    return context().store.note(context().study, access, **details)


def find_sign_in() -> str | None:
    """Return the random name of the sign-in to which the request's cookie belongs; None without a valid cookie."""
    held = COOKIE.read(COOKIE_MAX_AGE_S)
    if held is None or held.count("-") != 2:  # A cookie of an earlier Equipoise.
        return None
    number, name, token_mark = held.split("-")
    if token_mark != _token_mark():
        return None
    events = context().store.events(context().study, int(number), (Access.SIGNED_IN, Access.SIGNED_OUT))
    logged = [event.event for event in events if event.details["sign_in"] == name]
    # Another entry may have this number if the store was replaced by a backup.
    return name if logged == [Access.SIGNED_IN] else None


def _token_mark() -> str:
    """Return a digest of the token for the cookie. If the researcher's token changes, old cookies become invalid."""
    return hashlib.sha256(f"researcher cookie {context().secrets.researcher_token}".encode()).hexdigest()


def _redirect_to_progress() -> Response:
    response = redirect(url_for("researchers.progress"), code=303)
    assert isinstance(response, Response)
    return response


def sign_in_form(problem: str | None = None) -> str:
    """Return the page that asks for the token, and that shows the problem of the last attempt."""
    return render_template("sign-in.html", study=context().study, problem=problem)
