"""Files of the pictures, sounds and videos of a study, checked against the SHA-256 in the battery."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from batteries.errors import InputError
from batteries.stimulus.asset_files import asset_file
from batteries.stimulus.parts import path_of
from experiment.study.definition import Study


def media_folder(study: Study) -> Path:
    """Return the folder that contains the folder `assets` of a study's battery."""
    return (study.folder / study.definition.battery).parent


def read_file(folder: Path, part: Mapping[str, Any]) -> bytes:
    """Return the content of the file of a part.

    Parameters
    ----------
    folder
        The folder of the battery (`media_folder`).
    part
        A picture, sound or video of an item's content.

    Raises
    ------
    InputError
        If the file is missing, or is not the file that was read with the battery.
    """
    path = path_of(part)
    try:
        data = asset_file(folder, path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: this file cannot be read ({error.strerror}). Fix: check its permissions.") from None
    if hashlib.sha256(data).hexdigest() != part["sha256"]:
        raise InputError(f"{path}: the file has changed since the study was read. Fix: start the command again.")
    return data


def missing_package(name: str) -> InputError:
    """Return the error for a missing package of the extra `lab`."""
    return InputError(
        f"the package {name} is missing, and the study's pictures, sounds or videos need it. Fix: install it with: pip "
        f"install {name}"
    )
