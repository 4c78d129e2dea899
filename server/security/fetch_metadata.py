"""Origin and kind of a request, as the browser reports them (W3C Fetch Metadata).

Browsers send these headers over HTTPS and to their own machine, and no script can change them. An older browser, or one
on plain HTTP, is judged by `Origin`, if it sends one. A client that sends neither is not refused.
"""

from flask import request
from werkzeug.exceptions import Forbidden

FROM_ELSEWHERE = (
    "This form was sent from another site, so nothing was done. Open the page itself, and send it from there."
)


def refuse_other_sites() -> None:
    """Refuse a form that a page of another site has sent.

    Raises
    ------
    Forbidden
        If the browser reports that.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin", "null")
    if site is not None:
        is_own = site in {"same-origin", "none"}
    else:
        # "null" comes from a page that sends no referrer, as ours do. A proxy may have ended HTTPS: only hosts are
        # compared.
        is_own = origin == "null" or origin.partition("://")[2] == request.host
    if not is_own:
        raise Forbidden(FROM_ELSEWHERE)


def is_visit() -> bool:
    """Return True if the request opens a page in a window, not in a frame, as an image or by a script."""
    mode, destination = request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest")
    return mode in {None, "navigate"} and destination in {None, "document"}
