"""Signed cookies that scripts cannot read.

If the study is served over HTTPS, browsers send the cookies only over HTTPS.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from flask import Response, request
from werkzeug.exceptions import HTTPException
from werkzeug.sansio.http import parse_cookie

from server.context import context
from server.security.signatures import LONGEST_KEPT, lately_signed_value, sign_with_time

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


UNREADABLE = "equipoise.unreadable_cookies"
"""Key in the WSGI environment of a request. The key is present if granian (the web server) dropped the cookies of the
request, because it could not read them.
"""


class UnreadableCookies(HTTPException):
    """Error for a request with unreadable cookies. Without this error, the request would seem to have no cookies."""

    code = 400
    description = (
        "The server cannot read a cookie that another site has set for this address. Fix: delete the cookies of this "
        "address in the browser's settings, and open the study's link again."
    )


def is_https(environ: "WSGIEnvironment") -> bool:
    """Return True if the participant's browser uses HTTPS.

    Behind a reverse proxy, the proxy states the protocol in a header. The server reads the header only if the setting
    `proxies` (the number of proxies) includes this proxy.
    """
    return bool(environ["wsgi.url_scheme"] == "https")


@lru_cache(4096)  # A browser sends the same cookies with each response of a session.
def _cookies(header: str) -> Mapping[str, str]:
    # This function of werkzeug accepts any characters. `werkzeug.http.parse_cookie` fails on cookies that are not
    # UTF-8, which another site can set. This server's own cookies are ASCII.
    return parse_cookie(header)


class SignedCookie:
    """A cookie with this server's signature.

    Parameters
    ----------
    name
        Name of the cookie. It is part of the signature, so the content of one cookie is invalid in another cookie.
    samesite
        "Strict" if browsers must not send the cookie with requests from another site; otherwise "Lax".
    path
        Browsers send the cookie only with requests to addresses under this path.
    """

    def __init__(self, name: str, samesite: Literal["Lax", "Strict"], path: str = "/") -> None:
        self._purpose = name
        self._samesite = samesite
        self._path = path

    def send(self, response: Response, value: str, max_age_s: int) -> None:
        """Send the cookie with a response."""
        response.set_cookie(
            self._name(),
            sign_with_time(context().secrets.signing_key, self._full_purpose(), value),
            max_age=max_age_s,
            httponly=True,
            samesite=self._samesite,
            secure=is_https(request.environ),
            path=self._path,
        )

    def delete(self, response: Response) -> None:
        """Delete the cookie in the browser."""
        response.delete_cookie(
            self._name(), path=self._path, secure=is_https(request.environ), httponly=True, samesite=self._samesite
        )

    def read(self, max_age_s: int) -> str | None:
        """Return the content of the cookie, or None if the cookie is missing, too old or not signed by this server.

        Raises
        ------
        UnreadableCookies
            If the cookies of the request cannot be read.
        """
        if UNREADABLE in request.environ:
            raise UnreadableCookies()
        header = request.environ.get("HTTP_COOKIE", "")
        cookies = (_cookies if len(header) <= LONGEST_KEPT else _cookies.__wrapped__)(header)
        signed = cookies.get(self._name())
        if not signed:
            return None
        return lately_signed_value(context().secrets.signing_key, self._full_purpose(), signed, max_age_s)

    def _full_purpose(self) -> str:
        return f"{self._purpose} {context().study.name}"

    def _name(self) -> str:
        # Browsers send cookies to all ports of a host, so two studies on one machine need different names. The prefixes
        # make a browser refuse a cookie of this name from any other host, or without HTTPS.
        prefix = ("__Host-" if self._path == "/" else "__Secure-") if is_https(request.environ) else ""
        return f"{prefix}equipoise_{self._purpose}_{context().study.name}"
