"""Signatures of cookies and personal links: HMAC-SHA256 (RFC 2104, FIPS 180-4) with the newest signing key."""

import hashlib
import time
from functools import lru_cache
from typing import TypeVar

from itsdangerous import BadSignature, Signer, TimestampSigner

AnySigner = TypeVar("AnySigner", bound=Signer)

LONGEST_KEPT = 500
"""Largest number of characters of a signed value that is cached after its check. The server's own values have about
200.
"""
CLOCK_SKEW_S = 60
"""Largest allowed difference between the clocks of two servers, in seconds. A server accepts a signature whose time is
at most this far in the future.
"""


def sign(signing_key: str, purpose: str, value: str) -> str:
    """Return a value with its signature, for a personal link.

    Parameters
    ----------
    signing_key
        One signing key, or several keys with one key per line. The last key is used to sign. Signatures of all keys
        are valid.
    purpose
        Purpose of the signature. The signature is invalid for any other purpose.
    value
        The value.
    """
    signed: bytes = _signers(Signer, signing_key, purpose)[0].sign(value)
    return signed.decode()


def signed_value(signing_key: str, purpose: str, signed: str) -> str | None:
    """Return the value that was signed for this purpose, or None if the signature is invalid."""
    for signer in _signers(Signer, signing_key, purpose):
        try:
            value: bytes = signer.unsign(signed)
            return value.decode()
        except (BadSignature, UnicodeError):
            continue
    return None


def sign_with_time(signing_key: str, purpose: str, value: str) -> str:
    """Return a value with the present time and a signature, for a cookie; see `sign`."""
    signed: bytes = _signers(TimestampSigner, signing_key, purpose)[0].sign(value)
    return signed.decode()


def lately_signed_value(signing_key: str, purpose: str, signed: str, max_age_s: int) -> str | None:
    """Return the value, if it was signed for this purpose within the last `max_age_s` seconds; otherwise None."""
    read = _value_and_time if len(signed) <= LONGEST_KEPT else _value_and_time.__wrapped__
    value, signed_at = read(signing_key, purpose, signed)
    return value if -CLOCK_SKEW_S <= time.time() - signed_at <= max_age_s else None


@lru_cache(4096)  # A browser sends the session's cookie with each response.
def _value_and_time(signing_key: str, purpose: str, signed: str) -> tuple[str | None, float]:
    """Return the signed value and the time of its signature; None and 0 if the signature is invalid for the purpose."""
    for signer in _signers(TimestampSigner, signing_key, purpose):
        try:
            value, signed_at = signer.unsign(signed, return_timestamp=True)
            return value.decode(), signed_at.timestamp()
        except (BadSignature, UnicodeError):
            continue
    return None, 0.0


@lru_cache
def _signers(kind: type[AnySigner], signing_key: str, purpose: str) -> tuple[AnySigner, AnySigner]:
    """Return the present signer, and the earlier signer (HMAC-SHA1) for links and cookies of an earlier Equipoise."""
    keys = [line.strip() for line in signing_key.splitlines() if line.strip()]
    salt = f"equipoise {purpose}"
    return kind(keys, salt=salt, digest_method=hashlib.sha256), kind(keys, salt=salt, digest_method=hashlib.sha1)
