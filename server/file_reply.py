"""Replies that are files. The gateway sends them from the disk, so that a large video is never in memory."""

import re
from http import HTTPStatus
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from granian.rsgi import HTTPProtocol  # type: ignore[attr-defined]

FILE = "equipoise.file"
"""Key in the WSGI environment of a request whose reply is a file, or a part of it. The value is the path."""
_RANGE = re.compile(r"bytes (\d+)-(\d+)/\d+")


def send_file_reply(status: int, headers: list[tuple[str, str]], path: str, protocol: "HTTPProtocol") -> bool:
    """Send a file, or the part of it that the header `Content-Range` names. Return False if the reply has another body.

    Parameters
    ----------
    status, headers
        The status and the headers of the application's reply.
    path
        The file.
    protocol
        The connection of the request.
    """
    if status == HTTPStatus.OK:
        protocol.response_file(status, headers, path)
        return True
    part = _RANGE.fullmatch(dict(headers).get("Content-Range", ""))
    if status == HTTPStatus.PARTIAL_CONTENT and part is not None:
        protocol.response_file_range(status, headers, path, int(part[1]), int(part[2]) + 1)
        return True
    return False
