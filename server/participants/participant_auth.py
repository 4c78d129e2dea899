"""Identification of participants by a panel id, or by the token of a personal link.

The server moves the id or token from the address of the study into a signed cookie. Before consent, the server stores
nothing. After consent, a random token in a second signed cookie identifies the session. The store has only the digest
of the random token.
"""

import base64
import hashlib
import json
import re
import secrets
from dataclasses import asdict
from typing import Any

from flask import Response, redirect, request, url_for
from werkzeug.exceptions import HTTPException

from experiment.study.definition import Study
from experiment.study.recruitment import PANEL_ID_PATTERN, PLACEHOLDER_PATTERN, Recruitment
from server.context import context
from server.cookies import SignedCookie, UnreadableCookies
from server.participants.group_links import group_of
from server.recruitment.prolific_study import GROUP_PARAMETER
from server.recruitment.prolific_token import TOKEN_PARAMETER
from server.security.fetch_metadata import is_visit
from server.security.signatures import sign, signed_value
from server.store import PANEL, Identity

COOKIE = SignedCookie("entry", samesite="Lax")
SESSION_COOKIE = SignedCookie("session", samesite="Lax")
CHECK_COOKIE = SignedCookie("check", samesite="Lax")
"""Cookie without content. If a browser returns it, the browser also returns the cookies that a session needs."""
MAX_AGE_S = 24 * 3600
LINK_PARAMETER = "token"
KEPT_PATTERN = re.compile(PANEL_ID_PATTERN)
"""Pattern for the values of parameters in the study's address. A value with a space or an unprintable character does
not match and is ignored.
"""
PLACEHOLDER = re.compile(PLACEHOLDER_PATTERN)


class NoEntry(HTTPException):
    """Error for a start without an identity, in a study that requires a panel id or a personal link."""

    code = 403
    text = "no_entry"


class OpenFromProlific(NoEntry):
    """Error for a start without Prolific's signature, in a study that requires the signature."""

    text = "open_from_prolific"


class NotInvited(NoEntry):
    """Error for a start with a panel id that is not in the study's list of invited panel ids."""

    text = "not_invited"


class PlaceholderAsId(NoEntry):
    """Error for a start with a link in which the panel did not replace the placeholder of the participant's id."""

    text = "id_placeholder"


class InvalidId(NoEntry):
    """Error for a start with a link whose panel id does not match the pattern of the study's panel ids."""

    text = "id_invalid"


class CookiesBlocked(NoEntry):
    """Error for a start by a browser that blocks cookies. The session would take a slot, but could not continue."""

    text = "cookies_blocked"


LINK_ERRORS: dict[str, type[NoEntry]] = {error.text: error for error in (PlaceholderAsId, InvalidId)}
"""Errors of links without a valid panel id, by their names in the cookie."""


class NoSession(HTTPException):
    """Error for a request without a session cookie, or with a forged cookie."""

    code = 401
    text = "no_session"


class UnreadableSession(HTTPException):
    """Error for a request of a session with unreadable cookies. The status is 401.

    With this status, the page in the browser keeps the responses that it has not sent yet.
    """

    code = 401
    description = UnreadableCookies.description


def exchange() -> Response:
    """Return a redirect to the address without parameters. The reply stores the parameters in a cookie."""
    response = redirect(url_for("web_client.page"), code=303)
    assert isinstance(response, Response)
    # A request by a frame, an image or a script of another site does not come from a participant.
    coming = _identity_in_address() if is_visit() else None
    if coming is not None:
        if not _has_session_of(coming):
            # Perhaps another person uses the same machine, and must not get the earlier participant's session.
            SESSION_COOKIE.delete(response)
        _send_fields(response, asdict(coming) | {"group": _group_in_address()})
    elif is_visit() and (error := _error_in_address()) is not None:
        _send_fields(response, {"error": error.text})
    return response


def send_check_cookie(response: Response) -> None:
    """Send the cookie that shows whether the browser returns cookies."""
    CHECK_COOKIE.send(response, "", MAX_AGE_S)


def returns_cookies() -> bool:
    """Return True if the client has returned the cookie of the study's page."""
    return CHECK_COOKIE.read(MAX_AGE_S) is not None


def refuse_browser_without_cookies() -> None:
    """Raise an error for a start by a browser that does not return cookies. Other clients may start without a page.

    Raises
    ------
    CookiesBlocked
        If the request comes from a browser, and the cookie of the study's page is missing.
    """
    is_browser = "Sec-Fetch-Site" in request.headers or "Origin" in request.headers
    if is_browser and not returns_cookies():
        raise CookiesBlocked()


def identity() -> Identity | None:
    """Return the identity in the request's cookie, or None if there is none of the kind that the study requires."""
    entry = context().study.definition.recruitment.entry
    fields = _fields_of_cookie()
    if fields is None or "error" in fields:
        return None
    if "source" in fields:  # A cookie from before the update of the server.
        fields["id_kind"] = fields.pop("source")
    fields.pop("group", None)
    found = Identity(**fields)
    is_signed_as_asked = context().prolific_tokens is None or found.signed_at is not None
    return found if found.id_kind == entry and is_signed_as_asked else None


def wanted_group() -> int | None:
    """Return the counterbalance group that the participant's link names; None if the server chooses the group."""
    group: int | None = (_fields_of_cookie() or {}).get("group")
    return group


def _send_fields(response: Response, fields: dict[str, Any]) -> None:
    COOKIE.send(response, base64.urlsafe_b64encode(json.dumps(fields).encode()).decode(), MAX_AGE_S)


def _fields_of_cookie() -> dict[str, Any] | None:
    held = COOKIE.read(MAX_AGE_S)
    if held is None:
        return None
    fields: dict[str, Any] = json.loads(base64.urlsafe_b64decode(held))
    return fields


def required_identity() -> Identity:
    """Return the participant's identity, or raise an error if the study does not accept it.

    Raises
    ------
    NoEntry
        If there is no identity, or the study does not accept the identity.
    """
    found = identity()
    if found is None:
        raise no_entry()
    invited = context().study.panel_ids
    if invited is not None and found.id_kind == PANEL and found.external_id not in invited:
        context().limits.count_unproven_claim()
        raise NotInvited()
    return found


def no_entry() -> NoEntry:
    """Return the error for a participant without an identity."""
    error = (_fields_of_cookie() or {}).get("error")
    if error in LINK_ERRORS:
        return LINK_ERRORS[error]()
    return NoEntry() if context().prolific_tokens is None else OpenFromProlific()


def _has_session_of(coming: Identity) -> bool:
    """Return True if the browser's cookies belong to `coming`, the participant who opens the page now."""
    held = identity()
    if held is not None:
        return held.external_id == coming.external_id
    digest = find_token_digest()  # The session's cookie lasts longer than the cookie with the address's parameters.
    plan = context().store.find_plan(digest) if digest else None
    return plan is not None and context().store.external_id(plan.session) == coming.external_id


def send_token(response: Response, token: str) -> None:
    """Send a session's token, as a cookie, to a browser or program that begins or resumes the session."""
    SESSION_COOKIE.send(response, token, _session_max_age_s())


def token_digest() -> str:
    """Return the digest of the request's token.

    Raises
    ------
    NoSession
        If the request has no token.
    UnreadableSession
        If the cookies of the request cannot be read.
    """
    try:
        digest = find_token_digest()
    except UnreadableCookies:
        raise UnreadableSession() from None
    if digest is None:
        raise NoSession()
    return digest


def find_token_digest() -> str | None:
    """Return the digest of the request's token, or None if the request has no token."""
    token = SESSION_COOKIE.read(_session_max_age_s())
    return None if token is None else digest_of_token(token)


def digest_of_token(token: str) -> str:
    """Return the digest (SHA-256) of a token. The store has only the digest."""
    return hashlib.sha256(token.encode()).hexdigest()


def _session_max_age_s() -> int:
    return context().settings.session_days * 24 * 3600


def _identity_in_address() -> Identity | None:
    recruitment = context().study.definition.recruitment
    if recruitment.entry == "panel":
        return _identity_from_panel(recruitment)
    if recruitment.entry == "link":
        purpose, signed = _purpose_of_links(context().study), request.args.get(LINK_PARAMETER, "")
        token = signed_value(context().secrets.signing_key, purpose, signed)
        return None if token is None else Identity("link", token)
    return None


def _error_in_address() -> type[NoEntry] | None:
    """Return the error of an address whose panel id is invalid; None if the address has no panel id."""
    recruitment = context().study.definition.recruitment
    value = request.args.get(recruitment.panel_parameter, "").strip()
    if recruitment.entry != "panel" or not value:
        return None
    if PLACEHOLDER.fullmatch(value):
        return PlaceholderAsId
    return None if recruitment.id_pattern.fullmatch(value) else InvalidId


def _group_in_address() -> int | None:
    study, token = context().study, request.args.get(GROUP_PARAMETER)
    return None if token is None else group_of(study, context().secrets.signing_key, token)


def _identity_from_panel(recruitment: Recruitment) -> Identity | None:
    """Return the identity in the address that a panel sent.

    Return None if the panel id is malformed, or if a required signature is missing or invalid.
    """
    names = (recruitment.panel_parameter, *recruitment.kept_parameters)
    values = {name: request.args.get(name, "").strip() for name in names}
    tokens, signed_at = context().prolific_tokens, None
    if tokens is not None:
        visit = tokens.visit(request.args.get(TOKEN_PARAMETER, ""))
        if visit is None or any(values[name] not in {"", visit.ids[name]} for name in names if name in visit.ids):
            return None
        values |= {name: visit.ids[name] for name in names if name in visit.ids}
        signed_at = visit.signed_at
    kept = {
        name: value
        for name, value in values.items()
        if KEPT_PATTERN.fullmatch(value) and not PLACEHOLDER.fullmatch(value)
    }
    external_id = kept.pop(recruitment.panel_parameter, "")
    return Identity(PANEL, external_id, kept, signed_at) if recruitment.id_pattern.fullmatch(external_id) else None


def make_link_token(study: Study, signing_key: str) -> str:
    """Return the token of a new personal link. The token is signed, so the server needs no list of tokens."""
    return sign(signing_key, _purpose_of_links(study), secrets.token_hex(8))


def _purpose_of_links(study: Study) -> str:
    return f"link {study.name}"
