"""Pictures, sounds and videos: the copies that the server keeps, and the requests for them.

A copy has its SHA-256 as its name. So a session that began with an earlier content of the study still gets the files of
this content, and a file that changes in the study's folder does not change under a running session.
"""

import hashlib
import re
import secrets
from contextlib import suppress
from itertools import chain
from pathlib import Path

from flask import Blueprint, Response, request, send_file
from werkzeug.exceptions import NotFound

from batteries.errors import InputError
from batteries.stimulus.asset_files import asset_file
from batteries.stimulus.parts import MEDIA_TYPES, asset_parts, path_of, stored_name
from experiment.study.definition import Study
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


def keep_assets(study: Study, folder: Path) -> None:
    """Copy the files of a study's items to `folder`, under their SHA-256. Copies that exist already are not read again.

    Raises
    ------
    InputError
        If a file has changed since the study was read, or if a copy cannot be written.
    """
    battery_folder = (study.folder / study.definition.battery).parent
    parts = {stored_name(part): part for item in study.battery.items for part in asset_parts(item.content)}
    for name, part in parts.items():
        copy = folder / name
        if copy.is_file():  # A copy appears only when it is complete.
            continue
        path = path_of(part)
        data = asset_file(battery_folder, path).read_bytes()
        if hashlib.sha256(data).hexdigest() != part["sha256"]:
            raise InputError(f"{path}: the file has changed since the study was read. Fix: start the command again.")
        _write(copy, data)


def _write(copy: Path, data: bytes) -> None:
    part = copy.with_name(f"{copy.name}-{secrets.token_hex(4)}.part")
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(data)
        part.replace(copy)
    except OSError as error:
        raise InputError(
            f"{copy}: cannot be written ({error.strerror}). Fix: check the permissions of the folder and the free "
            "space on the disk, or set EQUIPOISE_ASSETS to another folder."
        ) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
