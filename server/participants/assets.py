"""The requests for pictures, sounds and videos."""

import re
from itertools import chain

from flask import Blueprint, Response, request, send_file
from werkzeug.exceptions import NotFound

from batteries.stimulus.parts import MEDIA_TYPES
from server.context import context
from server.file_reply import FILE
from server.locations import assets_folder

ONE_YEAR_S = 31_536_000
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'"
"""Content security policy of a file. A drawing (SVG) that is opened as a page runs no script and loads nothing."""
_TYPES = dict(chain.from_iterable(types.items() for types in MEDIA_TYPES.values()))
_NAME = re.compile(rf"([0-9a-f]{{64}})({'|'.join(map(re.escape, _TYPES))})")

assets = Blueprint("assets", __name__)


@assets.get("/asset/<name>")
def asset(name: str) -> Response:
    """Return a picture, sound or video of the study. The name is the SHA-256 with the suffix of the file."""
    found = _NAME.fullmatch(name)
    path = assets_folder(context().study, context().settings) / name
    if found is None or not path.is_file():
        raise NotFound
    response = send_file(path, mimetype=_TYPES[found[2]], conditional=True, etag=found[1], max_age=ONE_YEAR_S)
    response.headers["Cache-Control"] = f"max-age={ONE_YEAR_S}, immutable"
    response.headers["Content-Security-Policy"] = POLICY
    request.environ[FILE] = str(path)
    return response
