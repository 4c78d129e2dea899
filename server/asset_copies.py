"""The server's copies of pictures, sounds and videos.

A copy has its SHA-256 as its name. So a session that began with an earlier content of the study still gets the files of
this content, and a file that changes in the study's folder does not change under a running session.
"""

import hashlib
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.asset_files import asset_file
from batteries.stimulus.parts import asset_parts, path_of, stored_name
from experiment.study.definition import Study
from server.locations import assets_folder
from server.settings import Settings


def keep_assets(study: Study, folder: Path) -> None:
    """Copy the files of a study's items, and its logo, to `folder`, under their SHA-256.

    Copies that exist already are not read again.

    Raises
    ------
    InputError
        If a file has changed since the study was read, or if a copy cannot be written.
    """
    battery_folder = (study.folder / study.definition.battery).parent
    parts = {stored_name(part): part for item in study.battery.items for part in asset_parts(item.content)}
    files: list[tuple[Path, Mapping[str, Any]]] = [(battery_folder, part) for part in parts.values()]
    if logo := logo_part(study):
        files.append((study.folder, logo))
    for source, part in files:
        copy = folder / stored_name(part)
        if copy.is_file():  # A copy appears only when it is complete.
            continue
        path = path_of(part)
        data = asset_file(source, path).read_bytes()
        if hashlib.sha256(data).hexdigest() != part["sha256"]:
            raise InputError(f"{path}: the file has changed since the study was read. Fix: start the command again.")
        _write(copy, data)


def logo_part(study: Study) -> Mapping[str, Any] | None:
    """Return the study's logo as a part with a file, such as the parts of an item. None if the study has no logo."""
    look = study.definition.look
    return None if look.logo is None else {"image": look.logo, "alt": look.logo_alt, "sha256": look.logo_sha256}


def kept_asset(study: Study, settings: Settings, part: Mapping[str, Any]) -> bytes | None:
    """Return the bytes of the file of a part: the server's copy, or the file in the study's folder. None if missing."""
    copy = assets_folder(study, settings) / stored_name(part)
    places = [copy, (study.folder / study.definition.battery).parent / path_of(part)]
    for place in places:
        with suppress(OSError):
            data = place.read_bytes()
            if hashlib.sha256(data).hexdigest() == part["sha256"]:
                return data
    return None


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
