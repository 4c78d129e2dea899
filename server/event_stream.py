"""Replies that are streams of server-sent events. The event loop sends them, so that they occupy no thread."""

from collections.abc import AsyncIterator

from flask import Response, request

STREAM = "equipoise.stream"
"""Key in the WSGI environment of a request whose reply is a stream. The value is an asynchronous iterator of bytes,
which the gateway sends instead of the body.
"""


def event_stream(first: bytes, events: AsyncIterator[bytes]) -> Response:
    """Return a reply that is a stream.

    Parameters
    ----------
    first
        The body of the reply without the gateway, as in tests. The browser then asks again.
    events
        The parts of the stream.
    """
    request.environ[STREAM] = events
    # The header makes nginx forward each event at once.
    return Response(first, mimetype="text/event-stream", headers={"X-Accel-Buffering": "no"})
