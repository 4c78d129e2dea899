"""Strict security headers on every reply."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from server.cookies import is_https

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src {styles}; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)
ALWAYS = [
    # Cross-origin isolation: without it the browser reduces the resolution of its clocks.
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
]
ONLY_OVER_HTTPS = ("Strict-Transport-Security", "max-age=31536000")


class StrictHeaders:
    """A WSGI application that adds the strict headers to the replies of `app`.

    If a reply has no `Cache-Control` header, the browser must not cache it.

    Parameters
    ----------
    app
        The application.
    allows_inline_styles
        True if pages may have inline styles, as published jsPsych plugins do.
    """

    def __init__(self, app: "WSGIApplication", allows_inline_styles: bool) -> None:
        self._app = app
        styles = "'self' 'unsafe-inline'" if allows_inline_styles else "'self'"
        self._always = [("Content-Security-Policy", CONTENT_SECURITY_POLICY.format(styles=styles)), *ALWAYS]
        self._over_https = [*self._always, ONLY_OVER_HTTPS]

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        strict = self._over_https if is_https(environ) else self._always

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            may_be_kept = any(name == "Cache-Control" for name, _ in headers)
            kept = [] if may_be_kept else [("Cache-Control", "no-store")]
            return start_response(status, [*headers, *strict, *kept], *error)

        return self._app(environ, start)
