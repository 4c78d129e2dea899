"""Strict security headers on every reply."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from server.cookies import is_https

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'{styles}; img-src 'self' data: blob:; "
    "media-src 'self' blob:{sounds}; connect-src 'self'{requests}; "
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

    If a reply has no `Cache-Control` header, the browser must not cache it. A reply with a content security policy of
    its own keeps this policy.

    Parameters
    ----------
    app
        The application.
    has_plugins
        True if the study has published jsPsych plugins. Pages may then have inline styles, and sounds and videos as
        `data:` addresses, as these plugins do. jsPsych also requests the sounds of plugins at their `blob:` addresses.
    """

    def __init__(self, app: "WSGIApplication", has_plugins: bool) -> None:
        self._app = app
        styles, sounds, requests = (" 'unsafe-inline'", " data:", " data: blob:") if has_plugins else ("", "", "")
        policy = CONTENT_SECURITY_POLICY.format(styles=styles, sounds=sounds, requests=requests)
        self._policy = [("Content-Security-Policy", policy)]
        self._over_https = [*ALWAYS, ONLY_OVER_HTTPS]

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        strict = self._over_https if is_https(environ) else ALWAYS

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Callable[[bytes], object]:
            names = {name for name, _ in headers}
            policy = [] if "Content-Security-Policy" in names else self._policy
            kept = [] if "Cache-Control" in names else [("Cache-Control", "no-store")]
            return start_response(status, [*headers, *policy, *strict, *kept], *error)

        return self._app(environ, start)
