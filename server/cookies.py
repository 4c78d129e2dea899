"""Cookies: signed, out of reach of scripts, and for HTTPS only where the study is served over HTTPS."""

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from flask import Response, request
from itsdangerous import BadSignature, TimestampSigner

from server.context import context

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment


def is_https(environ: "WSGIEnvironment") -> bool:
    """Return whether the participant's browser speaks HTTPS."""
    # Behind a proxy that ends HTTPS only this header tells; a forged one can do no more than keep a cookie back.
    return "https" in {environ["wsgi.url_scheme"], environ.get("HTTP_X_FORWARDED_PROTO")}


class SignedCookie:
    """A cookie that nobody but this server can have made.

    Parameters
    ----------
    name
        What it is for; a signature made for one purpose is worth nothing for another.
    samesite
        "Strict" if it is not sent when somebody comes from another site, else "Lax".
    path
        Where it is sent.
    """

    def __init__(self, name: str, samesite: Literal["Lax", "Strict"], path: str = "/") -> None:
        self._purpose = name
        self._samesite = samesite
        self._path = path

    def send(self, response: Response, value: str, max_age_s: int) -> None:
        """Send the cookie with a response."""
        response.set_cookie(
            self._name(),
            self._signer().sign(value).decode(),
            max_age=max_age_s,
            httponly=True,
            samesite=self._samesite,
            secure=is_https(request.environ),
            path=self._path,
        )

    def delete(self, response: Response) -> None:
        """Have the browser forget the cookie."""
        response.delete_cookie(
            self._name(), path=self._path, secure=is_https(request.environ), httponly=True, samesite=self._samesite
        )

    def read(self, max_age_s: int) -> str | None:
        """Return what the request's cookie holds, or None if there is none, or it is old or not ours."""
        signed = request.cookies.get(self._name())
        try:
            return self._signer().unsign(signed, max_age=max_age_s).decode() if signed else None
        except (BadSignature, UnicodeDecodeError):
            return None

    def _signer(self) -> TimestampSigner:
        return _signer(context().secrets.signing_key, f"equipoise {self._purpose} {context().study.name}")

    def _name(self) -> str:
        # Cookies do not tell ports apart: two studies on one machine need names of their own. The prefixes make a
        # browser refuse a cookie of that name from anybody but this host over HTTPS.
        prefix = ("__Host-" if self._path == "/" else "__Secure-") if is_https(request.environ) else ""
        return f"{prefix}equipoise_{self._purpose}_{context().study.name}"


@lru_cache
def _signer(signing_key: str, salt: str) -> TimestampSigner:
    return TimestampSigner(signing_key, salt=salt)
