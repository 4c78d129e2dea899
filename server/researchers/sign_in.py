"""Sign-in and sign-out of researchers, with an account, or with the link that `equipoise serve` prints.

In the link, the token comes after the `#`. Browsers do not send this part of an address to a server. A script of the
page removes the token from the address bar and signs in. The link is for a study on one's own machine. Once an account
has the role of an owner, only accounts can sign in.

The number of wrong passwords is limited for each IP address, and no account is ever locked. A browser that has signed
in before has its own limit, so wrong passwords from the same network do not lock out this browser.
"""

import secrets
from collections.abc import Callable

from flask import Blueprint, Response, redirect, render_template
from werkzeug.exceptions import Forbidden, TooManyRequests

from server.context import context
from server.cookies import SignedCookie
from server.logs import logger
from server.metrics import note_unavailable
from server.request_body import read_field
from server.researchers.passwords import is_password, one_check_at_a_time
from server.researchers.second_factor import time_step_of
from server.researchers.signed_in import (
    LINK,
    begin_sign_in,
    end_sign_in,
    is_token,
    link_is_valid,
    note,
)
from server.security.fetch_metadata import refuse_other_sites
from server.store import Access, StoreUnavailable

sign_in_pages = Blueprint("sign_in", __name__)

KNOWN_BROWSER = SignedCookie("researcher_browser", samesite="Strict", path="/researcher/")
KNOWN_BROWSER_MAX_AGE_S = 180 * 24 * 3600
REFUSED = "This is not the token of this server. Fix: use the link that the command equipoise serve printed."
LINK_REFUSED = "This study has accounts, so the link no longer signs anybody in. Fix: sign in with your account."
ACCOUNT_REFUSED = (
    "The account, the password or the code is wrong, or the code was used before. Fix: enter all of them again; if you "
    "have forgotten the password, ask the person who runs the server for a new password."
)
TOO_MANY = "Too many wrong attempts came from your network. Fix: wait a minute, and try again."
STORE_AWAY = "The store cannot be used now, so nobody can sign in or out. Fix: try again in a moment."


@sign_in_pages.post("/sign-in")
def sign_in() -> Response:
    """Check the token, and send a cookie that replaces the token in later requests."""
    refuse_other_sites()
    if not is_token(read_field("token").strip(), context().secrets.researcher_token):
        _note_refused(context().limits.refused_sign_ins.count())
        context().limits.count_wrong_key()
        raise Forbidden(REFUSED)
    if not link_is_valid():
        raise Forbidden(LINK_REFUSED)
    return _signed_in(LINK)


@sign_in_pages.post("/sign-in/account")
def sign_in_with_account() -> Response:
    """Exchange the name of an account, its password and the code of its second factor for a cookie."""
    refuse_other_sites()
    name, password, code = (read_field(field) for field in ("account", "password", "code"))
    name = name.strip()
    browser = _known_browser(name)
    with one_check_at_a_time(is_known=browser is not None):
        context().limits.refuse_more_passwords(browser)
        if not _is_right(name, password, code):
            context().limits.count_wrong_password(browser)
            _note_refused(context().limits.refused_sign_ins.count())
            raise Forbidden(ACCOUNT_REFUSED)
    response = _signed_in(name)
    KNOWN_BROWSER.send(response, f"{name} {browser or secrets.token_hex(8)}", KNOWN_BROWSER_MAX_AGE_S)
    return response


@sign_in_pages.post("/sign-out")
def sign_out() -> Response:
    """End the sign-in of this browser, and make all copies of the browser's cookie invalid."""
    refuse_other_sites()
    response = _redirect_to_progress()
    end_sign_in(response)
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


def sign_in_form(problem: str | None = None) -> str:
    """Return the page that asks for an account or for the token, and that shows the problem of the last attempt."""
    has_accounts = _if_store_is_there(lambda: bool(context().store.accounts(context().study)), default=True)
    takes_token = _if_store_is_there(link_is_valid, default=True)
    return render_template(
        "sign-in.html", study=context().study, problem=problem, has_accounts=has_accounts, takes_token=takes_token
    )


def note_refused_sign_ins() -> None:
    """Log the number of refused sign-ins since the last entry about refused sign-ins."""
    _note_refused(context().limits.refused_sign_ins.take_rest())


def _is_right(name: str, password: str, code: str) -> bool:
    store, study = context().store, context().study
    account = store.account(study, name)
    usable = account if account is not None and account.is_active else None
    if not is_password(password, usable.password_hash if usable else None) or usable is None:
        return False
    if usable.totp_secret is None:
        return True
    context().limits.refuse_more_second_factors(name)
    step = time_step_of(usable.totp_secret, code)
    if step is None or not store.use_code(study, name, step):
        context().limits.count_wrong_second_factor(name)
        return False
    return True


def _known_browser(account: str) -> str | None:
    """Return the random name of a browser that has signed in with this account before; None for any other browser."""
    held = (KNOWN_BROWSER.read(KNOWN_BROWSER_MAX_AGE_S) or "").partition(" ")
    return held[2] if held[0] == account and held[2] else None


def _signed_in(account: str) -> Response:
    note_refused_sign_ins()
    response = _redirect_to_progress()
    begin_sign_in(response, account)
    return response


def _note_refused(number: int) -> None:
    """Log a number of refused sign-ins. If the store is unavailable, add the number to the next entry."""
    if number:
        try:
            note(Access.SIGN_IN_REFUSED, number=number)
        except StoreUnavailable:
            context().limits.refused_sign_ins.put_back(number)


def _if_store_is_there(question: Callable[[], bool], default: bool) -> bool:
    try:
        return question()
    except StoreUnavailable as error:
        logger.warning("the store cannot be used", extra={"reason": str(error)})
        return default


def _redirect_to_progress() -> Response:
    response = redirect("/researcher/", code=303)
    assert isinstance(response, Response)
    return response
