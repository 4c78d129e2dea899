"""Atomic writes of one file: the new file appears only when it is complete."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from batteries.errors import InputError
from batteries.files.private_files import open_private


@contextmanager
def atomic_write(path: Path, *, is_private: bool = False) -> Iterator[TextIO]:
    """Open a UTF-8 file for writing. The file appears only when it is complete.

    Parameters
    ----------
    path
        The file to write. An earlier file with this name is replaced.
    is_private
        True if only the owner may read the file.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    if not path.name or path.is_dir():
        raise InputError(f"{path}: cannot be written, because this is a folder. Fix: choose the name of a file.")
    # Not a hidden file: a killed program leaves this file, and a person should find it.
    part = path.with_name(f"{path.name}-{secrets.token_hex(4)}.part")
    opener = open_private if is_private else None
    try:
        with open(part, "x", encoding="utf-8", newline="", opener=opener) as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror}). Fix: check the permissions of the folder and the "
            "free space on the disk."
        ) from None
    finally:
        with suppress(OSError):  # a file that could not be made cannot be removed
            part.unlink(missing_ok=True)
