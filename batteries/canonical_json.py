"""Canonical JSON (RFC 8785) and the SHA-256 digest of it: one name for one content, on every machine."""

import hashlib
from typing import Any

import rfc8785

from batteries.errors import InputError


def canonical_json(value: Any) -> bytes:
    """Return `value` as RFC 8785 canonical JSON: sorted keys, no spaces, one spelling for each number and string.

    Raises
    ------
    InputError
        If `value` holds what JSON cannot carry between machines: NaN, infinity, whole numbers beyond 2^53, half a
        character.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise InputError(
            f"it holds a value that files cannot carry from one machine to another ({error}). Fix: use texts, true "
            "or false, and finite numbers under 2^53."
        ) from None


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def same_json(one: Any, other: Any) -> bool:
    """Return whether two values are the same as JSON: in Python, `true` equals 1."""
    return canonical_json(one) == canonical_json(other)
