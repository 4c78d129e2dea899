"""Canonical JSON (RFC 8785) and the SHA-256 digest of it: one name for one content, on every machine."""

import hashlib
from typing import Any

import rfc8785


def canonical_json(value: Any) -> bytes:
    """Return `value` as RFC 8785 canonical JSON: sorted keys, no spaces, one spelling for each number and string."""
    return rfc8785.dumps(value)


def digest(value: Any) -> str:
    """Return the SHA-256 of the canonical JSON of `value`, as 64 hexadecimal digits."""
    return hashlib.sha256(canonical_json(value)).hexdigest()
