"""Origin and kind of a request, from headers that the browser sends (W3C Fetch Metadata).

A browser sends these headers with requests over HTTPS, and with requests to its own machine. Scripts cannot change
them. An older browser, or a browser on plain HTTP, sends `Origin` instead. If a client sends none of these headers,
the server accepts the request.
"""

from flask import request
from werkzeug.exceptions import Forbidden

FROM_OTHER_SITE = (
    "This form was sent from another site, so nothing was done. Fix: open this server's page, and send the form again."
)


def refuse_other_sites() -> None:
    """Raise an error for a form that a page of another site has sent.

    Raises
    ------
    Forbidden
        If the browser reports another site.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin", "null")
    if site is not None:
        is_own = site in {"same-origin", "none"}
    else:
        # A page that sends no referrer, such as the server's own pages, has the origin "null". A proxy may forward
        # HTTPS as HTTP, so only the hosts are compared.
        is_own = origin == "null" or origin.partition("://")[2] == request.host
    if not is_own:
        raise Forbidden(FROM_OTHER_SITE)


def is_visit() -> bool:
    """Return True if the request opens a page in a window, and False if a frame, an image or a script sends it."""
    mode, destination = request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest")
    return mode in {None, "navigate"} and destination in {None, "document"}
