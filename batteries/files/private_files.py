"""Files and folders that only their owner can read, also if the system's default (the umask) allows other users."""

import os
import shlex
from pathlib import Path

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(folder: Path) -> None:
    """Make a folder and its missing parents. Only the owner can read new folders. Existing folders stay unchanged."""
    # `parents=True` would make the parents readable by others.
    for missing in reversed([place for place in (folder, *folder.parents) if not place.exists()]):
        missing.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)  # Raises if a file is in the way.


def open_private(path: str | Path, flags: int) -> int:
    """Open a file for `open(..., opener=open_private)`. If the file is new, only the owner can read it."""
    return os.open(path, flags, PRIVATE_FILE)


def open_folder_warning(folder: Path) -> str | None:
    """Return a one-line warning if all users of this machine can read a folder. Otherwise return None.

    There is no warning if only the folder's user group can read the folder, because such sharing is deliberate. On
    Windows there is no warning, because Windows has no such permissions.
    """
    if os.name == "nt" or not folder.is_dir():
        return None
    place = folder.resolve()
    if not place.stat().st_mode & 0o005 or not all(above.stat().st_mode & 0o001 for above in place.parents):
        return None
    return f"{folder}: other users of this machine can read this folder. Fix: chmod -R go= {shlex.quote(str(place))}"
