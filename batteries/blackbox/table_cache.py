"""The table of ray outcomes in the user's cache folder.

The cache only saves time. If the file is missing, damaged or unreadable, the table is computed again. If the file
cannot be written, nothing is stored.
"""

import hashlib
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import numpy as np
import platformdirs
from numpy.typing import NDArray

FORMAT = 1
"""Increase this number if the rules, the order of boards or ports, or the codes of outcomes change."""


def read_cached_outcomes(size: int, n_atoms: int, shape: tuple[int, int]) -> NDArray[np.uint8] | None:
    """Return the stored outcomes, ports x boards. Return None if there is no complete file."""
    try:
        content = _cache_file(size, n_atoms).read_bytes()
    except OSError:
        return None
    stored_digest, outcomes = content[:32], memoryview(content)[32:]
    if len(outcomes) != shape[0] * shape[1] or hashlib.sha256(outcomes).digest() != stored_digest:
        return None
    return np.frombuffer(outcomes, dtype=np.uint8).reshape(shape)


def write_cached_outcomes(size: int, n_atoms: int, outcomes: NDArray[np.uint8]) -> None:
    """Store outcomes. The file appears only when it is complete. If it cannot be written, do nothing."""
    file = _cache_file(size, n_atoms)
    if not file.is_absolute():  # A user without a home folder: the path would begin with a folder named "~".
        return
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=file.parent, prefix=file.name, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(hashlib.sha256(outcomes.data).digest())
                stream.write(outcomes.data)
            Path(part).replace(file)
        finally:
            Path(part).unlink(missing_ok=True)


def cache_folder() -> Path:
    """Return the user's cache folder for Equipoise."""
    return platformdirs.user_cache_path("equipoise", appauthor=False)


def _cache_file(size: int, n_atoms: int) -> Path:
    return cache_folder() / f"blackbox-{size}x{size}-{n_atoms}-atoms-{FORMAT}.bin"
