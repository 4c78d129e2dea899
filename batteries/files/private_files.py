"""Files that are whole or absent, and files and folders that only their owner may read, whatever the umask."""

import os
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from batteries.errors import InputError

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner only; one that exists stays as it is."""
    # Not by `parents=True`, with which the folders above would be open.
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)  # raises where a file is in the way


def open_private(path: str | Path, flags: int) -> int:
    """Open a file as `os.open` does, for its owner only if it is new: an `opener` for `open`."""
    return os.open(path, flags, PRIVATE_FILE)


def write_private(path: Path, content: bytes) -> None:
    """Write a new file for its owner only."""
    with open(path, "xb", opener=open_private) as file:
        file.write(content)


@contextmanager
def whole_or_not_at_all(path: Path, *, is_private: bool = False) -> Iterator[TextIO]:
    """Open a UTF-8 file to write that is there whole at the end, or not at all.

    Parameters
    ----------
    path
        The file; one of that name is replaced.
    is_private
        Whether only its owner may read it.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    if not path.name or path.is_dir():
        raise InputError(f"{path}: cannot be written, as this is a folder; name a file.")
    # In plain sight, like a backup's: a program that is killed leaves it, and nobody looks for hidden files.
    part = path.with_name(f"{path.name}-{secrets.token_hex(4)}.part")
    opener = open_private if is_private else None
    try:
        with open(part, "x", encoding="utf-8", newline="", opener=opener) as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}). Fix: check the folder's permissions and free space."
        ) from None
    finally:
        with suppress(OSError):  # what could not be made cannot be removed either
            part.unlink(missing_ok=True)


def open_folder_warning(folder: Path) -> str | None:
    """Return a warning, one line, if other users of this machine can look into a folder; else None.

    Its group may look into it without a warning: sharing with a group is deliberate. Windows has no such modes.
    """
    if os.name == "nt" or not folder.is_dir():
        return None
    place = folder.resolve()
    if not place.stat().st_mode & 0o005 or not all(above.stat().st_mode & 0o001 for above in place.parents):
        return None
    return f"{folder}: other users of this machine can read this folder. Fix: chmod -R go= {shlex.quote(str(place))}"
