"""Strict headers on every answer, whatever it is; added outside Flask, where they cost next to nothing."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from server.cookies import is_https

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)
ALWAYS = [
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    # Cross-origin isolation: without it the browser coarsens its clocks.
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Embedder-Policy", "require-corp"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
]
OVER_HTTPS = [*ALWAYS, ("Strict-Transport-Security", "max-age=31536000")]


class StrictHeaders:
    """An application whose answers carry the strict headers, and are not kept by caches unless they say so."""

    def __init__(self, app: "WSGIApplication") -> None:
        self._app = app

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        strict = OVER_HTTPS if is_https(environ) else ALWAYS

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            may_be_kept = any(name == "Cache-Control" for name, _ in headers)
            kept = [] if may_be_kept else [("Cache-Control", "no-store")]
            return start_response(status, [*headers, *strict, *kept], *error)

        return self._app(environ, start)
