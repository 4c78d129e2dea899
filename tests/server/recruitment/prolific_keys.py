"""Keys and tokens in Prolific's format, made by the tests."""

import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from jwt.algorithms import RSAAlgorithm

from tests.server.participants.visitors import PANEL_ID, SUBMISSION

STUDY_URL = "https://study.example.org/"
IDS = {"PROLIFIC_PID": PANEL_ID, "STUDY_ID": "study-1", "SESSION_ID": SUBMISSION, "workspace_id": "w-1"}
KEY = generate_private_key(65537, 2048)
OTHER_KEY = generate_private_key(65537, 2048)


def jwk(key: RSAPrivateKey = KEY, kid: str = "k1", **changes: Any) -> dict[str, Any]:
    """Return the public half of a key as Prolific publishes it."""
    public: dict[str, Any] = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
    return public | {"kid": kid, "alg": "RS256", "use": "sig", "key_ops": ["verify"]} | changes


def write_keys(path: Path, *keys: dict[str, Any]) -> Path:
    """Write a JSON Web Key Set."""
    path.write_text(json.dumps({"keys": list(keys or [jwk()])}), encoding="utf-8")
    return path


def claims(**changes: Any) -> dict[str, Any]:
    """Return the claims of a token that is valid now; a claim that is None is omitted."""
    now = int(time.time())
    all_claims = {
        "iss": "https://www.prolific.com",
        "aud": STUDY_URL,
        "sub": SUBMISSION,
        "iat": now,
        "exp": now + 120,
        "prolific": IDS,
    } | changes
    return {name: value for name, value in all_claims.items() if value is not None}


def token(key: Any = KEY, kid: str | None = "k1", algorithm: str = "RS256", **changes: Any) -> str:
    """Return a token; by default one that is valid."""
    return jwt.encode(claims(**changes), key, algorithm, headers={"kid": kid} if kid else None)
