"""Atomic writes of one file: the file is complete or absent."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

from batteries.errors import InputError
from batteries.files.private_files import open_private


@contextmanager
def atomic_write(path: Path, *, is_private: bool = False) -> Iterator[TextIO]:
    """Open a UTF-8 file for writing; it appears when it is complete, or not at all.

    Parameters
    ----------
    path
        The file; an earlier one is replaced.
    is_private
        True if only its owner may read it.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    if not path.name or path.is_dir():
        raise InputError(f"{path}: cannot be written, as this is a folder. Fix: name a file.")
    # Not hidden: a killed program leaves it, and hidden files are not found.
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
        with suppress(OSError):  # a file that could not be made cannot be removed
            part.unlink(missing_ok=True)
