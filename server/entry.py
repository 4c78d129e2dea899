"""How people come in: the panel's id, or a personal link's token, leaves the address at once for a signed cookie.

Nothing is stored before consent; until then only the participant's own browser holds the id. From then on their session
is known by a random token in another signed cookie; the store keeps only the token's digest.
"""

import base64
import hashlib
import json
import re
import secrets
from dataclasses import asdict

from flask import Response, redirect, request, url_for
from itsdangerous import BadSignature, Signer
from werkzeug.exceptions import HTTPException

from experiment.study import Study
from server.context import context
from server.cookies import SignedCookie
from server.store import Identity

COOKIE = SignedCookie("entry", samesite="Lax")
SESSION_COOKIE = SignedCookie("session", samesite="Lax")
MAX_AGE_S = 24 * 3600
LINK_PARAMETER = "token"
ID_PATTERN = re.compile(r"[\x21-\x7e]{1,128}")
"""An id as panels make them: letters, digits and signs, without spaces."""


class NoSession(HTTPException):
    """A request without a session, or with a forged one."""

    code = 401
    text = "no_session"


def exchange() -> Response:
    """Return a redirection to the plain address, with what the request's address said in a cookie."""
    response = redirect(url_for("web_client.page"), code=303)
    assert isinstance(response, Response)
    coming = _identity_in_address()
    if coming is not None:
        held = identity()
        if held is None or held.external_id != coming.external_id:
            # Perhaps another person at the same machine: nobody is to see a session that is not theirs.
            SESSION_COOKIE.delete(response)
        COOKIE.send(response, base64.urlsafe_b64encode(json.dumps(asdict(coming)).encode()).decode(), MAX_AGE_S)
    return response


def identity() -> Identity | None:
    """Return who the request's participant said they are on coming in, if the study asks."""
    entry = context().study.definition.recruitment.entry
    held = COOKIE.read(MAX_AGE_S)
    if held is None:
        return None
    found = Identity(**json.loads(base64.urlsafe_b64decode(held)))
    return found if found.source == entry else None


def send_token(response: Response, token: str) -> None:
    """Give a session's token to whoever has begun it, or goes on with it."""
    SESSION_COOKIE.send(response, token, _session_max_age_s())


def token_digest() -> str:
    """Return the digest of the token that the request comes with.

    Raises
    ------
    NoSession
        If it comes without one.
    """
    token = SESSION_COOKIE.read(_session_max_age_s())
    if token is None:
        raise NoSession()
    return digest_of_token(token)


def digest_of_token(token: str) -> str:
    """Return the digest by which the store knows a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _session_max_age_s() -> int:
    return context().settings.session_days * 24 * 3600


def _identity_in_address() -> Identity | None:
    recruitment = context().study.definition.recruitment
    if recruitment.entry == "panel":
        external_id = request.args.get(recruitment.panel_parameter, "").strip()
        parameters = {
            name: request.args[name]
            for name in recruitment.kept_parameters
            if ID_PATTERN.fullmatch(request.args.get(name, ""))
        }
        return Identity("panel", external_id, parameters) if ID_PATTERN.fullmatch(external_id) else None
    if recruitment.entry == "link":
        try:
            token = _signer(context().study, context().secrets.signing_key).unsign(request.args.get(LINK_PARAMETER, ""))
        except BadSignature:
            return None
        return Identity("link", token.decode())
    return None


def make_link_token(study: Study, signing_key: str) -> str:
    """Return the token of a new personal link; the server knows it by its signature, so it need not be stored."""
    return _signer(study, signing_key).sign(secrets.token_hex(8)).decode()


def _signer(study: Study, signing_key: str) -> Signer:
    return Signer(signing_key, salt=f"equipoise link {study.name}", sep=".")
