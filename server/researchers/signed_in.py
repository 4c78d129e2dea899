"""The researcher who makes a request: the cookie of a sign-in, the account, and its role.

Each sign-in adds an entry to the study's log, and the cookie contains the number of this entry. Signing out adds a
second entry. This second entry makes the cookie, and all copies of the cookie, invalid in every server process.
"""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import Response, request
from werkzeug.exceptions import Forbidden, HTTPException

from server.context import context
from server.cookies import SignedCookie
from server.logs import logger
from server.store import Access, Role
from server.store.models import has_active_owner

COOKIE = SignedCookie("researcher", samesite="Strict", path="/researcher/")
COOKIE_MAX_AGE_S = 12 * 3600
LINK = "link"
"""Name, in the log, of the researcher who signs in with the link that `equipoise serve` prints."""


@dataclass(frozen=True)
class SignIn:
    """A valid sign-in."""

    name: str
    """Random name of the sign-in, in its two log entries."""
    account: str
    """Name of the account, or `LINK`."""
    number: int
    """Number of the log entry of the sign-in."""
    mark: str
    """Value that links the sign-in to the credentials of the account."""
    role: Role


class NotSignedIn(HTTPException):
    """A request without a valid sign-in."""

    code = 403


def begin_sign_in(response: Response, account: str) -> None:
    """Log a sign-in, and send its cookie with a response."""
    name = secrets.token_hex(8)
    (number,) = note(Access.SIGNED_IN, sign_in=name, account=account)
    credentials = _credentials(account)
    if credentials is None:  # The account was changed just now.
        raise NotSignedIn()
    COOKIE.send(response, f"{number}-{name}-{credentials.mark}", COOKIE_MAX_AGE_S)


def end_sign_in(response: Response) -> None:
    """End the sign-in of the request, if there is one, and delete its cookie."""
    found = find_sign_in()
    if found is not None:
        note(Access.SIGNED_OUT, sign_in=found.name, account=found.account)
    COOKIE.delete(response)


def find_sign_in() -> SignIn | None:
    """Return the sign-in to which the request's cookie belongs; None without a valid cookie."""
    held = COOKIE.read(COOKIE_MAX_AGE_S)
    if held is None or held.count("-") != 2:  # A cookie of an earlier Equipoise.
        return None
    number, name, mark = held.split("-")
    events = context().store.events(context().study, int(number), (Access.SIGNED_IN, Access.SIGNED_OUT))
    logged = [event for event in events if event.details["sign_in"] == name]
    # Another entry may have this number if the store was replaced by a backup.
    if [event.event for event in logged] != [Access.SIGNED_IN]:
        return None
    account = logged[0].details.get("account", LINK)
    credentials = _credentials(account)
    if credentials is None or not hmac.compare_digest(mark, credentials.mark):
        return None
    return SignIn(name, account, int(number), mark, credentials.role)


def ended_sign_ins(sign_ins: Sequence[SignIn]) -> set[str]:
    """Return the names of those sign-ins that are no longer valid, with few queries for many sign-ins."""
    since = min((one.number for one in sign_ins), default=0)
    signed_out = {
        event.details["sign_in"] for event in context().store.events(context().study, since, (Access.SIGNED_OUT,))
    }
    found = {account: _credentials(account) for account in {one.account for one in sign_ins}}
    marks = {account: credentials.mark for account, credentials in found.items() if credentials is not None}
    return {one.name for one in sign_ins if one.name in signed_out or one.mark != marks.get(one.account)}


def require_role(least: Role) -> SignIn:
    """Return the sign-in of the request, if its role includes `least`.

    Raises
    ------
    NotSignedIn
        If there is no valid sign-in.
    Forbidden
        If the role of the account does not allow the action.
    """
    found = find_sign_in()
    if found is None:
        raise NotSignedIn()
    if not found.role.includes(least):
        raise Forbidden(
            f"Your account has the role {found.role}, but this action needs the role {least}. Fix: ask an owner of "
            "the study."
        )
    return found


def link_is_valid() -> bool:
    """Return True if researchers may sign in with the printed link: if no active account has the role of an owner."""
    return not has_active_owner(context().store.accounts(context().study))


def is_token(given: str, expected: str) -> bool:
    """Return True if a secret is right. The comparison takes the same time for right and wrong secrets.

    The server counts only wrong tokens. So it accepts the right token even after many wrong tokens from the same
    network.
    """
    return hmac.compare_digest(given.encode(), expected.encode())


def require_token() -> None:
    """Raise an error if a program's request does not have the researcher's token."""
    if not is_token(request.headers.get("Authorization", ""), f"Bearer {context().secrets.researcher_token}"):
        context().limits.count_wrong_key()
        raise Forbidden(
            "The request does not contain this server's token. Fix: copy the token from the file "
            "`data/researcher-token` on the server, not on this machine. For `equipoise lab`, set "
            "EQUIPOISE_RESEARCHER_TOKEN to this token. Any other program must send this token in the header "
            "`Authorization: Bearer`."
        )


def note(access: Access, **details: Any) -> list[int]:
    """Record a researcher's action in the study's log and in the server's log."""
    logger.info("researcher: %s", access.value, extra=details)
    return context().store.note(context().study, access, **details)


@dataclass(frozen=True)
class _Credentials:
    """The present credentials of an account, or of the link."""

    mark: str
    """Value that links a cookie to the credentials. If the credentials change, old cookies become invalid."""
    role: Role


def _credentials(account: str) -> _Credentials | None:
    """Return the credentials of an account; None if nobody may sign in with this account now."""
    if account == LINK:
        secret, role = context().secrets.researcher_token, Role.OWNER
        is_usable = link_is_valid()
    else:
        found = context().store.account(context().study, account)
        if found is None:
            return None
        secret, role, is_usable = f"{account} {found.password_hash} {found.totp_secret}", found.role, found.is_active
    mark = hashlib.sha256(f"researcher cookie {secret}".encode()).hexdigest()
    return _Credentials(mark, role) if is_usable else None
