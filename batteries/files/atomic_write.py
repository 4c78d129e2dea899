"""Atomic writes: a file, or a new folder of files, that is complete or absent."""

import secrets
import shutil
from collections.abc import Iterator, Mapping
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


def write_new_folder(files: Mapping[str, str], folder: Path) -> None:
    """Write text files into a new or empty folder: all of them, or none.

    Raises
    ------
    InputError
        If the folder is not empty, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: this folder is not empty, or is a file. Fix: name a new folder.")
    is_new = not folder.exists()
    # Written beside their final names and moved when complete: a full disk leaves nothing that looks like an export.
    unfinished = folder / ".unfinished"
    try:
        for name, text in files.items():
            path = unfinished / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        for path in list(unfinished.iterdir()):
            path.rename(folder / path.name)
        unfinished.rmdir()
    except (OSError, UnicodeEncodeError) as error:
        if folder.is_dir():
            for name in {unfinished.name, *(Path(name).parts[0] for name in files)}:
                _remove(folder / name)
            if is_new:
                folder.rmdir()
        raise InputError(f"{folder}: the files cannot be written ({error}). Fix: name another folder.") from None


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
