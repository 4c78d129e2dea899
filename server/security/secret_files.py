"""Secrets: made at the first start, stored in files that only their owner may read; none has a default."""

import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path

from batteries.errors import InputError
from batteries.files.file_reading import read_text

BYTES = 24


@dataclass(frozen=True)
class Secrets:
    """Secrets that only the server and the researcher may know."""

    signing_key: str = field(repr=False)
    """Signs cookies and personal links; several keys are lines of a text, the newest last (see `signatures`)."""
    researcher_token: str = field(repr=False)
    """Opens the researcher's pages."""


def read_secrets(folder: Path) -> Secrets:
    """Return the secrets in a folder; missing ones are made.

    Raises
    ------
    InputError
        If a file cannot be read or made, or does not hold a secret.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Secrets(_read(folder / "signing-key"), _read(folder / "researcher-token"))
    except OSError as error:
        raise InputError(
            f"{folder}: the secrets cannot be kept here ({error.strerror}). Fix: check the folder's permissions."
        ) from None


def _read(path: Path) -> str:
    if not path.exists():
        # Written to a temporary file and linked into place: a half-written secret would be easy to guess, and two
        # servers that start together must use the same one.
        aside = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(BYTES))
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            pass
        except OSError:  # A file system without links.
            aside.replace(path)
        aside.unlink(missing_ok=True)
    secret = read_text(path).strip()
    if not secret or any(0 < len(line.strip()) < BYTES for line in secret.splitlines()):
        raise InputError(f"{path}: this file does not hold a secret. Fix: delete it; the server will make a new one.")
    return secret
