"""Prolific's secured external URL: check the `prolific_token` in an address, and read the ids in the token.

The token is a JSON Web Token (RFC 7519). It is signed with RS256 and valid for two minutes. Prolific's reference (Well
Known Endpoints, "Retrieve JSON Web Key Set") lists four checks. The signature must be valid for the key with the id
`kid`. The time `exp` must be in the future. `aud` must contain the domain of the study. The claim `prolific` must
contain the ids in the address. The server reads Prolific's public keys from a file, so that no request waits for
Prolific's server.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt

from batteries.errors import InputError
from batteries.files.file_reading import read_text
from experiment.study.definition import Study
from experiment.study.recruitment import PROLIFIC_PARAMETER
from server.logs import logger
from server.settings import Settings

TOKEN_PARAMETER = "prolific_token"  # noqa: S105 - the name of a parameter
KEYS_ADDRESS = "https://api.prolific.com/.well-known/study/jwks.json"
ALGORITHM = "RS256"
LIFE_S = 120
"""Time in seconds for which a token is valid, according to Prolific's reference."""
LEEWAY_S = 30
"""Largest allowed difference between Prolific's clock and this server's clock, in seconds."""
LONGEST_TOKEN = 8192


@dataclass(frozen=True)
class ProlificVisit:
    """Content of a valid token."""

    ids: dict[str, str]
    """The ids that Prolific signed. The keys are `PROLIFIC_PID`, `STUDY_ID` and `SESSION_ID`."""
    signed_at: str
    """Time of the signature; UTC, ISO 8601."""


class ProlificTokens:
    """Checks the tokens of one study.

    Parameters
    ----------
    keys_path
        File with Prolific's public keys, a JSON Web Key Set. Prolific changes its keys sometimes. If the file is
        replaced, the server reads it again.
    study_url
        Address of the study, as registered at Prolific.

    Raises
    ------
    InputError
        If the file has no usable key.
    """

    def __init__(self, keys_path: Path, study_url: str) -> None:
        self._path = keys_path
        self._site = _site(study_url)
        self._version = _version(keys_path)
        self._keys = _read_keys(keys_path)

    def visit(self, token: str) -> ProlificVisit | None:
        """Return the content of a token; None if it is not from Prolific, is for another study, or has expired."""
        if len(token) > LONGEST_TOKEN:
            return None
        try:
            key = self._current_keys().get(jwt.get_unverified_header(token).get("kid", ""))
            if key is None:
                return None
            # The algorithm is fixed: a token with another algorithm, or without an algorithm, is refused.
            claims = jwt.decode(
                token,
                key,
                algorithms=[ALGORITHM],
                leeway=LEEWAY_S,
                options={"require": ["exp", "aud"], "verify_aud": False, "verify_sub": False},
            )
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError):  # A forged token may contain anything.
            return None
        ids = claims.get("prolific")
        if not self._is_for_this_study(claims["aud"]) or not isinstance(ids, dict) or PROLIFIC_PARAMETER not in ids:
            return None
        return ProlificVisit({name: str(value) for name, value in ids.items()}, _signed_at(claims))

    def _is_for_this_study(self, audience: object) -> bool:
        audiences = audience if isinstance(audience, list) else [audience]
        return any(isinstance(one, str) and _site(one) == self._site for one in audiences)

    def _current_keys(self) -> dict[str, jwt.PyJWK]:
        version = _version(self._path)
        if version != self._version:
            self._version = version
            try:
                self._keys = _read_keys(self._path)
            except InputError as error:  # The file is half-written or deleted; the earlier keys are still valid.
                logger.error("cannot read Prolific's keys again", extra={"reason": str(error)})
        return self._keys


def prolific_tokens(study: Study, settings: Settings) -> ProlificTokens | None:
    """Return the object that checks a study's tokens, or None if the study does not require tokens.

    Raises
    ------
    InputError
        If the study requires tokens, but the settings name no usable file with keys.
    """
    url = study.definition.recruitment.prolific_secured_url
    if url is None:
        return None
    if settings.prolific_keys is None:
        raise InputError(
            "`recruitment.prolific_secured_url` needs Prolific's public keys, but EQUIPOISE_PROLIFIC_KEYS is not set. "
            f"Fix: save {KEYS_ADDRESS} as a file, and set EQUIPOISE_PROLIFIC_KEYS to its path."
        )
    return ProlificTokens(Path(settings.prolific_keys), url)


def _read_keys(path: Path) -> dict[str, jwt.PyJWK]:
    """Return the public keys for RS256 signatures. The dictionary keys are the ids `kid`."""
    fix = f"Fix: save {KEYS_ADDRESS} as this file again."
    try:
        keys = jwt.PyJWKSet.from_json(read_text(path)).keys
    except (jwt.PyJWTError, ValueError, AttributeError, TypeError, KeyError):
        raise InputError(
            f"{path}: this file does not contain Prolific's public keys (it is not a JSON Web Key Set with a usable "
            f"key). {fix}"
        ) from None
    usable = {key.key_id: key for key in keys if key.key_id and key.algorithm_name == ALGORITHM}
    if not usable:
        raise InputError(
            f"{path}: this file does not contain a public key of Prolific for signatures of the kind {ALGORITHM} (a "
            f"key with an id, `kid`). {fix}"
        )
    return usable


def _version(path: Path) -> tuple[int, int, int] | None:
    """Return a value that changes when the file is replaced or rewritten."""
    try:
        found = os.stat(path)  # noqa: PTH116 - each request calls it, and it takes a third of the time of `Path.stat`
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _site(address: str) -> str:
    """Return the host in the address of a website, or in a domain name.

    A port other than 443 is added to the host.
    """
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if port not in {None, 443} else host


def _signed_at(claims: dict[str, Any]) -> str:
    seconds = claims["iat"] if isinstance(claims.get("iat"), int | float) else claims["exp"] - LIFE_S
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
