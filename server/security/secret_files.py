"""Secrets of the server. The first start makes random secrets, in files that only their owner can read."""

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
    """Key that signs cookies and personal links. If there are several keys (one per line), the last key is the newest.
    """
    researcher_token: str = field(repr=False)
    """Token with which a researcher signs in."""


def read_secrets(folder: Path) -> Secrets:
    """Return the secrets in a folder. If a secret is missing, make it first.

    Raises
    ------
    InputError
        If a file cannot be read or made, or does not contain a secret.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Secrets(_read(folder / "signing-key"), _read(folder / "researcher-token"))
    except OSError as error:
        raise InputError(
            f"{folder}: cannot store the secrets ({error.strerror}). Fix: check the permissions of this folder."
        ) from None


def _read(path: Path) -> str:
    if not path.exists():
        # Written to a temporary file, which gets its final name only when complete: a half-written secret would be easy
        # to guess. Two servers that start at the same time must use the same secret.
        aside = path.with_name(f"{path.name}-{secrets.token_hex(4)}")
        with os.fdopen(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(BYTES))
        try:
            path.hardlink_to(aside)
        except FileExistsError:
            pass
        except OSError:  # The file system has no hard links.
            aside.replace(path)
        aside.unlink(missing_ok=True)
    secret = read_text(path).strip()
    if not secret or any(0 < len(line.strip()) < BYTES for line in secret.splitlines()):
        raise InputError(
            f"{path}: this file must contain a secret, a long random text that the server made, but the text is "
            "missing or too short. Fix: delete this file; the server then makes a new secret."
        )
    return secret
